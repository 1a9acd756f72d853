"""News of a site from its browse log: signal, threshold, prefixes and hubs together (Wang 2008)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.browse_logs.counts import BrowseCounts
from linkscore_scoring.browse_logs.news.click_decay import decay_gain
from linkscore_scoring.browse_logs.news.ctc import CONSISTENT, CtcSettings, concentration
from linkscore_scoring.browse_logs.news.evidence import NewsEvidence, fit_evidence
from linkscore_scoring.browse_logs.news.hub_seeds import hub_seeds
from linkscore_scoring.browse_logs.news.model import NewsModel
from linkscore_scoring.browse_logs.news.prefix_tree import steps_of
from linkscore_scoring.browse_logs.news.prefixes import NewsPages, held_out_coverage, learn_prefixes
from linkscore_scoring.browse_logs.news.settings import DECAY, NewsSettings
from linkscore_scoring.browse_logs.news.threshold import PAPER_THRESHOLD, NewsThreshold, fit_threshold

_CERTAIN = 30.0
_SMALLEST = 1e-3
_FEWEST_LABELS = 20
_DECAY_EVIDENCE = NewsEvidence(3.4, 1.0)
_CTC_EVIDENCE = NewsEvidence(2.4, -2.2)
"""Without labels: rounded means of what the labelled pages of three sites gave, which lie close together."""

Values = NDArray[np.float64]


@dataclass(slots=True)
class JudgedPages:
    """Signal of the pages that can be judged.

    Attributes
    ----------
    rows
        Pages, as indices into the URLs of the counts.
    signals, labels
        Signal of each, and what an operator says: 1 news, 0 other, -1 nothing.
    undecided
        Pages with enough clicks that cannot be judged.
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

    Cost: O(records + pages log pages). Source: Wang 2008, sections 4 and 5. Differences from the paper: those
    of the modules called; pages that cannot be judged count neither as news nor as other; the model abstains
    where prefixes do not hold the news of pages they were not learned from.
    """
    judged = judge_pages(counts, settings, labels or {})
    threshold, evidence = calibrate(judged, settings, before)
    is_news = np.where(judged.labels >= 0, judged.labels == 1, judged.signals > threshold.value)
    ratios = evidence.ratios(_scaled(judged.signals, settings))
    ratios[judged.labels == 0], ratios[judged.labels == 1] = -_CERTAIN, _CERTAIN
    urls = [counts.urls[row] for row in judged.rows.tolist()]
    pages = NewsPages(urls, [steps_of(url) for url in urls], is_news, ratios)
    everywhere = np.zeros(len(counts.urls), dtype=np.bool_)
    everywhere[judged.rows[is_news]] = True
    model = NewsModel(
        signal=settings.signal,
        threshold=threshold,
        evidence=evidence,
        pages=len(is_news),
        news=int(is_news.sum()),
        undecided=judged.undecided,
        prefixes=learn_prefixes(pages, settings),
        covered=held_out_coverage(pages, settings),
        hubs=hub_seeds(counts, everywhere, settings.max_hubs, by_gain=settings.weighed),
    )
    model.reason = _reason(model, settings)
    return model


def judge_pages(counts: BrowseCounts, settings: NewsSettings, labels: Mapping[str, bool]) -> JudgedPages:
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
    told = [int(labels.get(counts.urls[row], -1)) for row in rows]
    undecided = int(found.frequent.sum()) - len(rows)
    return JudgedPages(rows, signals[rows], np.array(told, dtype=np.int8), undecided)


def calibrate(
    judged: JudgedPages, settings: NewsSettings, before: NewsModel | None = None
) -> tuple[NewsThreshold, NewsEvidence]:
    """Return threshold and evidence: fitted on labels, else those of `before`, else the usual ones."""
    by_decay = settings.signal == DECAY
    known = judged.labels >= 0
    is_news = judged.labels[known] == 1
    enough = len(is_news) >= _FEWEST_LABELS
    fitted = fit_threshold(judged.signals[known], is_news) if enough else None
    usual = NewsThreshold(settings.threshold or (0.0 if by_decay else PAPER_THRESHOLD))
    if fitted is not None:
        evidence = fit_evidence(_scaled(judged.signals[known], settings), is_news)
        return usual if settings.threshold else fitted, evidence
    if before is not None and before.signal == settings.signal:
        told = (before.threshold.n or before.threshold.given) and not settings.threshold
        return before.threshold if told else usual, before.evidence
    return usual, _DECAY_EVIDENCE if by_decay else _CTC_EVIDENCE


def _scaled(signals: Values, settings: NewsSettings) -> Values:
    """Return signals on the scale of the evidence: concentration as its logarithm."""
    return signals if settings.signal == DECAY else np.log(np.maximum(signals, _SMALLEST))


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
