"""How well a signal and its threshold tell news from other pages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from linkscore_lab.experiments.browse_logs.news.truth import NewsTruth
from linkscore_scoring.browse_logs.counts import BrowseCounts
from linkscore_scoring.browse_logs.news.mining import JudgedPages, calibrate, judge_pages
from linkscore_scoring.browse_logs.news.settings import NewsSettings
from linkscore_scoring.browse_logs.news.threshold import fit_threshold

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
            yield _figures(counts, replace(settings, over_life=over_life), truth)


def _figures(counts: BrowseCounts, settings: NewsSettings, truth: NewsTruth) -> SignalFigures:
    pages = judge_pages(counts, settings, truth.judge)
    known = pages.labels >= 0
    values, is_news = pages.signals[known], pages.labels[known] == 1
    threshold = calibrate(judge_pages(counts, settings, truth.fit), settings)[0].value
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


def _unlabelled(pages: JudgedPages) -> JudgedPages:
    return replace(pages, labels=np.full_like(pages.labels, -1))


def _accuracy(values: NDArray[np.float64], is_news: NDArray[np.bool_], threshold: float) -> float:
    return float(((values > threshold) == is_news).mean()) if len(values) else 0.0


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else 0.0
