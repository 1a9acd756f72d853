"""Knowledge of the crawl: one for all sites, kept with its policy, saved once."""

from __future__ import annotations

from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import FeedbackGiven
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.state import packed
from linkscore_scoring.testing.pages import page_of
from support.recorded_crawls import fetched, small

ANTHELION = PolicyChoice("anthelion", {"value_function": "best_score"})


def crawl(*extra: PolicyChoice) -> CrawlModel:
    model = CrawlModel(CrawlConfig("c", ANTHELION, extra_policies=extra, bounds=small()), ticket_key=b"key")
    for n, host in enumerate(("a", "b", "a")):
        url = f"http://{host}/{n}"
        model.apply(2 * n + 1, fetched(url, page_of(url, ["html/body/p/text()"]), site=host))
        model.apply(2 * n + 2, FeedbackGiven("", host, f"http://{host}/{n}", b"", float(n % 2), 0.0))
    return model


def test_policies_of_all_sites_share_one_object() -> None:
    model = crawl()
    known = {id(shard.served.crawl_wide) for shard in model.sites.values()}
    assert len(model.sites) == 2
    assert len(known) == 1
    assert model.sites["a"].served.crawl_wide.classifier.labels == [2, 1]


def test_a_stranger_profits_and_leaves_no_trace() -> None:
    model = crawl()
    before = packed(model.to_state())
    assert model.new_site("z").served.crawl_wide is model.sites["a"].served.crawl_wide
    CrawlQueries(model).score_links(["http://z/1"], ["http://z/1"], [b""], [""])
    assert packed(model.to_state()) == before


def test_a_policy_made_for_one_question_has_its_own_and_knows_nothing() -> None:
    model = crawl()
    asked = model.sites["a"].policy(PolicyChoice("anthelion", {"classifier": "arow"}))
    assert asked.crawl_wide is not model.sites["a"].served.crawl_wide
    assert asked.crawl_wide.classifier.labels == [0, 0]
