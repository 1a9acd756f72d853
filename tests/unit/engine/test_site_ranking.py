"""Which sites next: values of policies, sites never seen."""

from __future__ import annotations

import pytest

from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.policies.registry import builtin
from linkscore_scoring.state import packed
from linkscore_scoring.testing.crawl import page_of, report, visit
from support.recorded_crawls import model, page


def test_harvest_answers_by_the_mean_of_the_site() -> None:
    crawl = model()
    for n in range(8):
        crawl.apply(2 * n + 1, page(f"http://rich/{n}", site="rich"))
        crawl.apply(2 * n + 2, page(f"http://poor/{n}", site="poor"))
        report(crawl, f"http://rich/{n}", 1.0)
        report(crawl, f"http://poor/{n}", 0.0)
    got = CrawlQueries(crawl).rank_sites(["poor", "rich"], [None, None], 4)
    assert got.values[1] > got.values[0]
    assert got.takes.tolist() == [0, 4]


@pytest.mark.parametrize("name", sorted(builtin()))
def test_every_policy_values_sites_and_changes_nothing(name: str) -> None:
    needs_example = {"example_html": "<p>x</p>"} if "example_html" in builtin()[name].Params.__slots__ else {}
    crawl = CrawlModel(CrawlConfig("c", PolicyChoice(name, needs_example)), ticket_key=b"key")
    for n in range(6):
        visit(crawl, f"http://h/{n}", page_of(f"http://h/{n}", links=[(f"http://h/{n + 1}", "x/a")]))
    before = packed(crawl.to_state())
    got = CrawlQueries(crawl).rank_sites(["h", "new", "newer"], [None, 3, 1], 9)
    assert ((got.values >= 0.0) & (got.values <= 1.0)).all()
    assert got.takes.sum() == 9
    assert packed(crawl.to_state()) == before
    again = CrawlQueries(crawl).rank_sites(["h", "new", "newer"], [None, 3, 1], 9)
    assert (again.takes.tolist(), again.values.tolist()) == (got.takes.tolist(), got.values.tolist())
