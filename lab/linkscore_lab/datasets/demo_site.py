"""The bundled demonstration site: a hobby community with what makes real ones hard to crawl.

Boards and threads with pages, profiles, tag pages with excerpts - and each list again in other sort orders,
permalinks of posts that copy their page, log-in links and a calendar that outnumber them. All is drawn from
one seed and rendered from the URL alone; nothing is stored.

What members write comes from a small word model: a sentence is a frame with slots, a slot is filled from
the words of a topic or from common ones. Frames times words give millions of sentences, so two posts do not
share a text by chance.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

from linkscore_lab.datasets.site import Reply, identity

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Topic:
    """The words of one board."""

    name: str
    things: tuple[str, ...]
    actions: tuple[str, ...]
    tags: tuple[str, ...]


_TEXT = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
"""What members write, as data: topics of boards, frames of sentences and titles, words for their slots."""
TOPICS = tuple(
    Topic(row["name"], *(tuple(row[kind]) for kind in ("things", "actions", "tags")))
    for row in _TEXT["topics"]
)
_SLOT = re.compile(r"\{(\w+)\}")


def paragraph(rng: random.Random, topic: Topic, sentences: int) -> str:
    """Return `sentences` sentences joined by blanks."""
    return " ".join(_fill(rng.choice(_TEXT["frames"]), rng, topic) for _ in range(sentences))


def slug(text: str) -> str:
    """Return `text` as a URL segment: lower-case words joined by hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _fill(frame: str, rng: random.Random, topic: Topic) -> str:
    thing, thing2 = rng.sample(topic.things, 2)
    words = {
        "act": rng.choice(topic.actions),
        "thing": thing,
        "thing2": thing2,
        "thing_cap": thing[0].upper() + thing[1:],
        "number": str(rng.randint(2, 99)),
    }
    return _SLOT.sub(lambda slot: words.get(slot[1]) or rng.choice(_TEXT["words"][slot[1]]), frame)


# Of a thread, as forums have it: 10 to 25. Chosen, not measured.
POSTS_PER_PAGE = 12


@dataclass(slots=True)
class Member:
    """A registered user and the posts it wrote, as (thread, position in it)."""

    name: str
    number: int
    posts: list[tuple[Thread, int]] = field(default_factory=list)


