"""Histories of sites and schedules replayed against them: what is measured is what was so."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from linkscore_research.revisits.histories import PageHistory, SiteHistory, read_log
from linkscore_research.revisits.replay import Intervals, Learned, Oracle, Schedule, replay

DAY_S = 86_400


def written(path: Path, rows: list[tuple[str, int, str]]) -> Path:
    lines = ["page\ttime\tkind\tadded\tdeleted", *(f"{n}\t{t * DAY_S}\t{k}\t1\t0" for n, t, k in rows)]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    return path


def test_a_log_gives_births_changes_and_ends(tmp_path: Path) -> None:
    rows = [("a/x", 10, "A"), ("a/x", 12, "M"), ("a/x", 20, "D"), ("a/x", 30, "A"), ("b/y", 15, "A")]
    site = read_log(written(tmp_path / "log.tsv.gz", [*rows, ("b/y", 40, "M")]), hub="b/y")
    assert site.name == "log"
    assert site.days == 30.0
    found = [(page.name, page.born, page.gone, page.changes.tolist()) for page in site.pages]
    assert found == [
        ("a/x", 0.0, 10.0, [2.0]),
        ("a/x", 20.0, np.inf, []),
        ("b/y", 5.0, np.inf, [30.0]),
    ]
    assert site.lists == [2, 2, -1]
    assert site.pages[0].group != site.pages[2].group


def test_edits_of_many_pages_at_once_can_be_left_out(tmp_path: Path) -> None:
    rows = [(f"a/{n}", 10, "A") for n in range(40)] + [(f"a/{n}", 12, "M") for n in range(3)]
    log = written(tmp_path / "log.tsv.gz", [*rows, ("a/7", 13, "M")])
    assert read_log(log).changes == 4
    assert read_log(log, bulk=False).changes == 1


class Daily(Schedule):
    """Fetches the only page there is."""

    def first(self, row: int, group: int, day: float) -> None:
        pass

    def again(self, row: int, day: float, *, changed: bool, links: int, gone: bool) -> None:
        self.seen = (row, day, changed, links, gone)

    def best(self, day: float, n: int) -> list[int]:
        return [0]


def test_freshness_age_and_waste_are_those_of_a_page_fetched_every_day() -> None:
    # born at 0, fetched at 1, 2, 3: stale from .5 to 1 and from 2.25 to 3
    page = PageHistory("a", 1, 0.0, changes=np.array([0.5, 2.25, 2.5]))
    found = replay(SiteHistory("one", 3.5, [page], [-1]), Daily(), 365.25)
    assert found.fetches == 3
    assert found.freshness == pytest.approx(1.0 - 1.25 / 3.5)
    assert found.age_days == pytest.approx((0.5**2 + 0.75**2) / 2.0 / 3.5)
    assert found.wasted == pytest.approx(1.0 / 3.0)


def test_pages_are_discovered_when_the_page_that_lists_them_is_fetched() -> None:
    pages = [PageHistory("list", 0, 0.0), PageHistory("new", 1, 1.5), PageHistory("late", 1, 3.9)]
    found = replay(SiteHistory("one", 4.0, pages, [-1, 0, 0]), Daily(), 365.25)
    assert found.delay_days == pytest.approx((0.1 + 0.5) / 2.0, abs=0.3)


def even(rates: list[float], days: float = 1_000.0) -> SiteHistory:
    rng = np.random.default_rng(7)
    pages = [
        PageHistory(str(n), 1, 0.0, changes=np.sort(rng.uniform(0.0, days, rng.poisson(rate * days))))
        for n, rate in enumerate(rates)
    ]
    return SiteHistory("even", days, pages, [-1] * len(pages))


def test_the_library_is_nearly_as_fresh_as_the_oracle_and_fresher_than_fixed_intervals() -> None:
    site = even([0.005, 0.02, 0.05, 0.2, 1.0] * 8)
    per_day = 0.05
    oracle = replay(site, Oracle(site), per_day * 365.25)
    learned = replay(site, Learned(), per_day * 365.25)
    alike = replay(site, Intervals(adapts=False), per_day * 365.25)
    assert learned.fetches == alike.fetches == oracle.fetches
    assert learned.freshness > 0.9 * oracle.freshness
    assert learned.freshness > alike.freshness
