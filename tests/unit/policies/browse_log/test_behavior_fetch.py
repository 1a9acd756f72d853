"""Links ordered by the visits to expect of them, on a site with a browse log and on one without."""

from __future__ import annotations

from linkscore_scoring.columns import squash
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.state import packed, unpacked
from support.boards import ROOT, Board
from support.browse_logs.behavior_boards import logged


def test_new_threads_come_before_profiles() -> None:
    new, profile = logged("behavior_fetch").scores("/show?t=131", "/who?u=77")
    assert new > profile


def test_a_page_of_the_log_scores_by_its_visits_a_day() -> None:
    """Twenty visits a day: 1 / (1 + log2(1 + 1 / 20)), up to half an octave."""
    (score,) = logged("behavior_fetch").scores("/list?f=1")
    assert squash(20 / 2**0.25) <= score <= squash(20 * 2**0.25)


def test_links_found_before_the_log_are_worth_what_it_says_once_it_came() -> None:
    board = Board("behavior_fetch", fallback="breadth_first")
    found = board.page("/", [("/list?f=1", "html/body/a")]).links
    board = logged("behavior_fetch", board=board)
    before = CrawlQueries(board.model).plan_fetches(found.bucket_names, 0).values
    again = CrawlQueries(board.model).score_links([f"{ROOT}/list?f=1"], [f"{ROOT}/list?f=1"], [b""], [""])
    assert before[0] < again.scores[0], "its place was not known then: the value of the whole site"
    assert 0.0 < before[0] < 1.0


def test_reasons_name_the_pattern_and_where_the_expectation_comes_from() -> None:
    board = logged("behavior_fetch")
    texts = [e.explanation.summary for e in board.explain("/list?f=1", "/show?t=140", "/x/y")]
    assert "visits a day of the page itself" in texts[0]
    assert "that the log does not have" in texts[1]
    assert texts[2].startswith("like h: ")


def test_a_crawl_restored_from_bytes_scores_alike() -> None:
    board, other = logged("behavior_fetch"), Board("behavior_fetch")
    other.model.load_state(unpacked(packed(board.model.to_state())))
    paths = ["/list?f=1", "/show?t=131", "/show?t=60", "/x"]
    assert other.scores(*paths) == board.scores(*paths)
