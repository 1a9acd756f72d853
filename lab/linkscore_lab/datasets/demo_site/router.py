"""From a URL path to the template that renders it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from urllib.parse import parse_qs, urlsplit

from linkscore_lab.datasets.demo_site import boards, members, service, tags, threads
from linkscore_lab.datasets.demo_site.world import World
from linkscore_lab.datasets.site import Reply

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
    (re.compile(r"/"), lambda world, _, q: boards.home(world)),
    (
        re.compile(r"/board/([a-z-]+)"),
        lambda world, path, q: boards.board(world, path[1], q.text("sort"), q.number("page", 1)),
    ),
    (
        re.compile(r"/t/(\d{1,9})-[a-z0-9-]+"),
        lambda world, path, q: threads.thread(
            world, int(path[1]), path[0], q.number("page", 1), q.number("p", 0)
        ),
    ),
    (re.compile(r"/u/(\w+)"), lambda world, path, q: members.profile(world, path[1])),
    (re.compile(r"/u/(\w+)/activity"), lambda world, path, q: members.activity(world, path[1])),
    (
        re.compile(r"/members"),
        lambda world, _, q: members.member_list(world, q.text("sort"), q.number("page", 1)),
    ),
    (re.compile(r"/tags"), lambda world, _, q: tags.index(world)),
    (re.compile(r"/tag/([a-z-]+)"), lambda world, path, q: tags.tag(world, path[1], q.number("page", 1))),
    (re.compile(r"/login"), lambda world, _, q: service.login(q.text("next"))),
    (re.compile(r"/register"), lambda world, _, q: service.register()),
    (re.compile(r"/help(?:/(\w+))?"), lambda world, path, q: service.help_page(path[1] or "")),
    (re.compile(r"/search"), lambda world, _, q: service.search(world, q.text("q"))),
    (
        re.compile(r"/calendar/(\d{4}-\d\d)(?:/(\d))?"),
        lambda world, path, q: service.calendar(path[1], path[2] or ""),
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
