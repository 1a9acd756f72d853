"""Values of buckets and sites are kept while no event changes their site; answers are as if none were."""

from __future__ import annotations

from typing import Any

import pytest

from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import ConfigChanged, FeedbackGiven
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.testing.crawl import crawl_model, page_of, visit

HOSTS = [f"{name}.test" for name in "abcde"]


def fetched(model: CrawlModel, host: str, n: int) -> list[str]:
    """Take in a page of a host that links to others; return the buckets of its links."""
    links = [(f"http://{host}/{kind}/{n + i}", f"html/body/{kind}") for kind in ("p", "q") for i in range(3)]
    url = f"http://{host}/{'pq'[n % 2]}/{n}"
    return visit(model, url, page_of(url, links=links, texts=[(f"{host} {n}", 100 * n)])).links.bucket_names


def answers(model: CrawlModel, buckets: list[str]) -> Any:
    """Return answers to questions about all buckets and sites."""
    queries = CrawlQueries(model)
    flights = {buckets[0]: 2, buckets[-1]: 1}
    plans = [queries.plan_fetches(buckets, n, in_flight=at) for n in (0, 1, 7) for at in (None, flights)]
    ranked = queries.rank_sites([*HOSTS, "new.test"], [None] * 6, 9)
    return [(p.values.tolist(), p.takes.tolist()) for p in plans], ranked.values.tolist()


@pytest.mark.parametrize("policy", ["harvest", "topic", "uniform_random", "breadth_first"])
def test_answers_are_those_of_a_crawl_that_keeps_no_values(policy: str) -> None:
    model = crawl_model(PolicyChoice(policy))
    buckets: dict[str, None] = {"new.test/h1.1": None}
    for n in range(1, 40):
        host = HOSTS[n * n % 5]
        buckets.update(dict.fromkeys(fetched(model, host, n)))
        if n % 7 == 0:
            key = f"http://{host}/p/{n - 1}"
            model.apply(model.seq + 1, FeedbackGiven(f"f{n}", host, key, b"", 0.9, 0.0))
        if n == 30:
            extra = CrawlConfig("check", model.config.policy, seed=3, learning=model.config.learning)
            model.apply(model.seq + 1, ConfigChanged(extra.to_state()))
        first, second = answers(model, list(buckets)), answers(model, list(buckets))
        model.sites.known_values.clear()
        assert first == second == answers(model, list(buckets))
