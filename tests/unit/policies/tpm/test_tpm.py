"""A map of six pages, the way it gives, and the links that are followed then."""

from __future__ import annotations

import pytest

from linkscore_scoring.engine.config import PolicyChoice
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.engine.results import PageOutcome
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.policies.base import FOLLOW, SKIP
from support.boards import ROOT, Board

AT = "html/body/ul/li/a"
THREAD = ["html/body/div/h1/text()", "html/body/div/p/text()"]
HTML = "<html><body><div><h1>t</h1><p>one</p></div></body></html>"


def mapped(*, pages: int = 6, **params: object) -> Board:
    """Map entry, two boards, help and two threads; the last two are like the example."""
    board = Board("tpm", mapping_pages=6, **(params or {"example_html": HTML}))
    board.page("/", [("/board/a", AT), ("/board/b", AT), ("/help", AT)])
    board.page("/board/a", [("/thread/1", AT), ("/thread/2", AT), ("/", AT)])
    board.page("/board/b", [("/thread/3", AT), ("/member/x", AT)])
    board.page("/help", leaves=["html/body/pre/text()"])
    for thread in (3, 1)[: pages - 4]:
        board.page(f"/thread/{thread}", [("/print/1", "html/body/div/a")], leaves=THREAD)
    return board


def told(outcome: PageOutcome) -> dict[str, int]:
    """Return the verdict by URL path of a page's links."""
    assert outcome.observation is not None
    verdicts = outcome.links.verdicts or [0] * len(outcome.links.scores)
    return {
        url.removeprefix(ROOT): verdict
        for url, verdict in zip(outcome.observation.links.urls, verdicts, strict=True)
    }


def test_mapping_is_breadth_first_by_the_page_a_link_was_found_on() -> None:
    """0.5 / (1 + number): boards from page 0, threads from 1 and 2; links of targets last."""
    board = mapped(pages=5)
    values = board.scores("/board/b", "/thread/2", "/member/x")
    assert values == pytest.approx([0.5, 0.25, 0.5 / 3])
    assert board.scores("/print/1")[0] < 0.001
    assert board.explain("/thread/2")[0].explanation.summary == "5 pages mapped, 1 like the example: mapping"


def test_no_verdicts_while_mapping() -> None:
    assert set(told(mapped(pages=5).page("/thread/2", [("/thread/9", AT)])).values()) == {0}


def test_the_way_is_followed_once_the_site_is_mapped() -> None:
    board = mapped()
    outcome = board.page("/board/c", [("/thread/77", AT), ("/board/d", AT), ("/member/y", AT)])
    assert told(outcome) == {"/thread/77": FOLLOW, "/board/d": FOLLOW, "/member/y": SKIP}
    thread, other, member = board.scores("/thread/77", "/board/d", "/member/y")
    assert (thread, other) == (1.0, 0.75)
    assert member <= 0.1
    why = board.explain("/thread/77", "/member/y")
    assert why[0].explanation.summary == "step 2 of 2 to the targets: h/thread/[0-9]+"
    assert why[1].explanation.summary == "has no URL pattern of the way to the targets"


def test_links_found_while_mapping_are_ranked_by_the_way_afterwards() -> None:
    board = Board("tpm", mapping_pages=6, example_html=HTML)
    first = board.page("/", [("/member/z", AT), ("/board/a", AT), ("/board/b", AT), ("/thread/8", AT)])
    names = [first.links.bucket_names[b] for b in first.links.buckets]
    _, before = CrawlQueries(board.model).rank_buckets(names)
    assert before.tolist() == [0.5] * 4
    board.page("/board/a", [("/thread/1", AT), ("/thread/2", AT)])
    board.page("/board/b", [("/thread/3", AT)])
    for thread in (1, 2, 3):
        board.page(f"/thread/{thread}", leaves=THREAD)
    _, values = CrawlQueries(board.model).rank_buckets(names)
    assert values.tolist() == [0.0, 0.75, 0.75, 1.0]


def test_without_jumps_a_link_must_be_of_the_next_step() -> None:
    """A board is step 1, so from it threads (step 2) are next and boards (step 1) are not."""
    board = mapped(example_html=HTML, jump=False)
    outcome = board.page("/board/c", [("/thread/77", AT), ("/board/d", AT)])
    assert told(outcome) == {"/thread/77": FOLLOW, "/board/d": SKIP}
    assert set(told(board.page("/thread/77", [("/thread/78", AT)], leaves=THREAD)).values()) == {SKIP}


def test_an_example_fetched_late_counts_for_the_pages_before() -> None:
    board = mapped(pages=5, example_url=f"{ROOT}/thread/1")
    assert board.explain("/x")[0].explanation.summary.endswith("the example was not fetched yet")
    outcome = board.page("/thread/1", [("/thread/5", AT)], leaves=THREAD)
    assert told(outcome) == {"/thread/5": FOLLOW}


def test_mapping_goes_on_breadth_first_until_two_targets_are_on_one_way() -> None:
    board = Board("tpm", mapping_pages=2, example_html=HTML)
    board.page("/", [("/board/a", AT), ("/board/b", AT)])
    board.page("/board/a", [("/thread/1", AT), ("/thread/2", AT)])
    reason = board.explain("/thread/1")[0].explanation.summary
    assert reason.endswith("mapping goes on breadth-first, no way to targets found so far")
    assert board.scores("/board/b", "/thread/1") == [0.5, 0.25]
    for path in ("/thread/1", "/thread/2"):
        board.page(path, leaves=THREAD)
    assert board.scores("/thread/9")[0] == 1.0


def test_a_start_page_is_walked_even_if_it_is_like_the_example() -> None:
    board = Board("tpm", mapping_pages=4, example_html=HTML)
    board.page("/", [("/thread/1", "html/body/div/a"), ("/thread/2", "html/body/div/a")], leaves=THREAD)
    assert board.scores("/thread/1") == [0.5]


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({}, "example_url"),
        ({"example_html": HTML, "example_url": f"{ROOT}/"}, "example_url"),
        ({"example_html": HTML, "mapping_pages": 1}, "mapping_pages"),
        ({"example_html": HTML, "similarity": 0.0}, "similarity"),
        ({"example_html": HTML, "max_differing": 21}, "max_differing"),
        ({"example_html": HTML, "jump": 1}, "jump"),
    ],
)
def test_bad_parameters_are_refused_by_name(params: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        PolicyChoice("tpm", params).checked()
    assert field in {problem.field for problem in caught.value.problems}
