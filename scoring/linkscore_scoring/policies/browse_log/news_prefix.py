"""News by URL prefix: what the clicks of visitors say about folders and programs (Wang 2008)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from linkscore_scoring.browse_logs.news import SIGNALS, Hub, NewsModel, NewsSettings
from linkscore_scoring.browse_logs.prefixes import NewsPrefix, PrefixTrie, steps_of
from linkscore_scoring.errors import FieldProblem
from linkscore_scoring.policies.base import FOLLOW, SKIP, Explanation, Scored, Scores, Term, one_of, outside
from linkscore_scoring.policies.with_fallback import FallbackParams, WithFallback
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import LinkBatch, SeedWanted, UrlRule
from linkscore_scoring.urls.identity import known_identity

# Score of links below a prefix or to a hub is at least the first, of others the second: the order is the
# policy's, how
# far apart the two lie is chosen.
_FLOOR, _ELSEWHERE = 0.5, 0.1

_PLACE_STEPS = 3
"""Steps of a URL that name its place where no prefix is known yet: deep enough for most that may come.
Chosen."""

_HUB = "+"
"""First character of the place of a hub; no host begins with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewsPrefixParams(FallbackParams):
    """Parameters of `news_prefix`: those of `NewsSettings`, which the log is mined with, and the fallback."""

    # what tells news: `decay` of clicks, or ClickThroughConcentration, `consistent` or `literal`
    signal: str = "decay"
    m: int = 3  # days that count as first for concentration, [1, 30]
    # signal above which a page is news, [0, 100]; 0: fitted on labelled pages, else the usual one
    threshold: float = 0.0
    min_daily_clicks: float = 1.0  # least mean of daily clicks of a page that is looked at, [0, 1e6]
    weighed: bool = True  # weigh pages by how sure their signal is; False counts them as the paper does
    theta: float = 0.8  # share of news above which a prefix is one, [0, 1]
    min_pages: int = 3  # pages that a prefix must be learned from, [1, 1e6]
    # share of the news that must lie below prefixes, [0, 1]; else the policy abstains
    min_coverage: float = 0.2

    def problems(self) -> Iterator[FieldProblem]:
        """Yield a problem for each field out of range."""
        yield from FallbackParams.problems(self)
        yield from one_of("signal", self.signal, SIGNALS)
        yield from outside("m", self.m, 1, 30)
        yield from outside("threshold", self.threshold, 0.0, 100.0)
        yield from outside("min_daily_clicks", self.min_daily_clicks, 0.0, 1e6)
        yield from outside("theta", self.theta, 0.0, 1.0)
        yield from outside("min_pages", self.min_pages, 1, 1e6)
        yield from outside("min_coverage", self.min_coverage, 0.0, 1.0)

    def settings(self) -> NewsSettings:
        """Return what the log is mined with."""
        mine = {field.name for field in fields(NewsSettings)} & {field.name for field in fields(self)}
        return NewsSettings(**{name: getattr(self, name) for name in mine})


@dataclass(slots=True)
class _Known:
    """A news model with ways to look URLs up in it."""

    news: NewsModel
    trie: PrefixTrie
    hubs: dict[str, Hub]

    def hub_value(self, bare: str) -> float:
        """Return the worth of a page, URL without scheme, as a hub in [0, 1]: its share of the news."""
        hub = self.hubs.get(bare)
        return 0.0 if hub is None else hub.news / self.news.news