@dataclass(slots=True)
class Thread:
    """A discussion; `authors` has one member for each post, `first_post` is the number of its first post."""

    number: int
    topic: Topic
    title: str
    kind: str
    tags: tuple[str, ...]
    authors: tuple[Member, ...]
    first_post: int
    views: int

    @property
    def path(self) -> str:
        """URL path of its first page."""
        return f"/t/{self.number}-{slug(self.title)}"

    @property
    def pages(self) -> int:
        """Pages it is cut into."""
        return -(-len(self.authors) // POSTS_PER_PAGE)


class World:
    """Everything the pages show."""

    def __init__(self, seed: int, n_threads: int = 600, n_members: int = 300) -> None:
        self.seed = seed
        self.members = [Member(_name(number), number) for number in range(n_members)]
        self.threads: list[Thread] = []
        self._posts: dict[int, list[str]] = {}
        rng = random.Random(f"{seed} world")
        first_post = 1
        for number in range(1, n_threads + 1):
            thread = self._thread(rng, number, first_post)
            first_post += len(thread.authors)
            self.threads.append(thread)
        self.tags = self._by_tag()

    def board(self, topic: Topic) -> list[Thread]:
        """Return the threads about `topic`, newest first."""
        return [thread for thread in reversed(self.threads) if thread.topic is topic]

    def post(self, thread: Thread, position: int) -> list[str]:
        """Return the paragraphs of one post; written when first asked for."""
        number = thread.first_post + position
        if number not in self._posts:
            rng = random.Random(f"{self.seed} post {number}")
            n_paragraphs = rng.choice((1, 1, 2, 3))
            self._posts[number] = [
                paragraph(rng, thread.topic, rng.randint(1, 4)) for _ in range(n_paragraphs)
            ]
        return self._posts[number]

    def biography(self, member: Member) -> str:
        """Return what a member says about itself."""
        rng = random.Random(f"{self.seed} member {member.number}")
        return paragraph(rng, rng.choice(TOPICS), rng.randint(2, 5))

    def _thread(self, rng: random.Random, number: int, first_post: int) -> Thread:
        topic = TOPICS[number - 1] if number <= len(TOPICS) else rng.choice(TOPICS)
        posts = min(90, 1 + int(rng.paretovariate(0.9) * 2.5))
        authors = tuple(self._author(rng) for _ in range(posts))
        kind = rng.choices(("talk", "question", "poll", "gallery"), (6, 3, 1, 1))[0]
        tags = tuple(rng.sample(topic.tags, rng.randint(1, 3)))
        views = posts * rng.randint(8, 90)
        thread = Thread(
            number,
            topic,
            _fill(rng.choice(_TEXT["titles"]), rng, topic),
            kind,
            tags,
            authors,
            first_post,
            views,
        )
        for position, author in enumerate(authors):
            author.posts.append((thread, position))
        return thread

    def _author(self, rng: random.Random) -> Member:
        """Few write much: the square of a uniform draw favours the first members."""
        return self.members[int(rng.random() ** 2 * len(self.members))]

    def _by_tag(self) -> dict[str, list[Thread]]:
        tags: dict[str, list[Thread]] = {}
        for thread in self.threads:
            for tag in thread.tags:
                tags.setdefault(tag, []).append(thread)
        return tags


def _name(number: int) -> str:
    given, handles = _TEXT["given"], _TEXT["handles"]
    handle = handles[number // len(given) % len(handles)]
    return f"{given[number % len(given)]}_{handle}{number}"


SITE_NAME = "Tinkerers' Hall"
NOT_FOUND = Reply(404, {"Content-Type": "text/html; charset=utf-8"}, b"<h1>No such page</h1>")
#: Page types that carry what members wrote; permalinks copy it and do not count.
USER_CONTENT = frozenset({"thread", "thread_page", "profile"})
HELP = ("rules", "privacy", "contact", "formatting", "avatars", "moderation", "badges", "passwords")
MONTHS = [f"{year}-{month:02d}" for year in range(2019, 2027) for month in range(1, 13)]
WEEKS = range(1, 6)
# As forums have it: a page of a list shows 10 to 25 of its items.
THREADS_PER_PAGE, MEMBERS_PER_PAGE, CARDS_PER_PAGE = 20, 25, 10
# Of posts a profile links to, and characters of an excerpt, a long text that its thread shows too. Chosen.
LATEST, EXCERPT_CHARS = 6, 140
BOARD_SORTS: dict[str, Callable[[Thread], Any]] = {
    "replies": lambda thread: -len(thread.authors),
    "views": lambda thread: -thread.views,
    "title": lambda thread: thread.title,
}
MEMBER_SORTS: dict[str, Callable[[Member], Any]] = {
    "posts": lambda member: -len(member.posts),
    "newest": lambda member: -member.number,
}
_LOOKS = {"talk": "posts", "question": "answers", "poll": "posts withpoll", "gallery": "shots"}
_Page = tuple[str, str, Callable[[], str]]
"""Path with its query, page type, and what makes the HTML."""


class DemoSite:
    """A generated community site of some 5,000 URLs."""

    name = "demonstration site"

    def __init__(
        self, seed: int = 1, origin: str = "http://demo.test", *, n_threads: int = 600, n_members: int = 300
    ) -> None:
        self._origin = origin
        made = _pages(World(seed, n_threads, n_members))
        self._pages = {identity(f"{origin}{path}"): (kind, html) for path, kind, html in made}

    @property
    def entry(self) -> str:
        """The front page."""
        return f"{self._origin}/"

    def respond(self, url: str) -> Reply:
        """Return the page of an absolute URL, whatever its host."""
        parts = urlsplit(url)
        key = identity(f"{self._origin}{parts.path or '/'}?{parts.query}")
        if key not in self._pages:
            return NOT_FOUND
        return Reply(200, NOT_FOUND.headers, self._pages[key][1]().encode())

    def labels(self) -> dict[str, str]:
        """Return the page type of every URL, by identity."""
        return {key: kind for key, (kind, _) in self._pages.items()}


def _pages(world: World) -> Iterator[_Page]:
    yield "/", "home", partial(_home, world)
    for topic in TOPICS:
        threads, path = world.board(topic), f"/board/{slug(topic.name)}"
        yield from _lists(path, "board", threads, THREADS_PER_PAGE, BOARD_SORTS, partial(_board, topic))
        yield _login(f"/new/{slug(topic.name)}")
    for thread in world.threads:
        yield from _thread_pages(world, thread)
    for member in world.members:
        yield f"/u/{member.name}", "profile", partial(_profile, world, member)
        yield _login(f"/message/{member.name}")
    yield from _lists("/members", "member_list", world.members, MEMBERS_PER_PAGE, MEMBER_SORTS, _members)
    yield "/tags", "tag_index", partial(_tags, world)
    for tag, threads in world.tags.items():
        newest = list(reversed(threads))
        yield from _lists(f"/tag/{tag}", "tag", newest, CARDS_PER_PAGE, {}, partial(_tag, world, tag))
        yield _login(f"/tag/{tag}")
    yield _login("")
    yield (
        "/help",
        "help",
        lambda: _document("Help", listed((link(f"/help/{n}", n) for n in HELP), "help"), "help"),
    )
    yield from ((f"/help/{name}", "help", partial(_help, name)) for name in HELP)
    for month in MONTHS:
        yield f"/calendar/{month}", "calendar", partial(_calendar, month, "")
        yield from ((f"/calendar/{month}/{n}", "calendar", partial(_calendar, month, str(n))) for n in WEEKS)


def _lists(
    path: str,
    kind: str,
    items: Sequence[_Item],
    size: int,
    sorts: dict[str, Callable[[_Item], Any]],
    render: Callable[[Sequence[_Item], str, str], str],
) -> Iterator[_Page]:
    """Yield the pages of a list in each order; `render` gets items, bar and canonical URL of one."""
    n_pages = -(-len(items) // size)
    for sort in ("", *sorts):
        ordered = sorted(items, key=sorts[sort]) if sort else items
        for n in range(1, n_pages + 1):
            bar = page_links(path, n, n_pages, sort)
            shown = ordered[(n - 1) * size : n * size]
            canonical = with_query(path, page=n if n > 1 else 0) if sort else ""
            url = with_query(path, sort=sort, page=n if n > 1 else 0)
            later = "_page" if n > 1 and kind != "member_list" else ""
            yield url, f"{kind}_sorted" if sort else kind + later, partial(render, shown, bar, canonical)


def _thread_pages(world: World, thread: Thread) -> Iterator[_Page]:
    for n in range(1, thread.pages + 1):
        kind = "thread" if n == 1 else "thread_page"
        yield _thread_path(thread, n), kind, partial(_thread, world, thread, n)
    for position in range(len(thread.authors)):
        html = partial(_thread, world, thread, position // POSTS_PER_PAGE + 1)
        yield permalink(thread, position), "thread_permalink", html
    yield _login(thread.path)


def link(path: str, text: str, css: str = "", rel: str = "") -> str:
    """Return an anchor; `path` is escaped, an empty attribute left out."""
    extra = "".join(f' {name}="{value}"' for name, value in (("class", css), ("rel", rel)) if value)
    return f'<a href="{escape(path)}"{extra}>{escape(text)}</a>'


def user(member: Member) -> str:
    """Return an anchor to a profile."""
    return link(f"/u/{member.name}", member.name, "username")


def with_query(path: str, **query: object) -> str:
    """Return `path` with the query parameters that are set."""
    values = {name: value for name, value in query.items() if value}
    return f"{path}?{urlencode(values)}" if values else path


def permalink(thread: Thread, position: int) -> str:
    """Return the path of one post: its page under another URL."""
    return with_query(thread.path, p=thread.first_post + position)


def listed(items: Iterable[str], css: str) -> str:
    """Return an unordered list."""
    return f'<ul class="{css}">' + "".join(f"<li>{item}</li>" for item in items) + "</ul>"


def to_login(target: str, text: str) -> str:
    """Return an anchor to the log-in page that leads back."""
    return link(with_query("/login", next=target), text, "button", "nofollow")


def page_links(path: str, page: int, pages: int, sort: str = "") -> str:
    """Return the pagination bar of a list that spans several pages, else nothing."""
    shown = sorted({1, 2, page - 1, page, page + 1, pages} & set(range(1, pages + 1)))
    items = (
        f"<span>{n}</span>"
        if n == page
        else link(with_query(path, sort=sort, page=n if n > 1 else 0), str(n))
        for n in shown
    )
    return f'<nav class="pagination">{listed(items, "pages")}</nav>' if pages > 1 else ""


def _thread_path(thread: Thread, page: int) -> str:
    return with_query(thread.path, page=page if page > 1 else 0)


def _document(title: str, content: str, css: str, canonical: str = "", side: str = "") -> str:
    menu = ("members", "tags", f"calendar/{MONTHS[-7]}", "help")
    head = f'<link rel="canonical" href="{escape(canonical)}">' if canonical else ""
    boards = listed((link(f"/board/{slug(topic.name)}", topic.name) for topic in TOPICS), "boards")
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f'<title>{escape(title)} - {SITE_NAME}</title>{head}</head><body class="{css}">'
        f'<header><div class="brand">{link("/", SITE_NAME)}</div>'
        f"{listed((link(f'/{name}', name.partition('/')[0].title()) for name in menu), 'menu')}"
        f"{link('/login', 'Log in', 'button')}</header>"
        f'<main><h1>{escape(title)}</h1>{content}</main><aside class="side">{side}</aside>'
        f"<footer>{boards}{link('/help/rules', 'Rules')}</footer></body></html>"
    )


def _home(world: World) -> str:
    rows = "".join(_board_row(topic, world.board(topic)) for topic in TOPICS)
    newest = listed((link(thread.path, thread.title) for thread in reversed(world.threads[-8:])), "newest")
    return _document("Boards", f'<div class="boardlist">{rows}</div>', "home", side=newest)


def _last_post(thread: Thread, text: str) -> str:
    return link(permalink(thread, len(thread.authors) - 1), text, "lastpost")


def _board_row(topic: Topic, threads: Sequence[Thread]) -> str:
    return (
        f'<div class="boardrow"><h2>{link(f"/board/{slug(topic.name)}", topic.name)}</h2>'
        f'<span class="count">{len(threads)} threads</span>{_last_post(threads[0], threads[0].title)}</div>'
    )


def _board(topic: Topic, threads: Sequence[Thread], bar: str, canonical: str) -> str:
    path = f"/board/{slug(topic.name)}"
    sorts = "".join(link(with_query(path, sort=sort), f"by {sort}", "sort") for sort in BOARD_SORTS)
    rows = "".join(
        f'<tr class="thread-row {thread.kind}"><td>{link(thread.path, thread.title, "topictitle")}'
        f'<div class="by">{user(thread.authors[0])}</div></td><td>{len(thread.authors) - 1}</td>'
        f"<td>{thread.views}</td><td>{_last_post(thread, 'last post')} {user(thread.authors[-1])}</td></tr>"
        for thread in threads
    )
    new = to_login(f"/new/{slug(topic.name)}", "New thread")
    content = f'<div class="toolbar">{sorts}{new}</div><table class="threads">{rows}</table>{bar}'
    return _document(topic.name, content, f"board board-{TOPICS.index(topic)}", canonical)


def _thread(world: World, thread: Thread, page: int) -> str:
    first = (page - 1) * POSTS_PER_PAGE
    shown = range(first, min(first + POSTS_PER_PAGE, len(thread.authors)))
    posts = "".join(_post(world, thread, position) for position in shown)
    board = link(f"/board/{slug(thread.topic.name)}", thread.topic.name)
    tags = listed((link(f"/tag/{tag}", tag, "tag") for tag in thread.tags), "tags")
    others = [other for other in world.tags[thread.tags[0]] if other is not thread]
    start = thread.number % max(1, len(others))
    similar = listed((link(other.path, other.title) for other in others[start : start + 4]), "similar")
    bar = page_links(thread.path, page, thread.pages)
    content = (
        f'<div class="crumbs">{link("/", "Boards")} {board}</div>{tags}{bar}'
        f'<section class="{_LOOKS[thread.kind]}">{posts}</section>{bar}'
        f'<div class="actions">{to_login(thread.path, "Reply")}{link("/help/formatting", "Formatting")}</div>'
    )
    return _document(
        thread.title, content, f"thread thread-{thread.kind}", _thread_path(thread, page), similar
    )


def _post(world: World, thread: Thread, position: int) -> str:
    author, number = thread.authors[position], thread.first_post + position
    stamp = f"<time>{2019 + thread.number % 8}-{1 + position % 12:02d}-{1 + number % 28:02d}</time>"
    text = "".join(f"<p>{escape(part)}</p>" for part in world.post(thread, position))
    if thread.kind == "question" and position:
        foot = f"<footer>{user(author)}{stamp}</footer>"
        return f'<article class="answer"><div class="text">{text}</div>{foot}</article>'
    picture = f'<img src="/img/{number}.jpg" alt="">' if thread.kind == "gallery" else ""
    role = "staff" if author.number < 8 else "odd" if position % 2 else "even"
    return (
        f'<article class="post {role}" id="p{number}"><div class="author">{user(author)}</div>'
        f'<div class="content"><p class="meta">{stamp}</p>{picture}{text}</div></article>'
    )


def _profile(world: World, member: Member) -> str:
    posts = (link(permalink(thread, at), thread.title, "postlink") for thread, at in member.posts[-LATEST:])
    look = "card" if member.number % 3 else "card wide"
    content = (
        f'<div class="{look}">{to_login(f"/message/{member.name}", "Message")}'
        f'<div class="about"><p>{escape(world.biography(member))}</p></div>'
        f"<dl><dt>Posts</dt><dd>{len(member.posts)}</dd></dl></div>{listed(posts, 'latest')}"
    )
    return _document(member.name, content, f"profile user-{member.number}")


def _members(members: Sequence[Member], bar: str, canonical: str) -> str:
    sorts = "".join(link(with_query("/members", sort=sort), f"by {sort}", "sort") for sort in MEMBER_SORTS)
    rows = "".join(f"<tr><td>{user(member)}</td><td>{len(member.posts)}</td></tr>" for member in members)
    content = f'<div class="toolbar">{sorts}</div><table class="members">{rows}</table>{bar}'
    return _document("Members", content, "members", canonical)


def _tags(world: World) -> str:
    cloud = (
        f"{link(f'/tag/{tag}', tag, 'tag')} <em>{len(world.tags[tag])}</em>" for tag in sorted(world.tags)
    )
    return _document("Tags", listed(cloud, "cloud"), "tags")


def _tag(world: World, tag: str, threads: Sequence[Thread], bar: str, canonical: str) -> str:
    cards = "".join(
        f'<div class="card"><h2>{link(thread.path, thread.title)}</h2>'
        f"<p>{escape(world.post(thread, 0)[0][:EXCERPT_CHARS])}</p>{user(thread.authors[0])}</div>"
        for thread in threads
    )
    content = f'{to_login(f"/tag/{tag}", "Follow this tag")}<div class="cards">{cards}</div>{bar}'
    return _document(tag, content, f"tag tag-{tag}", canonical)


def _login(target: str) -> _Page:
    """Return the log-in page; where it leads back to changes nothing one could read."""
    hidden = f'<input type="hidden" name="next" value="{escape(target)}">'
    form = f'<form method="post">{hidden}<input name="user"><input name="password"></form>'
    hint = f"<p>You must be logged in to do this.</p>{link('/help/passwords', 'Forgot your password?')}"
    return with_query("/login", next=target), "login", lambda: _document("Log in", form + hint, "login")


def _help(name: str) -> str:
    rng = random.Random(f"help {name}")
    steps = (escape(paragraph(rng, rng.choice(TOPICS), 1)) for _ in range(6))
    return _document(f"Help: {name}", listed(steps, "steps"), "help")


def _calendar(month: str, week: str) -> str:
    """Return a month or one of its weeks, with a link to the next: many pages, bounded, nothing on them."""
    here = MONTHS.index(month)
    around = MONTHS[max(0, here - 1) : here] + MONTHS[here + 1 : here + 2]
    months = "".join(link(f"/calendar/{other}", other) for other in around)
    weeks = listed((link(f"/calendar/{month}/{n}", f"week {n}") for n in WEEKS), "weeks")
    cells = "".join(f"<td>{day}</td>" for day in range(1, 29))
    return _document(f"{month} {week}", f"{months}{weeks}<table><tr>{cells}</tr></table>", "calendar")
