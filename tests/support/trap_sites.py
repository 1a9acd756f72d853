"""Small sites with a trap in each: articles worth reading, and something that never ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from random import Random
from typing import ClassVar

from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.testing.crawl import Link, page_of

ROOT = "http://trap.example"
_ARTICLES = 60
_FOOTER = ("footer", 60)


class TrapSite(ABC):
    """Sixty articles on six lists, and a part that `trap` draws; every page has the same footer.

    `chained`: home shows the first list alone, and each list the next one. `place`: where all links stand
    but those of the menu, which come first then.
    """

    place = ""
    home = f"{ROOT}/"
    example = f"{ROOT}/article/0"

    def __init__(self, *, chained: bool = False) -> None:
        self.chained = chained

    def is_wanted(self, url: str) -> bool:
        return "/article/" in url

    def page(self, url: str) -> PageFeatures | None:
        path = url.removeprefix(ROOT)
        if path == "/":
            lists = [(f"{ROOT}/list/{n}", "html/body/ul/li/a[list]") for n in range(6)]
            return self._page(url, [*lists[: 1 if self.chained else 6], *self.entries()], [])
        if path.startswith("/list/"):
            n = int(path.rpartition("/")[2])
            articles = [(self._article(n * 10 + i), "html/body/ol/li/a[title]") for i in range(10)]
            more = [(f"{ROOT}/list/{n + 1}", "html/body/a[next]")] if self.chained and n < 5 else []
            return self._page(url, [*articles, *more, *self.entries()], [])
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
        if self.place:
            links = [(to, path if "/nav/" in path else self.place) for to, path in links]
            links.sort(key=lambda link: link[1] == self.place)
        return page_of(url, leaves, links=[(self.home, "html/body/nav/a"), *links], texts=[*texts, _FOOTER])


class CalendarSite(TrapSite):
    """Months link to the next and to the one before, for ever, and may say which they are.

    `told`: how long that is; `longer`: by how much at most it is longer in other months. `shown`: months
    that every page links to.
    """

    def __init__(self, *, chained: bool = False, told: int = 0, longer: int = 1, shown: int = 1) -> None:
        super().__init__(chained=chained)
        self.told, self.longer, self.shown = told, longer, shown

    def entries(self) -> list[Link]:
        months = range(5, 5 + self.shown)
        return [(f"{ROOT}/calendar?month={month}&year=2026", "html/body/nav/a[calendar]") for month in months]

    def trap(self, url: str) -> PageFeatures | None:
        month, year = (int(pair.partition("=")[2]) for pair in url.partition("?")[2].split("&"))
        at = 12 * year + month - 1
        steps = [
            (f"{ROOT}/calendar?month={m % 12 + 1}&year={m // 12}", c)
            for m, c in ((at + 1, "html/body/table/a[next]"), (at - 1, "html/body/table/a[prev]"))
        ]
        said = (f"no events in {month} {year}", self.told + Random(at).randrange(self.longer))
        return self._page(url, steps, [said] if self.told else [])


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

    def __init__(self, *, chained: bool = False) -> None:
        super().__init__(chained=chained)
        self._sessions = count(1)

    def entries(self) -> list[Link]:
        session = f"{next(self._sessions) * 2654435761 % 2**32:08x}"
        return [(f"{ROOT}/help/{n}?sid={session}", "html/body/nav/a[help]") for n in range(10)]

    def trap(self, url: str) -> PageFeatures | None:
        topic = url.partition("?")[0]
        return self._page(url, self.entries(), [(f"help {topic}", 700)])


class SoftNotFoundSite(TrapSite):
    """Pages that are not there are answered with 200 and a sentence, and suggest others that are not there.

    `echoes`: how often the sentence says the address. `told`: length of a number of the request in it;
    its links then stand where those to lists do. `names`: shapes of its addresses; of several the sentence is
    all it says.
    """

    ways = 5

    def __init__(
        self, *, chained: bool = False, echoes: int = 0, told: int = 0, names: Sequence[str] = ("missing",)
    ) -> None:
        super().__init__(chained=chained)
        self.echoes, self.told, self.names = echoes, told, names

    def entries(self) -> list[Link]:
        place = "html/body/ul/li/a[list]" if self.told else "html/body/nav/a[old]"
        return [(f"{ROOT}/missing/{n}", place) for n in range(2)]

    def trap(self, url: str) -> PageFeatures | None:
        drawn = Random(url)
        place = "html/body/ul/li/a[list]" if self.told else "html/body/p/a"
        numbers = [drawn.randrange(9_999) for _ in range(self.ways)]
        found = [(f"{ROOT}/{self.names[n % len(self.names)]}/{n}", place) for n in numbers]
        said = f"{url} was not found" if self.echoes or self.told else "was not found"
        if len(self.names) > 1:
            return page_of(url, ["html/body/p/text()"], links=found, texts=[(said, 60)])
        return self._page(url, found, [(said, 60 + self.echoes * len(url) + drawn.randrange(self.told + 1))])


class GrowingSite(TrapSite):
    """Addresses grow by a name with each link, as relative links make them; all pages say the same."""

    def entries(self) -> list[Link]:
        return [(f"{ROOT}/{language}/", "html/body/nav/a[language]") for language in ("de", "fr", "es")]

    def trap(self, url: str) -> PageFeatures | None:
        names = [Random(f"{url}{n}").choice("abcdefghijklmnopqrstuvwxyz") * 3 for n in range(5)]
        further = [(f"{url}{name}/", "html/body/p/a") for name in names]
        return self._page(url, further, [("welcome to our pages", 600)])


class VersionsSite(TrapSite):
    """A wiki: each article with its former versions, as long as itself, which searches are not to list."""

    def entries(self) -> list[Link]:
        return [(f"{ROOT}/version/{n}/1", "html/body/nav/a[change]") for n in range(10)]

    def trap(self, url: str) -> PageFeatures | None:
        others = [(f"{url}{n}", "html/body/ul/li/a") for n in (1, 2)]
        return replace(self._page(url, others, [(f"{url} {i}", 300) for i in range(3)]), noindex=True)


class LoginSite(TrapSite):
    """Forms to log in and to register, with an address for each page one comes from."""

    doors = "login", "register"

    def trap(self, url: str) -> PageFeatures | None:
        doors = [(f"{ROOT}/{door}?return={n}", "html/body/form/a") for n in range(40) for door in self.doors]
        return self._page(url, doors, [(f"please say who you are: {url.partition('?')[0]}", 80)])

    def entries(self) -> list[Link]:
        return [(f"{ROOT}/login?return={n}", "html/body/nav/a[login]") for n in range(40)]
