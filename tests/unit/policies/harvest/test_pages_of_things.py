"""Pages that say what they are about: a shop whose products have little text beside pages of long text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from linkscore_scoring.engine.config import PolicyChoice
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.hashing import hash64
from linkscore_scoring.testing.crawl import Link, SimulatedCrawl, crawl_model
from support.trap_sites import ROOT, CalendarSite, LoginSite, SessionSite, TrapSite


class ShopSite(TrapSite):
    """Products, at the places of articles, share their text; thirty long pages in the menu link to two each.

    `said`: products say what they are. `copies`: addresses more of each product, which its page links to.
    """

    def __init__(self, *, said: bool, copies: int = 0) -> None:
        super().__init__()
        self.said, self.copies = said, copies

    def entries(self) -> list[Link]:
        return [(f"{ROOT}/about/{n}", "html/body/nav/a[menu]") for n in range(30)]

    def is_wanted(self, url: str) -> bool:
        return super().is_wanted(url) and "?" not in url

    def page(self, url: str) -> PageFeatures | None:
        product, _, _ = url.partition("?")
        if not super().is_wanted(url):
            return super().page(url)
        links = [(f"{product}?colour={n}", "html/body/form/a") for n in range(self.copies)]
        page = self._page(url, [*links, *self.entries()], [("terms of sale", 300)])
        page.thing = hash64(product) if self.said else 0
        return page

    def trap(self, url: str) -> PageFeatures | None:
        n = 2 * int(url.rpartition("/")[2])
        bought = [(self._article(each), "html/body/ul/li/a[buy]") for each in (n, n + 1)]
        return self._page(url, [*bought, *self.entries()], [(url, 2_000)])


class NamedMaze(TrapSite):
    """A maze each of whose pages says that it is about what its address says, but for the query."""

    def __init__(self, maze: TrapSite) -> None:
        super().__init__(chained=maze.chained)
        self._maze = maze

    def entries(self) -> list[Link]:
        return self._maze.entries()

    def trap(self, url: str) -> PageFeatures | None:
        page = self._maze.trap(url)
        return replace(page, thing=hash64(url.partition("?")[0])) if page is not None else None


def found(site: TrapSite, policy: str = "harvest", fetches: int = 30) -> float:
    crawl = SimulatedCrawl(crawl_model(PolicyChoice(policy)), site, seeds=[site.home])
    return crawl.fetch(fetches).wanted_share()


def test_products_that_say_what_they_are_come_before_long_pages() -> None:
    assert found(ShopSite(said=True)) > 0.5 > 10 * found(ShopSite(said=False))


@pytest.mark.parametrize("copies", [1, 4, 20])
def test_one_thing_under_many_addresses_counts_once(copies: int) -> None:
    site = ShopSite(said=True, copies=copies)
    assert found(site, fetches=60) >= found(site, "breadth_first", 60)


@pytest.mark.parametrize("maze", [CalendarSite, LoginSite, SessionSite])
@pytest.mark.parametrize("chained", [False, True])
def test_a_maze_of_one_name_under_many_addresses_is_left(maze: type[TrapSite], chained: bool) -> None:
    site = NamedMaze(maze(chained=chained))
    assert found(site, fetches=60) >= max(0.3, found(site, "breadth_first", 60))
