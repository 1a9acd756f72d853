"""The demonstration site as the lab means a site, and its ways from a URL path to the page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from urllib.parse import parse_qs, urlsplit

from linkscore_lab.datasets.demo_site.pages import (
    activity,
    board,
    board_urls,
    calendar,
    help_page,
    home,
    login,
    member_list,
    member_urls,
    permalinks,
    profile,
    register,
    search,
    service_urls,
    tag,
    tag_list,
    tag_urls,
    thread,
    thread_urls,
)
from linkscore_lab.datasets.demo_site.world import World
from linkscore_lab.datasets.site import Reply, identity

NOT_FOUND = Reply(404, {"Content-Type": "text/html; charset=utf-8"}, b"<h1>No such page</h1>")
_Match = re.Match[str]
_Render = Callable[[World, _Match, "Query"], Reply | None]


class Query:
    """The query parameters of a request, read leniently."""

    def __init__(self, query: str) -> None:
        self._values: Mapping[str, list[str]] = parse_qs(query)

    def text(self, name: str) -> str:
        """Return the parameter, or an empty text."""
        return self._values.get(name, [""])[-1]

    def number(self, name: str, default: int) -> int:
        """Return the parameter as a number; 0, which no page has, when it is none."""
        value = self.text(name)
        if not value:
            return default
        return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else 0


ROUTES: tuple[tuple[re.Pattern[str], _Render], ...] = (
    (re.compile(r"/"), lambda world, _, q: home(world)),
    (
        re.compile(r"/board/([a-z-]+)"),
        lambda world, path, q: board(world, path[1], q.text("sort"), q.number("page", 1)),
    ),
    (
        re.compile(r"/t/(\d{1,9})-[a-z0-9-]+"),
        lambda world, path, q: thread(world, int(path[1]), path[0], q.number("page", 1), q.number("p", 0)),
    ),
    (re.compile(r"/u/(\w+)"), lambda world, path, q: profile(world, path[1])),
    (re.compile(r"/u/(\w+)/activity"), lambda world, path, q: activity(world, path[1])),
    (
        re.compile(r"/members"),
        lambda world, _, q: member_list(world, q.text("sort"), q.number("page", 1)),
    ),
    (re.compile(r"/tags"), lambda world, _, q: tag_list(world)),
    (re.compile(r"/tag/([a-z-]+)"), lambda world, path, q: tag(world, path[1], q.number("page", 1))),
    (re.compile(r"/login"), lambda world, _, q: login(q.text("next"))),
    (re.compile(r"/register"), lambda world, _, q: register()),
    (re.compile(r"/help(?:/(\w+))?"), lambda world, path, q: help_page(path[1] or "")),
    (re.compile(r"/search"), lambda world, _, q: search(world, q.text("q"))),
    (
        re.compile(r"/calendar/(\d{4}-\d\d)(?:/(\d))?"),
        lambda world, path, q: calendar(path[1], path[2] or ""),
    ),
)


def render(world: World, path: str) -> Reply:
    """Return the page at `path` (with its query); a 404 when there is none."""
    parts = urlsplit(path)
    for pattern, view in ROUTES:
        match = pattern.fullmatch(parts.path)
        if match is not None:
            return view(world, match, Query(parts.query)) or NOT_FOUND
    return NOT_FOUND


#: Page types that carry what members wrote; permalinks copy it and do not count.
USER_CONTENT = frozenset({"thread", "thread_page", "profile"})


class DemoSite:
    """A generated community site of some 5,000 URLs."""

    name = "demonstration site"

    def __init__(
        self, seed: int = 1, origin: str = "http://demo.test", *, n_threads: int = 600, n_members: int = 300
    ) -> None:
        self._world = World(seed, n_threads, n_members)
        self._origin = origin

    @property
    def entry(self) -> str:
        """The front page."""
        return f"{self._origin}/"

    def page(self, url_path: str) -> Reply:
        """Return status, headers and body of a path with its query; a 404 when there is no such page."""
        return render(self._world, url_path)

    def respond(self, url: str) -> Reply:
        """Return the page of an absolute URL, whatever its host."""
        parts = urlsplit(url)
        return self.page(f"{parts.path or '/'}?{parts.query}")

    def labels(self) -> dict[str, str]:
        """Return the page type of every URL, by identity."""
        return self._labels

    @cached_property
    def _labels(self) -> dict[str, str]:
        return {identity(f"{self._origin}{path}"): kind for path, kind in self._urls()}

    def _urls(self) -> Iterator[tuple[str, str]]:
        kinds = (board_urls, thread_urls, member_urls, tag_urls, service_urls, permalinks)
        return chain.from_iterable(urls(self._world) for urls in kinds)
