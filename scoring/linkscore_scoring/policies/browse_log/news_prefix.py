"""News by URL prefix: what the clicks of visitors say about folders and programs (Wang 2008)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkscore_scoring.browse_logs.news import Hub, NewsModel, NewsPrefix, NewsSettings, prefix_of, steps_of
from linkscore_scoring.errors import FieldProblem
from linkscore_scoring.policies.base import FOLLOW, SKIP, Explanation, Scored, Scores, Term, outside
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

    threshold: float = 0.0  # signal above which a page is news, [0, 100]; 0: fitted on labelled pages, else 0
    min_daily_clicks: float = 1.0  # least mean of daily clicks of a page that is looked at, [0, 1e6]
    theta: float = 0.8  # share of news above which a prefix is one, [0, 1]

    @property
    def news(self) -> NewsSettings:
        """How news is mined."""
        return NewsSettings(
            threshold=self.threshold, min_daily_clicks=self.min_daily_clicks, theta=self.theta
        )

    def problems(self) -> Iterator[FieldProblem]:
        """Yield a problem for each field out of range."""
        yield from FallbackParams.problems(self)
        yield from outside("threshold", self.threshold, 0.0, 100.0)
        yield from outside("min_daily_clicks", self.min_daily_clicks, 0.0, 1e6)
        yield from outside("theta", self.theta, 0.0, 1.0)


class _Known:
    """A news model, to look URLs up in."""

    def __init__(self, news: NewsModel) -> None:
        self.news = news
        self._prefixes = {prefix.text: prefix for prefix in news.prefixes}
        self._hubs = {_bare(hub.url): hub for hub in news.hubs}

    def below(self, url: str) -> NewsPrefix | None:
        """Return the prefix that a URL lies below."""
        return self._prefixes.get(prefix_of(url, self._prefixes))

    def hub(self, bare: str) -> Hub | None:
        """Return the hub of a URL without its scheme: a page is the same hub by http and by https."""
        return self._hubs.get(bare)

    def worth(self, found: NewsPrefix | Hub | None) -> float:
        """Return the score of links below a prefix, to a hub, or elsewhere."""
        if found is None:
            return _ELSEWHERE
        sure = found.at_least if isinstance(found, NewsPrefix) else found.news / self.news.news
        return _FLOOR + 0.5 * sure


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

    def is_ready(self, site: SiteModel) -> bool:
        """Say whether the log of the site was mined and its news lies below prefixes."""
        news = _news(site)
        return news is not None and not news.abstains

    def score_own(self, links: LinkBatch, site: SiteModel) -> Scored:
        """Score links by prefix, or as hubs."""
        known, places = self._known(site), []
        for key in map(known_identity, links.urls):
            prefix, bare = known.below(key), _bare(key)
            hub = f"{_HUB}{bare}" if known.hub(bare) else "".join(steps_of(key)[:_PLACE_STEPS])
            places.append(_marked(prefix.text if prefix else hub))
        scores = self.value_own(places, site)
        return Scored(scores, places, [FOLLOW if score >= _FLOOR else SKIP for score in scores])

    def own_buckets(self, links: LinkBatch, site: SiteModel) -> list[str]:
        """Return the first steps of each URL: deep enough for most prefixes that may come."""
        return [_marked("".join(steps_of(known_identity(url))[:_PLACE_STEPS])) for url in links.urls]

    def value_own(self, places: Sequence[str], site: SiteModel) -> Scores:
        """Return the value of each place by the prefixes and hubs of today."""
        known, values = self._known(site), []
        for place in (place.replace(" ", "~") for place in places):
            is_hub = place.startswith(_HUB)
            values.append(known.worth(known.hub(place[1:]) if is_hub else known.below(f"://{place}")))
        return np.array(values, dtype=np.float64)

    def explain_own(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        """Name the prefix or the hub."""
        known, found = self._known(site), []
        for key in map(known_identity, links.urls):
            if prefix := known.below(key):
                terms = [
                    Term("share", prefix.share, "share of news below the prefix"),
                    Term("at_least", prefix.at_least, "what that is at least, with 90 % confidence"),
                    Term("pages", prefix.pages, "pages below the prefix that the log tells about"),
                ]
                why = f"below {prefix.text}, where {prefix.share:.0%} of the pages are news"
                found.append(Explanation(why, terms))
            elif hub := known.hub(_bare(key)):
                meaning = "share of the site's news that visitors went to from it"
                term = Term("news_share", hub.news / known.news.news, meaning)
                found.append(Explanation("a hub: visitors go from it to news", [term]))
            else:
                found.append(Explanation("lies below no news prefix and is no hub", []))
        return found

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
        news, seeds = _news(site), list[SeedWanted]()
        if news is None:
            return seeds
        for hub in news.hubs[:n]:
            reason = f"visitors went from it to {hub.news} news pages, {hub.gain} of them from no seed before"
            seeds.append(SeedWanted(hub.url, reason, hub.news / news.news))
        return seeds

    def describe(self, site: SiteModel) -> str:
        """Say what was mined, or what is missing."""
        news = _news(site)
        return news.summary() if news else "abstains: no browse log of the site was mined"

    def _known(self, site: SiteModel) -> _Known:
        news = _news(site)
        if news is None:
            raise LookupError(f"{self.name}: asked for prefixes of a site without browse log")
        if self._cached is None or self._cached.news is not news:
            self._cached = _Known(news)
        return self._cached


def _news(site: SiteModel) -> NewsModel | None:
    return mined.news if (mined := site.browse) is not None else None


def _bare(key: str) -> str:
    return key.partition("://")[2]


def _marked(place: str) -> str:
    """Return a place free of the character that ends places in buckets; identities have no spaces."""
    return place.replace("~", " ")
