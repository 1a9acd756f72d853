"""How well news is told from other pages: by a signal and its threshold, and by URL prefixes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from linkscore_lab.datasets.labels import read_table
from linkscore_lab.datasets.site import identity
from linkscore_lab.metrics import ratio
from linkscore_scoring.browse_logs.counts import BrowseCounts
from linkscore_scoring.browse_logs.news.calibration import fit_threshold
from linkscore_scoring.browse_logs.news.mining import PageSignals, calibrate, mine_news, page_signals
from linkscore_scoring.browse_logs.news.model import NewsModel
from linkscore_scoring.browse_logs.news.settings import NewsSettings
from linkscore_scoring.browse_logs.news.signals import CtcSettings, concentration
from linkscore_scoring.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class NewsTruth:
    """Labels by identity: those a learner may read, and those it must not."""

    fit: dict[str, bool]
    judge: dict[str, bool]


def read_news_labels(path: Path) -> dict[str, bool]:
    """Return whether pages are news, by identity.

    Tab separated with a header, plain or gzip; columns ``url`` and ``is_news`` (0 or 1), others are ignored.

    Raises
    ------
    InvalidInput
        If a column is missing or a value is neither.
    """
    rows = [(row["url"], row["is_news"]) for _, row in read_table(path, ("url", "is_news"), field="labels")]
    odd = next((value for _, value in rows if value not in ("0", "1")), None)
    if odd is not None:
        raise InvalidInput(f"{path}: is_news must be 0 or 1, got {odd!r:.100}", field="labels")
    return {identity(url): value == "1" for url, value in rows}


SETTINGS = (
    NewsSettings(signal="literal"),
    NewsSettings(signal="consistent"),
    NewsSettings(signal="decay"),
)


@dataclass(frozen=True, slots=True)
class SignalFigures:
    """Accuracy of one signal on the judged pages of one population.

    Attributes
    ----------
    signal, population
        What was measured, on pages with one client a day over ``window`` or their own ``life``.
    judged, news
        Pages judged, and how many of them are news. Pages the signal cannot decide are left out.
    mean_news, mean_other
        Mean of the signal.
    threshold
        Fitted on the labels a learner may read.
    accuracy, usual
        With the fitted threshold, and with the one used without labels.
    best, best_threshold
        Of the threshold fitted on the judged pages themselves: no learner can do better.
    """

    signal: str
    population: str
    judged: int
    news: int
    mean_news: float
    mean_other: float
    threshold: float
    accuracy: float
    usual: float
    best: float
    best_threshold: float


def signal_figures(counts: BrowseCounts, truth: NewsTruth) -> Iterator[SignalFigures]:
    """Yield the figures of every signal on both populations."""
    for over_life in (False, True):
        for settings in SETTINGS:
            yield _signal_figures(counts, replace(settings, over_life=over_life), truth)


def _signal_figures(counts: BrowseCounts, settings: NewsSettings, truth: NewsTruth) -> SignalFigures:
    pages = page_signals(counts, settings, truth.judge)
    known = pages.labels >= 0
    values, is_news = pages.signals[known], pages.labels[known] == 1
    threshold = calibrate(page_signals(counts, settings, truth.fit), settings)[0].value
    usual = calibrate(_unlabelled(pages), settings)[0].value
    best = fit_threshold(values, is_news)
    return SignalFigures(
        signal=settings.signal,
        population="life" if settings.over_life else "window",
        judged=len(values),
        news=int(is_news.sum()),
        mean_news=_mean(values[is_news]),
        mean_other=_mean(values[~is_news]),
        threshold=threshold,
        accuracy=_accuracy(values, is_news, threshold),
        usual=_accuracy(values, is_news, usual),
        best=best.hits / best.n if best else 1.0,
        best_threshold=best.value if best else threshold,
    )


def _unlabelled(pages: PageSignals) -> PageSignals:
    return replace(pages, labels=np.full_like(pages.labels, -1))


def _accuracy(values: NDArray[np.float64], is_news: NDArray[np.bool_], threshold: float) -> float:
    return float(((values > threshold) == is_news).mean()) if len(values) else 0.0


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else 0.0


_PAPER = NewsSettings(weighed=False, min_pages=1, signal="consistent", min_coverage=0.0)
METHODS = {
    "paper, literal": replace(_PAPER, signal="literal"),
    "paper, consistent": _PAPER,
    "consistent, weighed": NewsSettings(signal="consistent"),
    "decay, counted": replace(_PAPER, signal="decay"),
    "default, calibrated": NewsSettings(),
}
EVERYTHING = "site list: everything"
NO_LABELS = "default, no labels"
LABELS = "default, labels known"
TRUE_LABELS = "paper, true labels"

Rows = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class FilterFigures:
    """Precision and recall of one method.

    Attributes
    ----------
    method, split
        What was measured, and how pages to learn from and pages judged were parted: ``halves`` (all labels),
        ``unseen`` (the same halves, labels of the judge alone), ``time``.
    judged, news
        Pages judged, and of them news; means over the draws.
    precision, recall
        Over all draws together; a draw in which the method abstains has recall 0 and no precision.
    precision_sd, recall_sd
        Standard deviation over the draws.
    abstained
        Share of the draws in which the method abstained.
    """

    method: str
    split: str
    judged: float
    news: float
    precision: float
    recall: float
    precision_sd: float
    recall_sd: float
    abstained: float


@dataclass(frozen=True, slots=True)
class _Draw:
    """One outcome: judged pages, news among them, pages chosen, news among those."""

    judged: int
    news: int
    chosen: int
    right: int
    abstained: bool


def half_figures(counts: BrowseCounts, truth: NewsTruth, *, draws: int = 20) -> Iterator[FilterFigures]:
    """Yield figures of prefixes learned on random halves of the pages, judged on the other halves.

    Pages are those with one client a day over the window. Thresholds and evidence, three numbers, are fitted
    once on the labels a learner may read; in the halves labels are not used but by `LABELS`. Judged are all
    labelled pages of the other half, and again those alone whose label no learner saw.
    """
    pages = np.flatnonzero(concentration(counts, CtcSettings()).frequent)
    halves = [np.random.default_rng(seed).random(len(pages)) < 0.5 for seed in range(draws)]
    parts = [(pages[half], pages[~half]) for half in halves]
    learned = {method: [learn(a) for a, _ in parts] for method, learn in _learners(counts, truth).items()}
    for split, judge in (("halves", {**truth.fit, **truth.judge}), ("unseen", truth.judge)):
        for method, models in learned.items():
            outcomes = (_draw(model, counts, b, judge) for model, (_, b) in zip(models, parts, strict=True))
            yield _summed(method, split, list(outcomes))
        yield _summed(EVERYTHING, split, [_chosen(counts, b, judge, lambda url: True) for _, b in parts])


def time_figures(early: BrowseCounts, counts: BrowseCounts, truth: NewsTruth) -> Iterator[FilterFigures]:
    """Yield figures of prefixes mined from the first days, judged on pages first seen after them.

    `early` are the counts of the first days of those of `counts`. Judged are pages with one client a day
    over their own life.
    """
    found = concentration(counts, CtcSettings(over_life=True))
    late = np.flatnonzero(found.frequent & (found.first_days >= early.n_days))
    every = np.arange(len(early.urls))
    for method, learn in _learners(early, truth).items():
        yield _summed(method, "time", [_draw(learn(every), counts, late, truth.judge)])
    yield _summed(EVERYTHING, "time", [_chosen(counts, late, truth.judge, lambda url: True)])


def part_of(counts: BrowseCounts, rows: Collection[int]) -> BrowseCounts:
    """Return the counts with the visits of some pages only."""
    clicked = np.isin(counts.click_urls, list(rows))
    went = np.isin(counts.to_urls, list(rows))
    return replace(
        counts,
        click_urls=counts.click_urls[clicked],
        click_days=counts.click_days[clicked],
        clicks=counts.clicks[clicked],
        from_urls=counts.from_urls[went],
        to_urls=counts.to_urls[went],
        transits=counts.transits[went],
    )


def _learners(counts: BrowseCounts, truth: NewsTruth) -> dict[str, Callable[[Rows], NewsModel]]:
    """Return the methods: each learns from the visits of some pages."""
    fitted = {name: mine_news(counts, settings, truth.fit) for name, settings in METHODS.items()}
    learners: dict[str, Callable[[Rows], NewsModel]] = {
        name: partial(_learn, counts, settings, None, fitted[name]) for name, settings in METHODS.items()
    }
    learners[LABELS] = partial(_learn, counts, NewsSettings(), truth.fit, None)
    learners[NO_LABELS] = partial(_learn, counts, NewsSettings(), None, None)
    every = {**truth.fit, **truth.judge}
    learners[TRUE_LABELS] = partial(_learn, counts, replace(_PAPER, signal="decay"), every, None)
    return learners


def _learn(
    counts: BrowseCounts,
    settings: NewsSettings,
    labels: Mapping[str, bool] | None,
    before: NewsModel | None,
    rows: Rows,
) -> NewsModel:
    return mine_news(part_of(counts, rows.tolist()), settings, labels, before)


def _draw(model: NewsModel, counts: BrowseCounts, rows: Rows, judge: Mapping[str, bool]) -> _Draw:
    if model.abstains:
        return replace(_chosen(counts, rows, judge, lambda url: False), abstained=True)
    trie = model.trie()
    return _chosen(counts, rows, judge, lambda url: trie.find(url) >= 0)


def _chosen(
    counts: BrowseCounts, rows: Rows, judge: Mapping[str, bool], choose: Callable[[str], bool]
) -> _Draw:
    urls = [counts.urls[row] for row in rows.tolist() if counts.urls[row] in judge]
    chosen = [url for url in urls if choose(url)]
    return _Draw(
        len(urls), sum(judge[u] for u in urls), len(chosen), sum(judge[u] for u in chosen), abstained=False
    )


def _summed(method: str, split: str, draws: Sequence[_Draw]) -> FilterFigures:
    precisions = [draw.right / draw.chosen for draw in draws if draw.chosen]
    recalls = [ratio(draw.right, draw.news) for draw in draws]
    right = sum(draw.right for draw in draws)
    return FilterFigures(
        method=method,
        split=split,
        judged=float(np.mean([draw.judged for draw in draws])),
        news=float(np.mean([draw.news for draw in draws])),
        precision=ratio(right, sum(draw.chosen for draw in draws)),
        recall=ratio(right, sum(draw.news for draw in draws)),
        precision_sd=float(np.std(precisions)) if precisions else 0.0,
        recall_sd=float(np.std(recalls)),
        abstained=float(np.mean([draw.abstained for draw in draws])),
    )
