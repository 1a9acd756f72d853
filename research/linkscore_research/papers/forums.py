"""Generated forums of five engines, each with the URLs, markup, hints and useless pages of its kind.

They stand for packages of which no stored site is at hand. No classifier was trained on their markup.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from linkscore_lab.datasets.site import Reply, identity

_HTML = {"Content-Type": "text/html; charset=utf-8"}
_WORDS = (
    "lantern",
    "harbour",
    "copper",
    "violin",
    "meadow",
    "engine",
    "winter",
    "pocket",
    "saddle",
    "granite",
    "orchard",
    "kettle",
    "thunder",
    "ribbon",
    "compass",
    "walnut",
    "ferry",
    "marble",
    "basket",
    "pepper",
    "hollow",
    "anchor",
    "velvet",
    "timber",
    "island",
    "candle",
    "saffron",
    "bridge",
)
_BOARDS, _PER_BOARD = 5, 60
"""Boards, and threads of each; chosen so that a whole crawl takes seconds."""
_LISTED, _POSTS, _USERS = 20, 10, 40
"""Threads of a page of a board, posts of a page of a thread, members; chosen."""

_HEAD_ENDS = "<!-- end of what belongs in the head -->"
_CANONICAL = f'<link rel="canonical" href="{{}}">{_HEAD_ENDS}'
BOARD, THREAD, USER, EXTRA = "board", "thread", "profile", "useless"
KINDS = {"home": "ENTRY", BOARD: "INDEX", THREAD: "THREAD", USER: "OTHER", EXTRA: "OTHER"}
"""Kind of each page type."""


@dataclass(frozen=True, slots=True)
class Engine:
    """One kind of forum software."""

    name: str  # After which software its URLs and markup are made
    board: Callable[[int, int], str]  # Path of a page of a board or thread, from its number and the page
    thread: Callable[[int, int], str]
    user: Callable[[int], str]  # Path of a member
    # Paths of useless pages of a thread: first one that copies it and names it as canonical, then forms
    extras: tuple[str, ...]
    topic: str  # Markup of a line of a board and of a post, around what is filled in
    post: str
    shut: tuple[str, ...] = ()  # Paths that robots.txt forbids; empty: there is none
    nofollow: bool = False  # Whether links to useless pages say nofollow


def _later(path: str, page: int, form: str) -> str:
    return path + (form.format(page=page, start=(page - 1) * _LISTED) if page > 1 else "")


ENGINES = (
    Engine(
        "as phpBB",
        lambda b, p: _later(f"/viewforum.php?f={b}", p, "&start={start}"),
        lambda t, p: _later(f"/viewtopic.php?t={t}", p, "&start={start}"),
        lambda u: f"/memberlist.php?mode=viewprofile&u={u}",
        ("/viewtopic.php?p={t}7#p{t}7", "/viewtopic.php?t={t}&view=print", "/posting.php?mode=reply&t={t}"),
        '<li class="row"><dl><dt><a class="topictitle" href="{url}">{title}</a> by '
        '<a class="username" href="{user}">{name}</a> » {date}</dt><dd class="posts">{n}</dd></dl></li>',
        '<div class="post"><p class="author">by <a class="username" href="{user}">{name}</a> » {date}</p>'
        '<div class="content">{text}</div></div>',
    ),
    Engine(
        "as vBulletin",
        lambda b, p: _later(f"/forumdisplay.php?f={b}", p, "&page={page}"),
        lambda t, p: _later(f"/showthread.php?t={t}", p, "&page={page}"),
        lambda u: f"/member.php?u={u}",
        ("/printthread.php?t={t}", "/newreply.php?do=newreply&p={t}", "/showthread.php?t={t}&mode=threaded"),
        '<tr><td class="alt1"><a href="{url}">{title}</a><div class="smallfont"><a href="{user}">{name}</a>'
        '</div></td><td class="alt2">{date}</td><td class="alt1">{n}</td></tr>',
        '<table class="tborder"><tr><td class="thead">{date}</td></tr><tr><td class="alt2">'
        '<a href="{user}">{name}</a></td><td class="alt1">{text}</td></tr></table>',
        shut=("/printthread.php", "/newreply.php"),
    ),
    Engine(
        "as XenForo",
        lambda b, p: _later(f"/forums/board-{b}.{b}/", p, "page-{page}"),
        lambda t, p: _later(f"/threads/topic-{t}.{t}/", p, "page-{page}"),
        lambda u: f"/members/user.{u}/",
        ("/threads/topic-{t}.{t}/reply", "/posts/{t}9/", "/threads/topic-{t}.{t}/watch"),
        '<div class="structItem"><div class="structItem-title"><a href="{url}">{title}</a></div>'
        '<ul class="structItem-parts"><li><a href="{user}">{name}</a></li><li>{date}</li></ul>'
        '<dl class="pairs"><dt>Replies</dt><dd>{n}</dd></dl></div>',
        '<article class="message"><div class="message-user"><a href="{user}">{name}</a></div>'
        '<div class="message-main"><header>{date}</header><div class="bbWrapper">{text}</div></div>'
        "</article>",
        shut=("/posts/",),
        nofollow=True,
    ),
    Engine(
        "as Discourse",
        lambda b, p: _later(f"/c/board-{b}/{b}", p, "?page={page}"),
        lambda t, p: _later(f"/t/topic-{t}/{t}", p, "?page={page}"),
        lambda u: f"/u/user{u}",
        ("/t/topic-{t}/{t}/5", "/t/topic-{t}/{t}/print", "/new-message?topic={t}"),
        '<tr class="topic-list-item"><td class="main-link"><a class="title" href="{url}">{title}</a></td>'
        '<td class="posters"><a href="{user}">{name}</a></td><td class="replies">{n}</td>'
        "<td>{date}</td></tr>",
        '<div class="topic-body"><div class="crawler-post-meta"><span class="creator"><a href="{user}">{name}'
        '</a></span> <time>{date}</time></div><div class="post">{text}</div></div>',
        nofollow=True,
    ),
    Engine(
        "as SMF",
        lambda b, p: f"/index.php?board={b}.{(p - 1) * _LISTED}",
        lambda t, p: f"/index.php?topic={t}.{(p - 1) * _POSTS}",
        lambda u: f"/index.php?action=profile;u={u}",
        (
            "/index.php?topic={t}.msg{t}3",
            "/index.php?action=printpage;topic={t}.0",
            "/index.php?action=post;topic={t}.0",
        ),
        '<tr><td class="subject"><span><a href="{url}">{title}</a></span><p>Started by <a href="{user}">'
        '{name}</a></p></td><td class="stats">{n} Replies</td><td class="lastpost">{date}</td></tr>',
        '<div class="post_wrapper"><div class="poster"><h4><a href="{user}">{name}</a></h4></div>'
        '<div class="postarea"><div class="keyinfo">{date}</div><div class="inner">{text}</div></div></div>',
        shut=("/index.php?action=",),
    ),
)
"""Of these packages, five of the most used; nothing of them is copied but how URLs and pages are built."""


class GeneratedForum:
    """A forum of one engine, drawn once.

    Boards list threads newest first, threads have one to three pages of posts; below each post are links to
    what is of no use.
    """

    def __init__(self, engine: Engine, seed: int = 1, base: str = "") -> None:
        self.engine = engine
        self._base = base
        self._rng = random.Random(f"{engine.name} {seed}")
        self.name = f"generated, {engine.name}"
        self.host = f"http://{engine.name.split()[-1].lower()}.test"
        self.entry = f"{self.host}{base}/"
        n = _BOARDS * _PER_BOARD
        self._posts = [1 + int(self._rng.expovariate(1 / 7)) % (3 * _POSTS) for _ in range(n)]
        self._titles = [self._words(3, 8) for _ in range(n)]
        self._pages: dict[str, tuple[str, str]] = {}
        for path, kind, title, inside in self._all():
            html = self._framed(title, inside).replace('href="/', f'href="{base}/')
            self._pages.setdefault(identity(self.host + base + path), (kind, html))

    @property
    def wanted_types(self) -> frozenset[str]:
        """Threads."""
        return frozenset({THREAD})

    @cached_property
    def robots(self) -> str:
        """The text of its robots.txt, empty if it has none."""
        shut = "".join(f"Disallow: {self._base}{path}\n" for path in self.engine.shut)
        return f"User-agent: *\n{shut}" if shut else ""

    def respond(self, url: str) -> Reply:
        """Return the page of a URL."""
        kind_and_page = self._pages.get(identity(url))
        if kind_and_page is None:
            return Reply(404, _HTML, b"")
        return Reply(200, _HTML, kind_and_page[1].encode())

    def labels(self) -> dict[str, str]:
        """Return the page type of every page, by identity."""
        return {key: kind for key, (kind, _) in self._pages.items()}

    def _all(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield path, type, title and content of all pages."""
        e = self.engine
        boards = "".join(
            f'<li class="forum"><h3><a href="{e.board(b, 1)}">{self._words(2, 4)}</a></h3>'
            f"<p>{self._words(6, 14)}</p><span>{_PER_BOARD} topics</span> {self._date(b)}</li>"
            for b in range(1, _BOARDS + 1)
        )
        yield "/", "home", "Forum", f'<ul class="forums">{boards}</ul>'
        for b in range(1, _BOARDS + 1):
            yield from self._board(b)
        for t in range(_BOARDS * _PER_BOARD):
            pages = list(self._thread(t))
            yield from pages
            copy, *forms = (extra.format(t=t).partition("#")[0] for extra in e.extras)
            yield copy, EXTRA, self._titles[t], _CANONICAL.format(e.thread(t, 1)) + pages[0][3]
            for path in forms:
                form = f"<form><p>{self._words(3, 9)}</p><input name=q></form>"
                yield path, EXTRA, "Form", form
        for u in range(_USERS):
            facts = "".join(f"<dt>{self._words(1, 2)}</dt><dd>{self._words(1, 3)}</dd>" for _ in range(6))
            yield e.user(u), USER, f"Member {u}", f"<dl>{facts}</dl>"

    def _board(self, b: int) -> Iterator[tuple[str, str, str, str]]:
        e, first = self.engine, (b - 1) * _PER_BOARD
        pages = -(-_PER_BOARD // _LISTED)
        for p in range(1, pages + 1):
            lines = "".join(
                self._filled(e.topic, t, url=e.thread(t, 1), title=self._titles[t], n=str(self._posts[t] - 1))
                for t in range(first + (p - 1) * _LISTED, first + min(_PER_BOARD, p * _LISTED))
            )
            bar = self._bar(lambda n: e.board(b, n), p, pages)
            yield e.board(b, p), BOARD, f"Board {b}", f"{bar}{_wrapped(lines)}{bar}"

    def _thread(self, t: int) -> Iterator[tuple[str, str, str, str]]:
        e, pages = self.engine, -(-self._posts[t] // _POSTS)
        board = t // _PER_BOARD + 1
        up = f'<div class="crumbs"><a href="/">Forum</a> <a href="{e.board(board, 1)}">Board</a></div>'
        for p in range(1, pages + 1):
            n = min(_POSTS, self._posts[t] - (p - 1) * _POSTS)
            posts = "".join(self._filled(e.post, t, text=self._text()) + self._hints(t) for _ in range(n))
            bar = self._bar(lambda n: e.thread(t, n), p, pages)
            title = f"<h1>{self._titles[t]}</h1>"
            yield e.thread(t, p), THREAD, self._titles[t], f"{up}{title}{bar}{posts}{bar}"

    def _hints(self, t: int) -> str:
        """Return the links below a post."""
        rel = ' rel="nofollow"' if self.engine.nofollow else ""
        names = ("Link", "Print", "Reply")
        links = zip(self.engine.extras, names, strict=True)
        return '<div class="tools">' + " ".join(
            f'<a class="tool"{rel} href="{path.format(t=t)}">{name}</a>' for path, name in links
        ) + "</div>"  # fmt: skip

    def _bar(self, url: Callable[[int], str], at: int, pages: int) -> str:
        if pages == 1:
            return ""
        links = (
            f"<strong>{n}</strong>" if n == at else f'<a href="{url(n)}">{n}</a>' for n in range(1, pages + 1)
        )
        return f'<div class="pagination">{" ".join(links)}</div>'

    def _filled(self, markup: str, t: int, **values: str) -> str:
        u = self._rng.randrange(_USERS)
        return markup.format(user=self.engine.user(u), name=f"member{u}", date=self._date(t), **values)

    def _framed(self, title: str, inside: str) -> str:
        head, _, body = inside.rpartition(_HEAD_ENDS)
        return (
            f"<!DOCTYPE html><html><head><title>{title}</title>{head}</head><body>"
            f'<header><ul><li><a href="/">home</a></li></ul></header><main>{body}</main>'
            f"<footer>{self.name}</footer></body></html>"
        )

    def _date(self, n: int) -> str:
        return f"2026-{12 - n % 12:02}-{28 - n % 27:02} 1{n % 10}:{self._rng.randint(10, 59)}"

    def _words(self, low: int, high: int) -> str:
        return " ".join(self._rng.choices(_WORDS, k=self._rng.randint(low, high))).capitalize()

    def _text(self) -> str:
        sentences = (self._words(6, 16) + "." for _ in range(self._rng.randint(1, 6)))
        return "".join(f"<p>{sentence}</p>" for sentence in sentences)


def _wrapped(lines: str) -> str:
    return f"<table>{lines}</table>" if lines.startswith("<tr") else f"<ul>{lines}</ul>"
