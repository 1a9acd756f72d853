"""How much news hubs link to, beside as many list pages of the site's own menu."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from linkscore_lab.datasets.labels import read_page_types
from linkscore_lab.datasets.site import identity, identity_or_none
from linkscore_lab.datasets.survey import read_page
from linkscore_lab.datasets.warc_site import WarcSite
from linkscore_research.news.filters import NewsTruth
from linkscore_scoring.browse_logs.counts import BrowseCounts
from linkscore_scoring.browse_logs.news.mining import mine_news
from linkscore_scoring.browse_logs.news.settings import NewsSettings

# Numbers of seeds compared. Chosen, not measured.
SIZES = (1, 3, 5, 10)
# Sets drawn from the menu for a mean. Chosen, not measured.
_DRAWS = 200
_LIST = "INDEX"


@dataclass(frozen=True, slots=True)
class HubFigures:
    """Distinct news pages that sets of `n` pages link to.

    Attributes
    ----------
    split
        ``window``: mined and judged on the same days; ``time``: judged on the days after those mined.
    menu_first, menu_drawn
        First `n` list pages of the menu, and the mean of `n` drawn from it.
    hubs, by_count
        Seeds of the policy, and those by number of news pages alone, as the paper.
    all_news
        News pages that any page links to.
    """

    split: str
    n: int
    menu_first: int
    menu_drawn: float
    hubs: int
    by_count: int
    all_news: int


def menu_of(warc: Path, labels: Path, page_types: Path, site: str) -> list[str]:
    """Return the menu of a stored site: pages of kind INDEX that its entry page links to, in its order.

    The entry page itself is left out.
    """
    stored = WarcSite(warc, labels)
    kinds = {kind.name: kind.kind for kind in read_page_types(page_types).get(site, [])}
    facts = read_page(stored.entry, stored.respond(stored.entry).body)
    stored_types = stored.labels()
    keys = dict.fromkeys(identity_or_none(link) for link in facts.links)
    entry = identity(stored.entry)
    stored.close()
    return [key for key in keys if key and key != entry and kinds.get(stored_types.get(key, "")) == _LIST]


def hub_figures(
    counts: BrowseCounts, early: BrowseCounts, late: BrowseCounts, menu: Sequence[str], truth: NewsTruth
) -> Iterator[HubFigures]:
    """Yield figures for each number of seeds: on the whole window, and mined early and judged late.

    Links are those visitors took. News are the pages labelled by the judge: labels hubs are not mined with.
    """
    for split, mined, judged in (("window", counts, counts), ("time", early, late)):
        links = _news_links(judged, truth.judge)
        fitted = mine_news(mined, NewsSettings(), truth.fit)
        counted = mine_news(mined, replace(NewsSettings(), weighed=False), truth.fit)
        orders = [[hub.url for hub in model.hubs] for model in (fitted, counted)]
        for n in SIZES:
            first, hubs, by_count = (_linked(order[:n], links) for order in (menu, *orders))
            drawn = _drawn(menu, n, links)
            yield HubFigures(split, n, first, drawn, hubs, by_count, len(set().union(*links.values())))


def _news_links(counts: BrowseCounts, judge: Mapping[str, bool]) -> dict[str, set[str]]:
    links: dict[str, set[str]] = {}
    for a, b in zip(counts.from_urls.tolist(), counts.to_urls.tolist(), strict=True):
        if a >= 0 and a != b and judge.get(counts.urls[b]):
            links.setdefault(counts.urls[a], set()).add(counts.urls[b])
    return links


def _linked(pages: Collection[str], links: Mapping[str, set[str]]) -> int:
    return len(set().union(*(links.get(page, set()) for page in pages)))


def _drawn(menu: Sequence[str], n: int, links: Mapping[str, set[str]]) -> float:
    rng = np.random.default_rng(0)
    draws = (rng.permutation(len(menu))[:n] for _ in range(_DRAWS))
    return float(np.mean([_linked([menu[i] for i in draw], links) for draw in draws]))
