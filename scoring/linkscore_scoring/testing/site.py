"""A small site drawn from a seed: lists, posts, members, and copies of posts and lists that add nothing."""

from __future__ import annotations

import numpy as np

from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.testing.pages import Link, page_of

_ROOT = "http://site.example"
_PER_LIST = 10  # posts on a page of the list, as forums have; chosen, not measured


class GeneratedSite:
    """A message board of `lists` lists with ten posts each.

    The wanted pages are the posts: each has three texts of its own. Half as many members have pages without
    text; every post has a printable copy, every list two sort orders. So about three pages in ten are wanted.

    The seed decides lengths, members and how the posts are varied.
    """

    def __init__(self, seed: int, *, lists: int = 24) -> None:
        rng = np.random.default_rng(seed)
        self.lists = lists
        self.posts = lists * _PER_LIST
        self.members = self.posts // 2
        self._author = rng.integers(self.members, size=self.posts)
        self._chars = rng.integers(150, 600, size=(self.posts, 3))
        self._images = rng.integers(0, 4, size=self.posts)
        self._replies = rng.integers(1, 6, size=self.posts)

    @property
    def home(self) -> str:
        """URL to start from."""
        return f"{_ROOT}/"

    @property
    def example(self) -> str:
        """URL of a wanted page."""
        return self._post(0)

    def is_wanted(self, url: str) -> bool:
        """Say whether a URL is one of the wanted pages."""
        return "/post/" in url

    def page(self, url: str) -> PageFeatures | None:
        """Return the features of a page, None if there is no such page."""
        kind, _, rest = url.removeprefix(f"{_ROOT}/").partition("/")
        if not kind:
            return self._home_page()
        if kind == "list":
            return self._list_page(url, int(rest.partition("-")[0]))
        if kind == "member":
            return self._member_page(int(rest))
        n = int(rest)
        return self._post_page(n) if kind == "post" else self._print_page(n)

    def _post(self, n: int) -> str:
        return f"{_ROOT}/post/{n}"

    def _navigation(self) -> list[Link]:
        return [(self.home, "html/body/nav/a[home]"), (f"{_ROOT}/list/0", "html/body/nav/a[lists]")]

    def _home_page(self) -> PageFeatures:
        lists = [(f"{_ROOT}/list/{n}", "html/body/main/ul/li/a[list]") for n in range(0, self.lists, 4)]
        return page_of(self.home, ["html/body/h1/text()"], links=[*self._navigation(), *lists])

    def _list_page(self, url: str, n: int) -> PageFeatures:
        links = self._navigation()
        for post in range(n * _PER_LIST, (n + 1) * _PER_LIST):
            links += [
                (self._post(post), "html/body/main/ol/li/a[title]"),
                (self._member(post), "html/body/main/ol/li/span/a[member]"),
            ]
        links += [(f"{_ROOT}/list/{n}-{order}", "html/body/main/p/a[sort]") for order in ("new", "old")]
        if n + 1 < self.lists:
            links.append((f"{_ROOT}/list/{n + 1}", "html/body/main/div/a[next]"))
        return page_of(url, ["html/body/main/ol/li/em/text()"] * _PER_LIST, links=links)

    def _post_page(self, n: int) -> PageFeatures:
        leaves = [
            *["html/body/article/p/text()"] * 3,
            *["html/body/article/figure/img"] * int(self._images[n]),
            *["html/body/article/div[reply]/text()"] * int(self._replies[n]),
        ]
        links = [
            *self._navigation(),
            (self._member(n), "html/body/article/header/a[author]"),
            (f"{_ROOT}/print/{n}", "html/body/article/footer/a[print]"),
        ]
        return page_of(self._post(n), leaves, links=links, texts=self._texts(n))

    def _print_page(self, n: int) -> PageFeatures:
        leaves = ["html/body[print]/pre/text()"] * 3
        links = [(self._post(n), "html/body[print]/a[back]")]
        return page_of(f"{_ROOT}/print/{n}", leaves, links=links, texts=self._texts(n))

    def _member_page(self, member: int) -> PageFeatures:
        leaves = ["html/body/table/tr/td/text()"] * 4
        others = [(member + step) % self.members for step in (1, 7)]
        links = [
            *self._navigation(),
            *((f"{_ROOT}/member/{m}", "html/body/table/tr/a[friend]") for m in others),
        ]
        return page_of(f"{_ROOT}/member/{member}", leaves, links=links)

    def _member(self, post: int) -> str:
        return f"{_ROOT}/member/{self._author[post]}"

    def _texts(self, n: int) -> list[tuple[str, int]]:
        return [(f"text {n}.{i}", int(chars)) for i, chars in enumerate(self._chars[n])]
