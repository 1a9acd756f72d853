"""How news is told from other pages, and under which prefixes it is looked for."""

from __future__ import annotations

from dataclasses import dataclass

from linkscore_scoring.browse_logs.news.signals import DECAY


@dataclass(frozen=True, slots=True, kw_only=True)
class NewsSettings:
    """Settings of `mine_news`. Values in brackets are the defaults, with what they rest on.

    Attributes
    ----------
    signal
        What tells news: `DECAY` of clicks (`decay_gain`), or ClickThroughConcentration, `CONSISTENT` or
        `LITERAL` (`concentration`). [decay: measured, research/notebook/news-from-logs.md]
    m
        Days that count as first for concentration, >= 1. [3: the paper gives none and its mean bounds it by
        6; chosen, not measured]
    threshold
        Signal above which a page is news; 0: fitted on labelled pages, else 1.91 for concentration and 0 for
        decay.
    min_daily_clicks
        Least mean of daily clicks of a page that is looked at, >= 0. [1: Wang 2008, section 3]
    over_life
        Mean over the days since the first click, not over the whole window.
    weighed
        Weigh pages by how sure their signal is (`WeighedRates`) and look into mixed folders. False counts
        what the threshold calls news and takes the topmost nodes, as Wang 2008 does.
    theta
        Share of news above which a prefix is one, [0, 1]. [.8: Wang 2008, section 6.1]
    min_pages
        Pages that a prefix must be learned from, >= 1. [3: measured,
        research/notebook/news-from-logs.md; the paper has no such bound]
    min_coverage
        Share of the news that must lie below prefixes learned from other pages; if less does, the model
        abstains, [0, 1]. [.2: chosen, not measured]
    max_hubs, max_prefixes
        Hubs that are kept, and prefixes: those that hold most news. [100 and 10,000: bounds of memory]
    """

    signal: str = DECAY
    m: int = 3
    threshold: float = 0.0
    min_daily_clicks: float = 1.0
    over_life: bool = False
    weighed: bool = True
    theta: float = 0.8
    min_pages: int = 3
    min_coverage: float = 0.2
    max_hubs: int = 100
    max_prefixes: int = 10_000
