"""Expressions learned from URLs of a page type, matched against all."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from linkscore_lab.datasets.labels import read_labels
from linkscore_scoring.policies.focus.expressions import RegexSet
from linkscore_scoring.policies.focus.itf import learn_patterns

LEAST_PAGES = 10
"""Page types with fewer pages are not learned, only matched against."""

# Samples drawn of each type for a mean. Chosen, not measured.
DRAWS = 3


@dataclass(frozen=True, slots=True)
class RegexFigures:
    """One page type of one site: means over draws, and the expressions of the last draw."""

    site: str
    page_type: str
    pages: int
    precision: float
    recall: float
    regexes: tuple[str, ...]


def run_regexes(tables: Sequence[Path], *, sample: int, paper: bool) -> list[RegexFigures]:
    """Measure every page type of label tables, and print the table."""
    found = [row for table in tables for row in measure_regexes(table, sample=sample, paper=paper)]
    table = Table("site", "page type", "pages", "precision", "recall", "expressions", box=SIMPLE_HEAD)
    for row in found:
        share = f"{row.precision:.3f}", f"{row.recall:.3f}"
        table.add_row(row.site, row.page_type, str(row.pages), *share, "\n".join(row.regexes))
    if found:
        means = f"{mean(r.precision for r in found):.3f}", f"{mean(r.recall for r in found):.3f}"
        table.add_row("mean", "", "", *means, "")
    console = Console()
    (console if console.is_terminal else Console(width=200)).print(table)
    return found


def measure_regexes(labels: Path, *, sample: int = 30, paper: bool = False) -> list[RegexFigures]:
    """Return the figures of each page type of a site with `LEAST_PAGES` pages or more, largest first.

    Learned from `sample` URLs drawn from the type, matched against all labelled URLs, the drawn included.
    """
    by_type: dict[str, list[str]] = defaultdict(list)
    for url, name in read_labels(labels).items():
        by_type[name].append(url)
    large = sorted((-len(urls), name) for name, urls in by_type.items() if len(urls) >= LEAST_PAGES)
    return [_measure(labels.name.partition(".")[0], name, by_type, sample, paper) for _, name in large]


def _measure(site: str, name: str, by_type: dict[str, list[str]], sample: int, paper: bool) -> RegexFigures:
    own, shares, regexes = by_type[name], list[tuple[float, float]](), tuple[str, ...]()
    for seed in range(DRAWS):
        drawn = random.Random(seed).sample(own, min(sample, len(own)))
        regexes = tuple(pattern.regex for pattern in learn_patterns(drawn, paper=paper))
        fits = RegexSet(regexes, [1] * len(regexes))
        hits = {kind: sum(bool(fits.rows(url)) for url in urls) for kind, urls in by_type.items()}
        shares.append((hits[name] / max(1, sum(hits.values())), hits[name] / len(own)))
    precision, recall = (mean(column) for column in zip(*shares, strict=True))
    return RegexFigures(site, name, len(own), precision, recall, regexes)
