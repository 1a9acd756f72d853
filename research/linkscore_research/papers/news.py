"""News from click logs (Wang, Liu, Zhang and Ma 2008): figure 2 and table 1 on simulated logs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from linkscore_lab.datasets.site import identity, read_table
from linkscore_lab.replay.browse_log import read_counts
from linkscore_research.papers.results import Cell, PaperTable
from linkscore_research.papers.sites import PaperOptions
from linkscore_research.papers.source import Tables
from linkscore_scoring.browse_logs.counts import OUTSIDE, BrowseCounts
from linkscore_scoring.browse_logs.news import (
    THETA,
    NewsPages,
    find_prefixes,
    mine_crawl,
    page_signals,
    prefix_of,
    steps_of,
)
from linkscore_scoring.columns import Floats
from linkscore_scoring.errors import InvalidInput

_LOG, _FIT, _JUDGE = ".log.tsv.gz", ".fit.tsv.gz", ".judge.tsv.gz"
LOW = 3.0
"""Concentration below which the paper finds 91.9 % of the other pages."""
FOLDERS = 3
"""Folders that table 1 counts in: those with the most news."""

SEEDS = (3, 10, 30)
"""Seeds that are compared with the front pages of the three sites."""
FRONT_SLASHES = 3
"""Slashes in the URL of a front page."""


THRESHOLD, FIRST_DAYS, LEAST_DAYS = 1.91, 3, 7
"""Threshold of section 6.1, fitted on one site; m, which the paper does not give (its mean bounds it by 6);
and days that a page must be seen for: concentration cannot exceed days seen / m. Chosen, not measured."""


def concentration(counts: BrowseCounts, *, literal: bool = False) -> tuple[Floats, NDArray[np.bool_]]:
    """Return ClickThroughConcentration of every page, the share of its clicks in its first days, (n_urls,),
    and which pages have a click a day and were seen long enough to tell.

    Section 4.1, eq. 1. m days count of the n - a + 1 there are, so that even clicks give exactly 1, which
    eq. 1 as printed, `literal`, misses by one day.
    """
    n, first = len(counts.urls), counts.first_days()
    totals = np.bincount(counts.click_urls, counts.clicks, n)
    ages = counts.click_days - first[counts.click_urls]
    early = ages < FIRST_DAYS + literal
    head = np.bincount(counts.click_urls[early], counts.clicks[early], n)
    seen = counts.n_days - first
    span = seen - literal
    share = np.divide(head, totals, out=np.zeros(n), where=(totals > 0) & (span > 0))
    decided = (totals > 0) & (totals >= counts.n_days) & (seen >= max(2 * FIRST_DAYS, LEAST_DAYS))
    return share * span / FIRST_DAYS, decided


def paper_prefixes(counts: BrowseCounts, labels: Mapping[str, bool] | None) -> list[str]:
    """Return the topmost folders and programs of which more than .8 is news, counted: section 5.2.

    Labels say what is news, and without them concentration.
    """
    values, decided = concentration(counts)
    rows, is_news = np.flatnonzero(decided), (values > THRESHOLD)[decided]
    if labels:
        rows, signals = page_signals(counts)
        given = np.array([labels.get(counts.urls[row], -1) for row in rows])
        is_news = np.where(given >= 0, given == 1, signals > fitted(signals, given))
    urls = [counts.urls[row] for row in rows.tolist()]
    pages = NewsPages(urls, [steps_of(url) for url in urls], is_news, np.zeros(len(urls)))

    def rate(below: NDArray[np.intp]) -> tuple[float, float]:
        return float(is_news[below].mean()), 0.0

    found = find_prefixes(pages, rate, theta=THETA, min_pages=1, misfits=None)
    return sorted(prefix.text for prefix in found)


def fitted(signals: Floats, given: NDArray[np.int64]) -> float:
    """Return the midpoint that parts labelled pages best (section 6.1), 0 for none; -1 is no label."""
    values, is_news = signals[given >= 0], given[given >= 0] == 1
    ranked = np.unique(values)
    cuts = (ranked[1:] + ranked[:-1]) / 2
    hits = [int(((values > cut) == is_news).sum()) for cut in cuts]
    return float(max(zip(hits, cuts, strict=True))[1]) if hits and 0 < is_news.sum() < len(values) else 0.0


def read_news_labels(path: Path) -> dict[str, bool]:
    """Return whether pages are news, by identity, from a table with columns ``url`` and ``is_news``."""
    rows = [(row["url"], row["is_news"]) for row in read_table(path, ("url", "is_news"), field="labels")]
    return {identity(url): value == "1" for url, value in rows}


def logs(options: PaperOptions) -> Iterator[tuple[str, BrowseCounts, dict[str, bool]]]:
    """Yield name, counts and all labels of each log of the folder; nothing is learned of these labels."""
    found = sorted(options.folder.glob(f"*{_LOG}")) if options.folder else []
    if not found:
        raise InvalidInput(f"needs NAME{_LOG}, NAME{_FIT} and NAME{_JUDGE}", field="folder")
    for path in found:
        name = path.name.removesuffix(_LOG)
        labels = [read_news_labels(_beside(path, name, ending)) for ending in (_FIT, _JUDGE)]
        yield name, read_counts(path), {**labels[0], **labels[1]}


def _beside(path: Path, name: str, ending: str) -> Path:
    return path.with_name(name + ending)


def figure_2(options: PaperOptions) -> Tables:
    """Concentration of news and of other pages: eq. 1 as printed, and counted so that even clicks give 1."""
    rows: list[list[Cell]] = [["paper, focus.cn", "eq. 1", 2337, 703, 0.919, 1.86, 9.11]]
    for name, counts, labels in logs(options):
        known = np.array([labels.get(url, -1) for url in counts.urls], dtype=np.int8)
        for mode in ("literal", "consistent"):
            values, decided = concentration(counts, literal=mode == "literal")
            news, other = (values[decided & (known == kind)] for kind in (1, 0))
            low = float((other < LOW).mean())
            rows.append([name, mode, len(news), len(other), low, float(other.mean()), float(news.mean())])
    columns = ["log", "counted", "news", "others", "others below 3", "mean of others", "mean of news"]
    return [PaperTable(columns, rows)], []


def table_1(options: PaperOptions) -> Tables:
    """News and other pages below the three news prefixes that hold most news, and elsewhere.

    Labels stand for the signal, as in the paper's table; what the signal finds by itself is beside it.
    """
    rows: list[list[Cell]] = [["paper, focus.cn", "folders, by hand", FOLDERS, 2322, 4, 15, 699]]
    for name, counts, labels in logs(options):
        for by, given in (("labels", labels), ("signal", None)):
            rows.append([name, by, *_inside(paper_prefixes(counts, given), labels)])
    columns = ["log", "prefixes by", "prefixes", "news inside", "others inside", "news outside"]
    return [PaperTable([*columns, "others outside"], rows)], []


def table_2(options: PaperOptions) -> Tables:
    """What a list of sites leads to beside the log of them all; the list lacks one site after the other.

    Labels judge, and nothing is learned of them. A list fetches every page of its sites, as in the paper.
    """
    found = list(logs(options))
    mined = mine_crawl(_together([counts for _, counts, _ in found]))
    labels = {url: is_news for _, _, known in found for url, is_news in known.items()}
    texts = {prefix.text for prefix in mined.model.prefixes}
    inside = {url for url in labels if prefix_of(url, texts)}
    rows: list[list[Cell]] = [
        ["paper", "1,542 sites by hand", 0.488, 0.586],
        ["paper", "439 prefixes of the log", 0.91, 0.689],
    ]
    for lacking, _, own in found:
        rows.append(
            [f"without {lacking}", "pages of the other sites", *shares(set(labels) - set(own), labels)]
        )
    rows.append(["all sites", "pages of the sites", *shares(set(labels), labels)])
    rows.append(["all sites", f"{len(mined.model.prefixes)} prefixes of the log", *shares(inside, labels)])
    return [
        PaperTable(["list", "fetched", "precision", "recall"], rows),
        PaperTable(
            ["seeds", "of the log", "front pages", "sites"],
            seed_rows(found, [seed.url for seed in mined.seeds]),
            "News linked by",
        ),
    ], []


def seed_rows(
    logs_: Sequence[tuple[str, BrowseCounts, dict[str, bool]]], seeds: Sequence[str]
) -> list[list[Cell]]:
    """Return labelled news that visitors reached from so many seeds, and from the front pages."""
    reached: dict[str, set[str]] = {}
    for _, counts, labels in logs_:
        inside = counts.from_urls != OUTSIDE
        for source, target in zip(
            counts.from_urls[inside].tolist(), counts.to_urls[inside].tolist(), strict=True
        ):
            if labels.get(counts.urls[target]):
                reached.setdefault(counts.urls[source], set()).add(counts.urls[target])
    fronts = {url for url in reached if url.count("/") == FRONT_SLASHES and url.endswith("/")}
    rows: list[list[Cell]] = [["paper, 1,542", 79_292, 46_210, 1_542]]
    for n in SEEDS:
        best = [reached.get(url, set()) for url in seeds[:n]]
        led = set[str]().union(*(reached[url] for url in fronts))
        hosts = {url.split("/")[2] for url in seeds[:n]}
        rows.append([str(n), len(set[str]().union(*best)), len(led), len(hosts)])
    return rows


def shares(fetched: set[str], labels: dict[str, bool]) -> list[float]:
    """Return precision and recall of what is fetched, by labels."""
    news = {url for url, is_news in labels.items() if is_news}
    hits = len(news & fetched)
    return [hits / max(1, len(fetched)), hits / len(news)]


def _together(counts: Sequence[BrowseCounts]) -> BrowseCounts:
    """Return the counts of several sites, whose windows are the same, as those of one crawl."""
    begins = np.cumsum([0, *(len(each.urls) for each in counts)])[:-1].tolist()
    pairs = list(zip(counts, begins, strict=True))
    return BrowseCounts(
        counts[0].first_day,
        max(each.n_days for each in counts),
        [url for each in counts for url in each.urls],
        np.concatenate([each.click_urls + begin for each, begin in pairs]),
        np.concatenate([each.click_days for each in counts]),
        np.concatenate([each.clicks for each in counts]),
        np.concatenate(
            [np.where(each.from_urls == OUTSIDE, OUTSIDE, each.from_urls + begin) for each, begin in pairs]
        ),
        np.concatenate([each.to_urls + begin for each, begin in pairs]),
        np.concatenate([each.transits for each in counts]),
    )


def _inside(prefixes: list[str], labels: dict[str, bool]) -> list[int]:
    """Return how many of the best prefixes there are, then news and others inside and outside of them."""
    news = [prefix_of(url, prefixes) for url, is_news in labels.items() if is_news]
    best = sorted(prefixes, key=lambda prefix: -news.count(prefix))[:FOLDERS]
    others = [prefix_of(url, prefixes) for url, is_news in labels.items() if not is_news]
    inside = [sum(at in best for at in found) for found in (news, others)]
    return [len(best), *inside, len(news) - inside[0], len(others) - inside[1]]
