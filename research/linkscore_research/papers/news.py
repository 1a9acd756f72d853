"""News from click logs (Wang, Liu, Zhang and Ma 2008): figure 2 and table 1 on simulated logs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from linkscore_lab.browse_logs.read_counts import read_counts
from linkscore_research.news.filters import METHODS, read_news_labels
from linkscore_research.papers.results import Cell, PaperTable
from linkscore_research.papers.sites import PaperOptions
from linkscore_research.papers.source import Tables
from linkscore_scoring.browse_logs.counts import BrowseCounts
from linkscore_scoring.browse_logs.news.mining import mine_news
from linkscore_scoring.browse_logs.news.prefixes import PrefixTrie
from linkscore_scoring.browse_logs.news.signals import CtcSettings, concentration
from linkscore_scoring.errors import InvalidInput

_LOG, _FIT, _JUDGE = ".log.tsv.gz", ".fit.tsv.gz", ".judge.tsv.gz"
LOW = 3.0
"""Concentration below which the paper finds 91.9 % of the other pages."""
FOLDERS = 3
"""Folders that table 1 counts in: those with the most news."""


def logs(options: PaperOptions) -> Iterator[tuple[str, BrowseCounts, dict[str, bool]]]:
    """Yield name, counts and all labels of each log of the folder; nothing is learned of these labels.

    Raises
    ------
    InvalidInput
        If the folder has no log with labels.
    """
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
            found = concentration(counts, CtcSettings(mode=mode))
            news = found.values[found.decided & (known == 1)]
            other = found.values[found.decided & (known == 0)]
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
        settings = METHODS["paper, consistent"]
        for by, given in (("labels", labels), ("signal", None)):
            model = mine_news(counts, replace(settings, signal="decay") if given else settings, given)
            texts = [prefix.text for prefix in model.prefixes]
            rows.append([name, by, *_inside(texts, labels)])
    columns = ["log", "prefixes by", "prefixes", "news inside", "others inside", "news outside"]
    return [PaperTable([*columns, "others outside"], rows)], []


def _inside(prefixes: list[str], labels: dict[str, bool]) -> list[int]:
    """Return how many of the best prefixes there are, then news and others inside and outside of them."""
    trie = PrefixTrie(prefixes)
    news = [trie.find(url) for url, is_news in labels.items() if is_news]
    best = sorted(range(len(prefixes)), key=lambda n: -news.count(n))[:FOLDERS]
    others = [trie.find(url) for url, is_news in labels.items() if not is_news]
    inside = [sum(at in best for at in found) for found in (news, others)]
    return [len(best), *inside, len(news) - inside[0], len(others) - inside[1]]
