"""What looks like a trap: thresholds by hand, and which part of the site is named."""

from __future__ import annotations

from dataclasses import astuple
from typing import Any

import pytest

from linkscore_scoring.engine.reports import TrapKind, TrapReport, trap_reports
from linkscore_scoring.site.crawl_history import CrawlHistory, History, Tally
from linkscore_scoring.urls.pattern_tree import UrlPatterns

LINK_PATH = 5


class Fetched:
    """A history written down directly: so many fetches of a URL, each with the same tally."""

    def __init__(self) -> None:
        self.patterns = UrlPatterns()
        self.history = CrawlHistory()
        self.waiting: dict[tuple[int, int], int] = {}
        self.at = 0

    def add(self, url: str, n: int, *, link_path: int = LINK_PATH, waiting: int = 0, **tally: float) -> int:
        pattern = self.patterns.insert(url)
        values = astuple(Tally(fetched=1, **tally))
        self.history.reported += n * ("reported" in tally)
        self.history.after_load()
        for _ in range(n):
            self.at += 1
            for node in self.patterns.lineage(pattern):
                self._count(self.history.shapes, node, values)
            self._count(self.history.tag_paths, link_path, values)
            self._count(self.history.groups, (self.patterns.resolve(pattern), link_path), values)
        self.waiting[pattern, link_path] = self.waiting.get((pattern, link_path), 0) + waiting
        return pattern

    def _count(self, table: dict[Any, History], key: object, values: list[float]) -> None:
        table.setdefault(key, History()).add(self.at, values)

    def found(self) -> list[TrapReport]:
        return trap_reports(self.history, self.patterns, self.waiting)

    def named(self) -> list[tuple[TrapKind, str]]:
        return [(s.kind, self.patterns.text(s.shape) or f"apath {s.link_path}") for s in self.found()]


@pytest.mark.parametrize(
    ("fetched", "waiting", "tally", "kind"),
    [
        (20, 5, {"copies": 1.0}, TrapKind.COPIES),
        (19, 5, {"copies": 1.0}, None),  # too few fetches
        (20, 4, {"copies": 1.0}, None),  # hardly anything left to waste fetches on
        (80, 7, {"copies": 1.0}, None),  # nearly all fetched
        (80, 8, {"copies": 1.0}, TrapKind.COPIES),
        (20, 5, {"copies": 0.69}, None),
        (20, 5, {"copies": 0.7}, TrapKind.COPIES),
        (20, 5, {"copies": 1.0, "text": 0.16}, None),  # still brings text
        (20, 5, {"copies": 1.0, "hub": 0.16}, None),  # still leads to good pages
        (20, 1, {"grown": 1.0}, TrapKind.ENDLESS),
        (20, 0, {"grown": 1.0}, None),  # it ended
        (20, 1, {"grown": 0.89}, None),  # fewer than it uses up: it runs out
        (20, 1, {"grown": 0.9}, TrapKind.ENDLESS),
        (20, 1, {"grown": 1.0, "copies": 1.0}, TrapKind.ENDLESS),  # one link waits: a chain
    ],
)
def test_thresholds(fetched: int, waiting: int, tally: dict[str, float], kind: TrapKind | None) -> None:
    site = Fetched()
    site.add("http://a.org/x/1", fetched, waiting=waiting, **tally)
    assert [s.kind for s in site.found()] == ([kind] if kind else [])


def test_what_once_was_good_and_no_longer_is_fades() -> None:
    site = Fetched()
    site.add("http://a.org/x/1", 20, text=0.4)
    site.add("http://a.org/x/1", 20, text=0.1, waiting=9)
    (found,) = site.found()
    assert (found.kind, found.fetched_count, found.waiting_count) == (TrapKind.FADING, 40, 9)
    # bins of four: the first half is exact
    assert (found.early_yield, found.late_yield) == (pytest.approx(0.4), pytest.approx(0.1))


def test_the_widest_shape_without_anything_good_is_named() -> None:
    site = Fetched()
    for colour in ("red", "green"):
        site.add(f"http://a.org/shop?colour={colour}", 15, copies=1.0, waiting=5)
    assert site.named() == [(TrapKind.COPIES, "a.org/shop")]


def test_a_trap_in_pieces_is_named_despite_a_few_good_pages() -> None:
    site = Fetched()
    for day in ("mon", "tue", "wed"):
        site.add(f"http://a.org/diary/{day}/1", 19, copies=1.0, waiting=5)
    site.add("http://a.org/diary/sun/1", 5, text=0.8)
    assert site.named() == [(TrapKind.COPIES, "a.org/diary")]


def test_a_tag_path_is_named_where_urls_say_nothing() -> None:
    site = Fetched()
    for n in range(4):
        site.add(f"http://a.org/{'abcd'[n]}", 5, link_path=1, copies=1.0, waiting=5)
        site.add(f"http://a.org/{'efgh'[n]}", 5, link_path=2, text=0.9, waiting=5)
    assert site.named() == [(TrapKind.COPIES, "apath 1")]
