"""Histories of sites: when pages are born, change and go. Logs of real sites, and sites that are made up."""

from __future__ import annotations

import csv
import gzip
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.revisits.pages import DAY_S

YEAR_DAYS = 365.25
"""Days of a Julian year: leap years count."""
Times = NDArray[np.float64]
BULK_SHARE = 0.05
"""Of the pages of a site, changed at one time, from which on an edit counts as bulk: spelling, moves, front
matter."""


@dataclass
class PageHistory:
    """One page. Times are in days since the history of its site begins."""

    name: str  # What it is called
    group: int  # Its URL pattern, as a number
    born: float  # When it appears, and when it is no more; infinite if it stays
    gone: float = np.inf
    # When it changes while it is there, ascending
    changes: Times = field(default_factory=lambda: np.zeros(0))


@dataclass
class SiteHistory:
    """A site."""

    name: str  # Of the site
    days: float  # How long it is looked at
    pages: list[PageHistory]  # Its pages
    # Which pages list others: for each page the row of the one that shows it from its birth on; -1 if it is
    # known as soon as it is born
    lists: list[int]

    @property
    def changes(self) -> int:
        """Changes of all pages."""
        return sum(len(page.changes) for page in self.pages)


def read_log(path: Path, *, bulk: bool = True, hub: str = "") -> SiteHistory:
    """Read a log of changes: tab-separated page, time, kind (A born, M changed, D gone), and more."""
    rows: dict[str, list[tuple[float, str]]] = defaultdict(list)
    with gzip.open(path, "rt", newline="") if path.suffix == ".gz" else path.open(newline="") as file:
        reader = csv.reader(file, delimiter="\t")
        next(reader)
        for row in reader:
            name, time, kind = row[:3]
            rows[name].append((float(time), kind))
    together = Counter(time for found in rows.values() for time, kind in found if kind == "M")
    bulks = set() if bulk else {time for time, count in together.items() if count > BULK_SHARE * len(rows)}
    start = min(time for found in rows.values() for time, _ in found)
    end = max(time for found in rows.values() for time, _ in found)
    groups: dict[str, int] = {}
    pages = []
    for name, found in rows.items():
        group = groups.setdefault(_folder(name), len(groups) + 1)
        pages += _lives(name, group, sorted(found), start, bulks)
    at = next((row for row, page in enumerate(pages) if page.name == hub), -1)
    lists = [-1 if row == at else at for row in range(len(pages))]
    return SiteHistory(path.name.split(".")[0], (end - start) / DAY_S, pages, lists)


def _lives(
    name: str, group: int, found: Iterable[tuple[float, str]], start: float, bulks: set[float]
) -> list[PageHistory]:
    """Return the lives of a page: one that comes back after it was gone is another page."""
    lives: list[PageHistory] = []
    changes: list[float] = []
    for time, kind in found:
        day = (time - start) / DAY_S
        is_open = bool(lives) and lives[-1].gone == np.inf
        if kind == "D":
            if is_open:
                lives[-1].gone = day
        elif not is_open:
            changes = []
            lives.append(PageHistory(name, group, day))
        elif time not in bulks and day > lives[-1].born:
            changes.append(day)
            lives[-1].changes = np.unique(np.array(changes))
    return lives


def _folder(name: str) -> str:
    """Return where a page is, which is what its URL shows of its kind; the last part is its own."""
    return "/".join(name.split("/")[:-1][:3])


def living(seed: int, *, pages: int = 300, years: float = 4.0) -> SiteHistory:
    """Make up a site that lives: everything is a function of the seed.

    It has 3 to 8 sections, each with a rate drawn between a change a week and one in five years, log-uniform,
    and a list that shows the section's pages when they are born. Pages of a section have Gamma distributed
    rates around its own, of a shape between .5 and 4. Of a third of the sections pages change at an even
    rate; of a third mostly while they are young, at a rate that falls as 1 / (1 + age in months); of a third
    in bursts, each change being followed by another with probability .6 within days. A third of the pages is
    there from the beginning, the others come evenly; one in ten goes again.
    """
    rng = np.random.default_rng([seed, 34])
    days, sections = years * YEAR_DAYS, int(rng.integers(3, 9))
    made = [PageHistory(f"list/{section}", 0, 0.0) for section in range(sections)]
    lists = [-1] * sections
    rates = np.exp(rng.uniform(np.log(1.0 / (5.0 * YEAR_DAYS)), np.log(1.0 / 7.0), sections))
    shapes = rng.uniform(0.5, 4.0, sections)
    for number in range(pages - sections):
        section = int(rng.integers(sections))
        born = 0.0 if rng.random() < 1.0 / 3.0 else float(rng.uniform(0.0, days))
        gone = born + float(rng.uniform(0.0, days)) if rng.random() < 0.1 else np.inf
        rate = float(rng.gamma(shapes[section], rates[section] / shapes[section]))
        changes = _changes(rng, section % 3, rate, born, min(gone, days))
        made.append(PageHistory(f"{section}/{number}", section + 1, born, gone, changes))
        lists.append(section)
    for section in range(sections):
        listed = [
            page.born for page, by in zip(made, lists, strict=True) if by == section and page.born > 0.0
        ]
        made[section].changes = np.sort(np.array(listed))
    return SiteHistory(f"living-{seed}", days, made, lists)


def _changes(rng: np.random.Generator, kind: int, rate: float, born: float, end: float) -> Times:
    """Return when a page changes: evenly, while it is young, or in bursts; all with about the same mean."""
    span = end - born
    times = born + np.sort(rng.uniform(0.0, span, rng.poisson(rate * span)))
    if kind == 1:
        # thinned and crowded: the same number at ages that grow as fast as they can
        months = 30.0 * (np.expm1(rng.uniform(0.0, np.log1p(span / 30.0), len(times))))
        times = np.sort(born + months)
    elif kind == 2:
        burst, extra = times[rng.random(len(times)) < 0.4], []
        for start in burst:
            while rng.random() < 0.6:
                start += float(rng.exponential(3.0))
                extra.append(start)
        times = np.sort(np.append(burst, extra))
    return times[times < end]
