"""Small sites with a trap in each: articles worth reading, and something that never ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import count
from typing import ClassVar

from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.testing.pages import Link, page_of

ROOT = "http://trap.example"
_ARTICLES = 60
_FOOTER = ("footer", 60)


class TrapSite(ABC):
    """Sixty articles on six lists, and a part that `trap` draws; every page has the same footer."""

    home = f"{ROOT}/"
    example = f"{ROOT}/article/0"

    def is_wanted(self, url: str) -> bool:
        return "/article/" in url

    def page(self, url: str) -> PageFeatures | None:
        path = url.removeprefix(ROOT)
        if path == "/":
            lists = [(f"{ROOT}/list/{n}", "html/body/ul/li/a[list]") for n in range(6)]
            return self._page(url, [*lists, *self.entries()], [])
        if path.startswith("/list/"):
            n = int(path.rpartition("/")[2])
            articles = [(self._article(n * 10 + i), "html/body/ol/li/a[title]") for i in range(10)]
            return self._page(url, [*articles, *self.entries()], [])
        if path.startswith("/article/"):
            n = int(path.rpartition("/")[2])
            near = [(self._article((n + 7) % _ARTICLES), "html/body/aside/a[related]")]
            return self._page(url, [*near, *self.entries()], [(f"article {n}.{i}", 300) for i in range(2)])
        return self.trap(url)

    @abstractmethod
    def entries(self) -> list[Link]:
        """Return the links into the trap that stand on every page."""

    @abstractmethod
    def trap(self, url: str) -> PageFeatures | None:
        """Return a page of the trap."""

    def _article(self, n: int) -> str:
        return f"{ROOT}/article/{n}"

    def _page(self, url: str, links: list[Link], texts: list[tuple[str, int]]) -> PageFeatures:
        leaves = ["html/body/p/text()"] * (len(texts) + 1)
        return page_of(url, leaves, links=[(self.home, "html/body/nav/a"), *links], texts=[*texts, _FOOTER])


class CalendarSite(TrapSite):
    """Months link to the next and to the one before, for ever."""

    def entries(self) -> list[Link]:
        return [(f"{ROOT}/calendar?month=5&year=2026", "html/body/nav/a[calendar]")]

    def trap(self, url: str) -> PageFeatures | None:
        month, year = (int(pair.partition("=")[2]) for pair in url.partition("?")[2].split("&"))
        at = 12 * year + month - 1
        steps = [
            (f"{ROOT}/calendar?month={m % 12 + 1}&year={m // 12}", c)
            for m, c in ((at + 1, "html/body/table/a[next]"), (at - 1, "html/body/table/a[prev]"))
        ]
        return self._page(url, steps, [])


class FacetSite(TrapSite):
    """A shop list with five colours, four sizes, two brands and three orders, in every combination."""

    values: ClassVar = {
        "brand": "acme zenith",
        "colour": "red green blue black white",
        "size": "s m l xl",
        "sort": "price name new",
    }

    def entries(self) -> list[Link]:
        return [(f"{ROOT}/shop?sort=price", "html/body/nav/a[shop]")]

    def trap(self, url: str) -> PageFeatures | None:
        chosen = dict(pair.split("=") for pair in url.partition("?")[2].split("&"))
        links = []
        for name, values in self.values.items():
            for value in values.split():
                query = "&".join(f"{k}={v}" for k, v in sorted({**chosen, name: value}.items()))
                links.append((f"{ROOT}/shop?{query}", f"html/body/form/a[{name}]"))
        goods = [(f"{ROOT}/item/{n}", "html/body/ol/li/a[item]") for n in range(8)]
        return self._page(url, [*goods, *links], [(f"teaser {n}", 80) for n in range(8)])

    def page(self, url: str) -> PageFeatures | None:
        if "/item/" in url:
            return self._page(url, [], [(f"item {url}", 500)])
        return super().page(url)


class SessionSite(TrapSite):
    """Every page gives its links to ten pages of help a new session id."""

    def __init__(self) -> None:
        self._sessions = count(1)

    def entries(self) -> list[Link]:
        session = f"{next(self._sessions) * 2654435761 % 2**32:08x}"
        return [(f"{ROOT}/help/{n}?sid={session}", "html/body/nav/a[help]") for n in range(10)]

    def trap(self, url: str) -> PageFeatures | None:
        topic = url.partition("?")[0]
        return self._page(url, self.entries(), [(f"help {topic}", 700)])
