"""Which sites next, by the host bandit."""

from __future__ import annotations

import pytest

from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.policies.anthelion import HOST_VALUES
from linkscore_scoring.testing.crawl import page_of, report, visit


def anthelion(**params: object) -> CrawlModel:
    return CrawlModel(CrawlConfig("c", PolicyChoice("anthelion", params)), ticket_key=b"key")


def taught(crawl: CrawlModel, host: str, good: int, bad: int) -> None:
    """Fetch pages that link to the next one of both kinds, and label them: posts are good, tags are bad."""
    for n in range(max(good, bad)):
        links = [(f"http://{host}/{kind}/{n + 1}", "x/a") for kind in ("post", "tag")]
        for kind, count, reward in (("post", good, 1.0), ("tag", bad, 0.0)):
            if n < count:
                url = f"http://{host}/{kind}/{n}"
                visit(crawl, url, page_of(url, links=links))
                report(crawl, url, reward)


def test_by_hand_of_the_success_rate() -> None:
    """(G + 1) / (B + 1) is 7/3, 1 and 3/7; as a score v / (1 + v)."""
    crawl = anthelion(value_function="success_rate")
    taught(crawl, "good", 6, 2)
    taught(crawl, "bad", 2, 6)
    got = CrawlQueries(crawl).rank_sites(["bad", "good", "new"], [None, 2, None], 3)
    assert got.values.tolist() == pytest.approx([0.3, 0.7, 0.5], abs=1e-8)
    assert got.takes.tolist() == [0, 2, 1]
    assert got.order().tolist() == [1, 2, 0]


@pytest.mark.parametrize("function", HOST_VALUES)
def test_every_value_function_prefers_the_host_that_yielded(function: str) -> None:
    crawl = anthelion(value_function=function)
    taught(crawl, "good", 9, 1)
    taught(crawl, "bad", 0, 9)
    got = CrawlQueries(crawl).rank_sites(["bad", "good"], [None, None], 200)
    assert ((got.values >= 0.0) & (got.values <= 1.0)).all()
    assert got.takes.sum() == 200
    if function != "best_score":
        assert got.values[1] > got.values[0]
        assert got.takes[1] > 150


def test_asleep_sites_have_a_value_and_no_url() -> None:
    crawl = anthelion(explore_prob=0.5)
    taught(crawl, "good", 6, 2)
    got = CrawlQueries(crawl).rank_sites(["good", "empty", "new"], [0, 0, 2], 5)
    assert got.takes.tolist() == [0, 0, 2]
    assert (got.values > 0.0).all()