class NewsByPrefix(WithFallback):
    """Follow links below the news prefixes of a site and to its hubs, skip the others.

    Prefixes are folders and programs that are mostly news by the browse log of the site, hubs are pages from
    which visitors went to news (`site.browse`); both are mined anew as the window of the log slides. A link
    below a prefix scores 0.5 + 0.5 x the share of news below it that is sure with 90 % confidence; one to a
    hub 0.5 + 0.5 x its share of all news; both are to FOLLOW. Others are to SKIP, 0.1. Own place: prefix,
    ``+`` and URL of a hub without its scheme, or the first three steps of the URL. On sites without log, or
    whose URLs carry no news prefix, the policy abstains: the fallback scores, without verdicts.

    Shapes: n links in, (n,) float64 out. Cost: O(characters) a link, whatever the number of prefixes.
    References: Wang, Liu, Zhang and Ma 2008, News page discovery policy for instant crawlers, AIRS.
    Differences from the paper: those of `browse_logs.news`; surer prefixes come first; hubs are
    followed wherever they are linked; the policy may abstain.

    Examples
    --------
    Clicks of 30 days: on 20 news of one day each, and on 20 pages of a wiki that are read every day:

    >>> from linkscore_scoring.browse_logs import OUTSIDE, BrowseCounts, mine_site
    >>> from linkscore_scoring.site.learning import LearningConfig, SiteBounds
    >>> news, wiki = np.arange(20), np.repeat(np.arange(20, 40), 30)
    >>> site = SiteModel("a.org", LearningConfig(), SiteBounds())
    >>> site.browse = mine_site(
    ...     BrowseCounts(
    ...         n_days=30,
    ...         urls=[f"http://a.org/{'news' if i < 20 else 'wiki'}/{i}" for i in range(40)],
    ...         click_urls=np.concatenate([news, wiki]),
    ...         click_days=np.concatenate([news % 10, np.tile(np.arange(30), 20)]),
    ...         clicks=np.concatenate([np.full(20, 40), np.full(600, 2)]),
    ...         from_urls=np.full(40, OUTSIDE),
    ...         to_urls=np.arange(40),
    ...         transits=np.array([40] * 20 + [60] * 20),
    ...     )
    ... )
    >>> policy = NewsByPrefix(NewsPrefixParams())
    >>> [(rule.pattern, round(rule.confidence, 2)) for rule in policy.rules(site)]
    [('^https?://a\\\\.org/news/', 0.95)]
    """

    name = "news_prefix"
    Params = NewsPrefixParams
    reads_templates = False
    reads_logs = True
    baseline = True

    def __init__(self, params: Any, *, seed: int = 0) -> None:
        super().__init__(params, seed=seed)
        self._cached: _Known | None = None

    def mining_settings(self) -> dict[str, Any]:
        """Return how news is mined."""
        return {"news": self.params.settings()}

    def is_ready(self, site: SiteModel) -> bool:
        """Say whether the log of the site was mined and its news lies below prefixes."""
        news = _news(site)
        return news is not None and not news.abstains

    def score_own(self, links: LinkBatch, site: SiteModel) -> Scored:
        """Score links by prefix, or as hubs."""
        known = self._known(site)
        names = [self._place(url, known) for url in links.urls]
        scores = self.value_own(names, site)
        return Scored(scores, names, [FOLLOW if score >= _FLOOR else SKIP for score in scores])

    def own_buckets(self, links: LinkBatch, site: SiteModel) -> list[str]:
        """Return the first steps of each URL: deep enough for most prefixes that may come."""
        return [_shortened(known_identity(url)) for url in links.urls]

    def value_own(self, places: Sequence[str], site: SiteModel) -> Scores:
        """Return the value of each place by the prefixes and hubs of today."""
        known = self._known(site)
        return np.array([_worth(_unmarked(place), known) for place in places], dtype=np.float64)

    def explain_own(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        """Name the prefix or the hub."""
        known = self._known(site)
        return [_reason(known_identity(url), known) for url in links.urls]

    def rules(self, site: SiteModel) -> list[UrlRule]:
        """Return the prefixes as expressions, surest first."""
        news = _news(site)
        if news is None or news.abstains:
            return []
        return sorted(
            (prefix.rule() for prefix in news.prefixes), key=lambda rule: (-rule.confidence, rule.pattern)
        )

    def suggest_seeds(self, n: int, site: SiteModel) -> list[SeedWanted]:
        """Return the hubs, in the order in which they add most news; also where prefixes tell nothing."""
        news = _news(site)
        hubs = news.hubs[:n] if news is not None else []
        return [_seed(hub, news.news) for hub in hubs if news is not None]

    def describe(self, site: SiteModel) -> str:
        """Say what was mined, or what is missing."""
        news = _news(site)
        return news.summary() if news else "abstains: no browse log of the site was mined"

    def _known(self, site: SiteModel) -> _Known:
        news = _news(site)
        if news is None:
            raise LookupError(f"{self.name}: asked for prefixes of a site without browse log")
        if self._cached is None or self._cached.news is not news:
            self._cached = _Known(news, news.trie(), {_bare(hub.url): hub for hub in news.hubs})
        return self._cached

    @staticmethod
    def _place(url: str, known: _Known) -> str:
        key = known_identity(url)
        row = known.trie.find(key)
        if row >= 0:
            return _marked(known.news.prefixes[row].text)
        bare = _bare(key)
        return _marked(f"{_HUB}{bare}") if bare in known.hubs else _shortened(key)


def _news(site: SiteModel) -> NewsModel | None:
    return mined.news if (mined := site.browse) is not None else None


def _bare(key: str) -> str:
    """Return a URL without its scheme: a page is the same hub by http and by https."""
    return key.partition("://")[2]


def _shortened(key: str) -> str:
    return _marked("".join(steps_of(key)[:_PLACE_STEPS]))


def _marked(place: str) -> str:
    """Return a place free of the character that ends places in buckets; identities have no spaces."""
    return place.replace("~", " ")


def _unmarked(place: str) -> str:
    return place.replace(" ", "~")


def _worth(place: str, known: _Known) -> float:
    """Return the score of the links of a place."""
    if place.startswith(_HUB):
        value = known.hub_value(place.removeprefix(_HUB))
        return _FLOOR + 0.5 * value if value else _ELSEWHERE
    row = known.trie.find(f"://{place}")
    return _FLOOR + 0.5 * known.news.prefixes[row].at_least if row >= 0 else _ELSEWHERE


def _reason(key: str, known: _Known) -> Explanation:
    row = known.trie.find(key)
    if row >= 0:
        return _prefix_reason(known.news.prefixes[row])
    value = known.hub_value(_bare(key))
    if value:
        term = Term("news_share", value, "share of the site's news that visitors went to from it")
        return Explanation("a hub: visitors go from it to news", [term])
    return Explanation("lies below no news prefix and is no hub", [])


def _prefix_reason(prefix: NewsPrefix) -> Explanation:
    terms = [
        Term("share", prefix.share, "share of news below the prefix"),
        Term("at_least", prefix.at_least, "what that is at least, with 90 % confidence"),
        Term("pages", prefix.pages, "pages below the prefix that the log tells about"),
    ]
    return Explanation(f"below {prefix.text}, where {prefix.share:.0%} of the pages are news", terms)


def _seed(hub: Hub, news: int) -> SeedWanted:
    reason = f"visitors went from it to {hub.news} news pages, {hub.gain} of them from no seed before"
    return SeedWanted(hub.url, reason, hub.news / news)
