"""Policies that go by the browse logs of a site: `news_prefix` (Wang 2008), `behavior_fetch` and
`behavior_discovery` (Liu 2011).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from itertools import compress
from typing import ClassVar

import numpy as np

from linkscore_scoring.browse_logs.behavior import UNKNOWN_PAGE, BehaviorModel, Place
from linkscore_scoring.browse_logs.news import NewsModel, steps_of
from linkscore_scoring.columns import left_sum, squash
from linkscore_scoring.policies.base import FOLLOW, SKIP, Explanation, Scored, Scores, Term
from linkscore_scoring.policies.with_fallback import FallbackParams, WithFallback
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.state import Stored
from linkscore_scoring.types import LinkBatch, PageObservation, SeedWanted, UrlRule
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
    >>> policy = NewsByPrefix(FallbackParams())
    >>> [(rule.pattern, round(rule.confidence, 2)) for rule in policy.rules(site)]
    [('^https?://a\\\\.org/news/', 0.95)]
    """

    name = "news_prefix"
    Params = FallbackParams
    reads_templates = False
    reads_logs = True
    baseline = True

    def is_ready(self, site: SiteModel) -> bool:
        """Say whether the log of the site was mined and its news lies below prefixes."""
        news = _news(site)
        return news is not None and not news.reason

    def score_own(self, links: LinkBatch, site: SiteModel) -> Scored:
        """Score links by prefix, or as hubs."""
        news, places = _known(site), []
        for key in map(known_identity, links.urls):
            prefix, bare = news.below(key), _bare(key)
            hub = f"{_HUB}{bare}" if bare in news.hub_of else "".join(steps_of(key)[:_PLACE_STEPS])
            places.append(_marked(prefix.text if prefix else hub))
        scores = self.value_own(places, site)
        return Scored(scores, places, [FOLLOW if score >= _FLOOR else SKIP for score in scores])

    def own_buckets(self, links: LinkBatch, site: SiteModel) -> list[str]:
        """Return the first steps of each URL: deep enough for most prefixes that may come."""
        return [_marked("".join(steps_of(known_identity(url))[:_PLACE_STEPS])) for url in links.urls]

    def value_own(self, places: Sequence[str], site: SiteModel) -> Scores:
        """Return the value of each place by the prefixes and hubs of today."""
        news, values = _known(site), []
        for place in (place.replace(" ", "~") for place in places):
            if place.startswith(_HUB):
                hub = news.hub_of.get(place[1:])
                values.append(_FLOOR + 0.5 * hub.news / news.news if hub else _ELSEWHERE)
            else:
                prefix = news.below(f"://{place}")
                values.append(_FLOOR + 0.5 * prefix.at_least if prefix else _ELSEWHERE)
        return np.array(values, dtype=np.float64)

    def explain_own(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        """Name the prefix or the hub."""
        news, found = _known(site), []
        for key in map(known_identity, links.urls):
            if prefix := news.below(key):
                terms = [
                    Term("share", prefix.share, "share of news below the prefix"),
                    Term("at_least", prefix.at_least, "what that is at least, with 90 % confidence"),
                    Term("pages", prefix.pages, "pages below the prefix that the log tells about"),
                ]
                why = f"below {prefix.text}, where {prefix.share:.0%} of the pages are news"
                found.append(Explanation(why, terms))
            elif hub := news.hub_of.get(_bare(key)):
                meaning = "share of the site's news that visitors went to from it"
                term = Term("news_share", hub.news / news.news, meaning)
                found.append(Explanation("a hub: visitors go from it to news", [term]))
            else:
                found.append(Explanation("lies below no news prefix and is no hub", []))
        return found

    def rules(self, site: SiteModel) -> list[UrlRule]:
        """Return the prefixes as expressions, surest first."""
        news = _news(site)
        if news is None or not self.is_ready(site):
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


def _known(site: SiteModel) -> NewsModel:
    """Return the news of a site that is ready."""
    news = _news(site)
    assert news is not None
    return news


def _news(site: SiteModel) -> NewsModel | None:
    return mined.news if (mined := site.browse) is not None else None


def _bare(key: str) -> str:
    return key.partition("://")[2]


def _marked(place: str) -> str:
    """Return a place free of the character that ends places in buckets; identities have no spaces."""
    return place.replace("~", " ")


_STEPS = 2
"""Steps of an octave: worths within half an octave share a place, and so a queue. Chosen, not measured."""

_MOST_STEPS = 60
"""A bound: steps away from the mean of the pattern, 30 octaves, so that places have at most two digits."""

_LEAST = 1e-9
"""A bound: visits a day that count as none, so that logarithms exist."""


_PRIOR_PAGES = 1.0
"""Pages that keep their promise, added to those of a pattern: one page must not move it far. Chosen, not
measured."""


class BehaviorOrder(WithFallback):
    """Score links by visits a day, expected of the URL itself or of its pattern.

    Own bucket: 16 digits that name the pattern, and steps away from the mean of its pages.
    """

    Params = FallbackParams
    reads_logs = True
    measure: ClassVar[
        str
    ]  # method of the model that tells a URL's worth, and field of `PatternStats`: the mean

    def worth(self, place: Place, model: BehaviorModel) -> float:
        """Return the visits a day that a URL is worth."""
        return float(getattr(model, self.measure)(place))

    @abstractmethod
    def meaning(self, place: Place, model: BehaviorModel) -> str:
        """Say in words what the worth of a URL comes from."""

    def is_ready(self, site: SiteModel) -> bool:
        """Say whether a browse log of the site was mined."""
        return _model_of(site) is not None

    def score_own(self, links: LinkBatch, site: SiteModel) -> Scored:
        """Score by the value of each link's place."""
        places = self.own_buckets(links, site)
        return Scored(self.value_own(places, site), places)

    def own_buckets(self, links: LinkBatch, site: SiteModel) -> list[str]:
        """Return pattern and step of each link; empty without a log."""
        model = _model_of(site)
        if model is None:
            return [""] * len(links)
        names, means = model.names, getattr(model.stats, self.measure)
        buckets = []
        for place in model.places(links.urls, links.keys):
            share = max(self.worth(place, model), _LEAST) / max(means[place.node], _LEAST)
            step = max(-_MOST_STEPS, min(_MOST_STEPS, round(_STEPS * math.log2(share))))
            buckets.append(f"{names[place.node]}{step:+d}")
        return buckets

    def value_own(self, places: Sequence[str], site: SiteModel) -> Scores:
        """Return the value of places, (n_places,)."""
        model = _model_of(site)
        assert model is not None
        values = {place: self._value(place, model) for place in dict.fromkeys(places)}
        return np.array([values[place] for place in places], dtype=np.float64)

    def explain_own(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        """Name the pattern of each link and what it is worth."""
        model = _model_of(site)
        assert model is not None
        return [self._explained(place, model) for place in model.places(links.urls, links.keys)]

    def describe(self, site: SiteModel) -> str:
        """Say how many patterns it goes by, or that there is no log."""
        model = _model_of(site)
        if model is None:
            return "no browse log of this site was mined"
        pages = int(model.stats.sizes[0])
        return f"{len(model.nodes)} URL patterns of {pages:,} pages, by {model.n_days} days of browse log"

    def moved(self, pattern: str) -> float:
        """Return the factor by which what was seen on the site moves the worth of a pattern."""
        return 1.0

    def _value(self, place: str, model: BehaviorModel) -> float:
        nodes, name, step = model.node_of, place[:16], place[16:]
        known = name in nodes and step[1:].isascii() and step[1:].isdecimal() and len(step) <= 3
        mean = max(getattr(model.stats, self.measure)[nodes[name] if known else 0], _LEAST)
        return squash(mean * 2.0 ** (int(step) / _STEPS) * self.moved(name) if known else mean)

    def _explained(self, place: Place, model: BehaviorModel) -> Explanation:
        stats, text = model.stats, model.texts[place.node] or "any URL"
        moved = self.moved(model.names[place.node])
        terms = [
            Term("worth", self.worth(place, model), self.meaning(place, model)),
            Term("pages", float(stats.sizes[place.node]), f"pages like {text} in the log"),
            Term("visits", float(stats.visits[place.node]), "visits of these"),
            Term("moved", moved, "factor by what the crawl found behind such links"),
        ]
        return Explanation(f"like {text}: {terms[0].value:.2g} {terms[0].description}", terms)


class BehaviorFetch(BehaviorOrder):
    """Order links by the visits a day that their pages will have, as the browse log of the site tells.

    Choose it to fetch what people look at with as few fetches as possible, on sites with browse logs. A page
    of the log is worth its recent visits; another one what newcomers of its URL pattern had. Without a log of
    the site the fallback scores.

    Shapes: n links in, (n,) float64 out. Cost: O(keys of the URL) a link, some 40 us. References: Liu, Cai,
    Zhang and Zhang 2011, User browsing behavior-driven web crawling, CIKM, sections 3 and 4. Differences from
    the paper, whose order of patterns is measured in research: URLs have evidence of their own beside that of
    their pattern, and recent visits count more.

    Examples
    --------
    Visits of a day: 5 to the front page, 9 to the list of what is new, 8 from there to a thread, 1 to a
    profile:

    >>> import numpy as np
    >>> from linkscore_scoring.browse_logs import OUTSIDE, BrowseCounts, mine_site
    >>> from linkscore_scoring.hashing import hash64
    >>> from linkscore_scoring.site.learning import LearningConfig, SiteBounds
    >>> from linkscore_scoring.site.model import SiteModel
    >>> from linkscore_scoring.types import LinkBatch
    >>> urls = ["http://a.org/", "http://a.org/new", "http://a.org/thread/7", "http://a.org/user/3"]
    >>> site = SiteModel("a.org", LearningConfig(), SiteBounds())
    >>> site.browse = mine_site(
    ...     BrowseCounts(
    ...         n_days=1,
    ...         urls=urls,
    ...         click_urls=np.arange(4),
    ...         click_days=np.zeros(4, dtype=int),
    ...         clicks=np.array([5, 9, 8, 1]),
    ...         from_urls=np.array([OUTSIDE, OUTSIDE, 1, 2]),
    ...         to_urls=np.arange(4),
    ...         transits=np.array([5, 9, 8, 1]),
    ...     )
    ... )
    >>> links = LinkBatch(urls, list(map(hash64, urls)), [1] * 4, [0] * 4, [1] * 4, [0] * 4, [""] * 4)
    >>> BehaviorFetch(FallbackParams()).score(links, site).scores.round(2).tolist()
    [0.79, 0.87, 0.85, 0.5]

    `behavior_discovery` goes to the list first, where people find most:

    >>> BehaviorDiscovery(FallbackParams()).score(links, site).scores.round(2).tolist()
    [0.03, 0.85, 0.42, 0.03]
    """

    name = "behavior_fetch"
    measure = "demand"

    def meaning(self, place: Place, model: BehaviorModel) -> str:
        """Say where the expectation comes from."""
        if place.page != UNKNOWN_PAGE and model.pages.demand[place.page] > 0.0:
            return "visits a day of the page itself, recent days first"
        return "visits a day expected of a page that the log does not have"


class BehaviorDiscovery(BehaviorOrder):
    """Order links by what visiting their pages discovers, in visits a day, as the browse log tells.

    Choose it to find new pages early with few visits, on sites with browse logs: it goes to the lists from
    which people reach pages that nothing else shows. While it crawls it learns how much pages of each pattern
    show that was not found before, and moves the pattern's worth. Without a log of the site the fallback
    scores.

    Shapes: n links in, (n,) float64 out. Cost: O(keys of the URL) a link.
    References: Liu, Cai, Zhang and Zhang 2011, User browsing behavior-driven web crawling, CIKM, section 4.
    Differences from the paper, whose order of patterns is measured in research: patterns are taken greedily
    by what they show that better ones do not, pages of the log have evidence of their own, and the order
    moves with what is found: without that, wanted pages of a blog's links fall from .516 to .381 (measured).
    """

    name = "behavior_discovery"
    measure = "gain"

    shown: Stored[dict[str, tuple[float, float, int]]]
    """Of pages fetched, by pattern: demand that it promised, demand they showed first, and how many."""

    def moved(self, pattern: str) -> float:
        """Return found over expected, one page that keeps its promise added to both; 1 without a page."""
        expected, found, pages = self.shown.get(pattern, (0.0, 0.0, 0))
        prior = _PRIOR_PAGES * expected / max(pages, 1)
        return (found + prior) / (expected + prior) if expected > 0.0 else 1.0

    def observe(self, page: PageObservation, site: SiteModel) -> None:
        """Compare what a page showed with what was expected."""
        super().observe(page, site)
        model = _model_of(site)
        if model is None or page.failed or page.refetch:
            return
        place, links = model.place(page.url, page.key), page.links
        fresh = dict(zip(compress(links.keys, page.fresh), compress(links.urls, page.fresh), strict=True))
        name = model.names[place.node]
        expected, found, pages = self.shown.get(name, (0.0, 0.0, 0))
        found += left_sum(
            float(model.stats.newcomer[p.node]) for p in model.places(list(fresh.values()), list(fresh))
        )
        self.shown[name] = expected + self.worth(place, model), found, pages + 1

    def logs_mined(self, site: SiteModel) -> None:
        """Forget what patterns showed that are no more."""
        super().logs_mined(site)
        if (model := _model_of(site)) is not None:
            self.shown = {name: self.shown[name] for name in model.names if name in self.shown}

    def meaning(self, place: Place, model: BehaviorModel) -> str:
        """Say what the gain is."""
        return "visits a day of pages that people reach from it and better ones do not show"


def _model_of(site: SiteModel) -> BehaviorModel | None:
    return mined.behavior if (mined := site.browse) is not None else None
