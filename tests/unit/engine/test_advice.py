"""Advice about a site: traps found on generated sites, rewards to expect, by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import FeedbackGiven
from linkscore_scoring.engine.reports import TrapKind, advise
from linkscore_scoring.hashing import hash64
from linkscore_scoring.policies.base import Scores
from linkscore_scoring.policies.baselines import BreadthFirst
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.testing.crawl import GeneratedSite, SimulatedCrawl, crawl_model, page_of, visit
from support.boards import example
from support.trap_sites import CalendarSite, FacetSite, SessionSite, TrapSite

HOST = "trap.example"
GOOD, BAD = "html/body/a[good]", "html/body/a[bad]"


def crawled(site: TrapSite | GeneratedSite, policy: str, fetches: int) -> CrawlModel:
    model = crawl_model(PolicyChoice(policy), sample_pages=2_000)
    return SimulatedCrawl(model, site).fetch(fetches).model  # type: ignore[arg-type]


@pytest.mark.parametrize("policy", ["breadth_first", "uniform_random", "harvest"])
@pytest.mark.parametrize(
    ("site", "kind", "shape"),
    [
        (CalendarSite, TrapKind.ENDLESS, "trap.example/calendar"),
        (FacetSite, TrapKind.COPIES, "trap.example/shop"),
        (SessionSite, TrapKind.COPIES, "trap.example/help"),
    ],
)
def test_a_trap_is_found_within_150_fetches(
    site: type[TrapSite], kind: TrapKind, shape: str, policy: str
) -> None:
    traps = advise(crawled(site(), policy, 150).shard(HOST)).traps
    assert [trap.kind for trap in traps] == [kind] * len(traps) != []
    for trap in traps:  # the shape, or parts of it while another part still looks good
        assert trap.url_pattern.startswith(shape) or trap.tag_path.startswith("html/body/form/a")
        assert trap.fetched_count >= 20
        assert len(trap.example_urls) == 3
        assert all(url.startswith(f"http://{shape}") for url in trap.example_urls)


@pytest.mark.parametrize("policy", ["breadth_first", "uniform_random", "harvest"])
def test_a_site_without_traps_has_none_but_its_copies(policy: str) -> None:
    traps = advise(crawled(GeneratedSite(1), policy, 400).shard("site.example")).traps
    assert {trap.url_pattern for trap in traps} <= {"site.example/print", "site.example/list/#-*"}


@pytest.mark.parametrize("named", [True, False])
def test_products_of_one_text_are_copies_unless_they_say_what_they_are(named: bool) -> None:
    crawl = CrawlModel(CrawlConfig("c", PolicyChoice("breadth_first")), ticket_key=b"key")
    urls = [f"http://h/goods/{n}" for n in range(60)]
    visit(crawl, "http://h/", page_of("http://h/", links=[(url, GOOD) for url in urls]))
    for n, url in enumerate(urls[:40]):
        page = page_of(url, texts=[("terms", 300)])
        visit(crawl, url, replace(page, thing=hash64(f"lamp {n}") if named else 0))
    traps = advise(crawl.shard("h")).traps
    assert [trap.kind for trap in traps] == ([] if named else [TrapKind.COPIES])


def two_kinds() -> CrawlModel:
    """Return a crawl of a list with 8 good links of which 4 were fetched, and 8 bad ones likewise."""
    crawl = CrawlModel(CrawlConfig("c", PolicyChoice("breadth_first")), ticket_key=b"key")
    good = [f"http://h/good/{n}" for n in range(8)]
    bad = [f"http://h/bad/{n}" for n in range(8)]
    visit(
        crawl, "http://h/", page_of("http://h/", links=[*((u, GOOD) for u in good), *((u, BAD) for u in bad)])
    )
    for n in range(4):
        visit(crawl, good[n], page_of(good[n], texts=[(f"text {n}", 1200)]))
        visit(crawl, bad[n], page_of(bad[n], texts=[("same", 80)]))
    return crawl


def test_rewards_to_expect_by_hand() -> None:
    advice = advise(two_kinds().shard("h"))
    # good: 4 x 0.75; bad: 80 / 480 once, then known; the site: 9 fetches with the list
    mean = (4 * 0.75 + 80 / 480) / 9
    good = (2 * 0.75 + 2 * ((2 * 0.75 + 2 * mean) / 4)) / 4
    bad = (0.0 + 2 * ((0.0 + 2 * mean) / 4)) / 4
    assert (advice.waiting_links, advice.expected_fetches, advice.policy_estimate) == (8, 8, False)
    assert advice.expected_reward == pytest.approx(4 * good + 4 * bad)
    assert (advice.recent_fetches, advice.recent_reward) == (9, pytest.approx(mean))


def test_yields_by_group_with_the_links_that_wait() -> None:
    groups = advise(two_kinds().shard("h")).yields
    found = {
        y.url_pattern: (y.tag_path, y.fetched_count, y.waiting_count, y.early_reward, y.late_reward)
        for y in groups
    }
    assert found["h/good/#"] == (GOOD, 4, 4, 0.75, 0.75)
    assert found["h/bad/#"] == (BAD, 4, 4, pytest.approx(80 / 480 / 2), 0.0)
    assert found[""] == ("", 1, 0, 0.0, 0.0)  # the seed: no link led there


class Foreteller(BreadthFirst):
    """Expects .6 of every link."""

    name = "foreteller"

    def expected_rewards(self, groups: Sequence[tuple[int, int]], site: SiteModel) -> Scores | None:
        return np.full(len(groups), 0.6)


class Modest(Foreteller):
    """Expects .4 of every link."""

    def expected_rewards(self, groups: Sequence[tuple[int, int]], site: SiteModel) -> Scores | None:
        return np.full(len(groups), 0.4)


def unsupervised(served: Foreteller, fetches: int) -> CrawlModel:
    crawl = crawled(GeneratedSite(1), "harvest", fetches)
    crawl.shard("site.example").served = served
    return crawl


def warned(crawl: CrawlModel, host: str = "site.example") -> list[str]:
    return [warning.kind for warning in advise(crawl.shard(host)).warnings]


def test_an_unsupervised_policy_that_expects_little_needs_examples() -> None:
    modest = Modest(Modest.Params())
    assert warned(unsupervised(modest, 40)) == ["needs_examples"]
    assert warned(unsupervised(modest, 20)) == []
    assert warned(unsupervised(Foreteller(Foreteller.Params()), 40)) == []


def test_who_said_what_is_wanted_needs_no_examples() -> None:
    crawl = unsupervised(Modest(Modest.Params()), 40)
    crawl.apply(crawl.seq + 1, FeedbackGiven("", "site.example", "http://site.example/x", b"", 0.0, 0.0))
    assert warned(crawl) == []


def test_examples_that_nothing_fetched_is_like_are_said_to_be_not_met() -> None:
    crawl = CrawlModel(CrawlConfig("c", examples=(example("/elsewhere/9"),)), ticket_key=b"key")
    for n in range(40):
        visit(crawl, f"http://h/{n}", page_of(f"http://h/{n}", ["html/body/main[list]/a"]))
    assert warned(crawl, host="h") == ["examples_not_met"]


def test_feedback_on_pages_that_were_not_fetched_is_said_to_name_them_otherwise() -> None:
    crawl = CrawlModel(CrawlConfig("c"), ticket_key=b"key")
    for n in range(40):
        visit(crawl, f"http://h/{n}", page_of(f"http://h/{n}"))
        crawl.apply(crawl.seq + 1, FeedbackGiven("", "h", f"https://h/{n}", b"", 1.0, 0.0))
    assert "feedback_not_met" in warned(crawl, host="h")


def test_fetches_of_what_all_pages_link_to_are_said_to_be_menus() -> None:
    crawl = CrawlModel(CrawlConfig("c"), ticket_key=b"key")
    menu = [(f"http://h/menu/{n}", GOOD) for n in range(40)]
    for n in range(40):
        url = f"http://h/menu/{n}"
        visit(crawl, url, page_of(url, links=menu, texts=[(f"text {n}", 600)]))
    assert "menus" in warned(crawl, host="h")


def test_better_links_by_the_labels_that_wait_are_named_and_recent_is_on_the_scale_of_next() -> None:
    crawl = CrawlModel(CrawlConfig("c"), ticket_key=b"key")
    links = [(f"http://h/good/{n}", GOOD) for n in range(20)]
    links += [(f"http://h/bad/{n}", BAD) for n in range(130)]
    visit(crawl, "http://h/", page_of("http://h/", links=links))
    for path in [f"good/{n}" for n in range(5)] + [f"bad/{n}" for n in range(100)]:
        visit(crawl, f"http://h/{path}", page_of(f"http://h/{path}"))
        reward = float(path.startswith("good"))
        crawl.apply(crawl.seq + 1, FeedbackGiven("", "h", f"http://h/{path}", b"", reward, 0.0))
    advice = advise(crawl.shard("h"))
    assert [warning.kind for warning in advice.warnings] == ["behind_labels"]
    assert "h/good/# 1.00, and 15 of these wait" in advice.warnings[0].text
    assert (advice.recent_fetches, advice.recent_reward) == (100, 0.0)
