"""News of a site from its browse log: signal, threshold, prefixes and hubs together (Wang 2008)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.browse_logs.counts import BrowseCounts
from linkscore_scoring.browse_logs.news.calibration import (
    PAPER_THRESHOLD,
    NewsEvidence,
    NewsThreshold,
    fit_evidence,
    fit_threshold,
)
from linkscore_scoring.browse_logs.news.hubs import hub_seeds
from linkscore_scoring.browse_logs.news.model import NewsModel
from linkscore_scoring.browse_logs.news.prefixes import NewsPages, held_out_coverage, learn_prefixes, steps_of
from linkscore_scoring.browse_logs.news.rates import CERTAIN
from linkscore_scoring.browse_logs.news.settings import NewsSettings
from linkscore_scoring.browse_logs.news.signals import (
    CONSISTENT,
    DECAY,
    CtcSettings,
    concentration,
    decay_gain,
)

_LEAST_SIGNAL = 1e-3
"""A bound: concentration is read as its logarithm, and a page without early clicks has none."""

_FEWEST_LABELS = 20
"""Labelled pages from which a threshold is fitted. Chosen, not measured."""

# Without labels: rounded means of what the labelled pages of three sites gave, which lie close together.
_DECAY_EVIDENCE = NewsEvidence(slope=3.4, offset=1.0)
_CTC_EVIDENCE = NewsEvidence(slope=2.4, offset=-2.2)

Values = NDArray[np.float64]


@dataclass(slots=True)
class PageSignals:
    """Signal of the pages that can be classified.

    Attributes
    ----------
    rows
        Pages, as indices into the URLs of the counts.
    signals, labels
        Signal of each, and what an operator says: 1 news, 0 other, -1 nothing.
    undecided
        Pages with enough clicks that cannot be classified.
    """

    rows: NDArray[np.intp]
    signals: Values
    labels: NDArray[np.int8]
    undecided: int


def mine_news(
    counts: BrowseCounts,
    settings: NewsSettings,
    labels: Mapping[str, bool] | None = None,
    before: NewsModel | None = None,
) -> NewsModel:
    """Return what the browse log of a site tells about its news.

    Parameters
    ----------
    labels
        Pages by identity of which somebody said whether they are news; they fit threshold and evidence, and
        stand for themselves. Fewer than 20, or of one kind only, fit nothing.
    before
        What the window before gave: if no labels come now, what was fitted then stays in force.

    Notes
    -----
    Cost: O(records + pages log pages). Source: Wang 2008, sections 4 and 5. Differences from the paper: those
    of the functions called; pages that cannot be classified count neither as news nor as other; the model
    abstains where prefixes do not hold the news of pages they were not learned from.
    """
    seen = page_signals(counts, settings, labels or {})
    threshold, evidence = calibrate(seen, settings, before)
    is_news = np.where(seen.labels >= 0, seen.labels == 1, seen.signals > threshold.value)
    ratios = evidence.ratios(_scaled(seen.signals, settings))
    ratios[seen.labels == 0], ratios[seen.labels == 1] = -CERTAIN, CERTAIN
    urls = [counts.urls[row] for row in seen.rows.tolist()]
    pages = NewsPages(urls, [steps_of(url) for url in urls], is_news, ratios)
    of_all_urls = np.zeros(len(counts.urls), dtype=np.bool_)
    of_all_urls[seen.rows[is_news]] = True
    model = NewsModel(
        signal=settings.signal,
        threshold=threshold,
        evidence=evidence,
        pages=len(is_news),
        news=int(is_news.sum()),
        undecided=seen.undecided,
        prefixes=learn_prefixes(pages, settings),
        covered=held_out_coverage(pages, settings),
        hubs=hub_seeds(counts, of_all_urls, settings.max_hubs, by_gain=settings.weighed),
        reason="",
    )
    model.reason = _reason(model, settings)
    return model


def page_signals(counts: BrowseCounts, settings: NewsSettings, labels: Mapping[str, bool]) -> PageSignals:
    """Return the signal of every page that has enough clicks and, for concentration, was seen long enough."""
    by_decay = settings.signal == DECAY
    ctc = CtcSettings(
        mode=CONSISTENT if by_decay else settings.signal,
        m=settings.m,
        min_daily_clicks=settings.min_daily_clicks,
        over_life=settings.over_life,
    )
    found = concentration(counts, ctc)
    rows = np.flatnonzero(found.frequent if by_decay else found.decided)
    signals = decay_gain(counts) if by_decay else found.values
    given = [int(labels.get(counts.urls[row], -1)) for row in rows]
    undecided = int(found.frequent.sum()) - len(rows)
    return PageSignals(rows, signals[rows], np.array(given, dtype=np.int8), undecided)


def calibrate(
    seen: PageSignals, settings: NewsSettings, before: NewsModel | None = None
) -> tuple[NewsThreshold, NewsEvidence]:
    """Return threshold and evidence: fitted on labels, else those of `before`, else the usual ones."""
    by_decay = settings.signal == DECAY
    known = seen.labels >= 0
    is_news = seen.labels[known] == 1
    enough = len(is_news) >= _FEWEST_LABELS
    fitted = fit_threshold(seen.signals[known], is_news) if enough else None
    usual = NewsThreshold(settings.threshold or (0.0 if by_decay else PAPER_THRESHOLD))
    if fitted is not None:
        evidence = fit_evidence(_scaled(seen.signals[known], settings), is_news)
        return usual if settings.threshold else fitted, evidence
    if before is not None and before.signal == settings.signal:
        in_force = (before.threshold.n or before.threshold.given) and not settings.threshold
        return before.threshold if in_force else usual, before.evidence
    return usual, _DECAY_EVIDENCE if by_decay else _CTC_EVIDENCE


def _scaled(signals: Values, settings: NewsSettings) -> Values:
    """Return signals on the scale of the evidence: concentration as its logarithm."""
    return signals if settings.signal == DECAY else np.log(np.maximum(signals, _LEAST_SIGNAL))


def _reason(model: NewsModel, settings: NewsSettings) -> str:
    if not model.pages:
        return f"no page of the log has {settings.min_daily_clicks:g} clicks a day"
    if not model.news:
        return "no page of the log is news"
    if not model.prefixes or model.covered < settings.min_coverage:
        few = f"{len(model.prefixes)} folders or programs are more than {settings.theta:.0%} news"
        held = f"of pages they were not learned from they hold {model.covered:.0%} of the news"
        return f"URLs carry no news prefix ({few}; {held})"
    return ""
