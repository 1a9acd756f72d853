"""The pages of the demonstration site: lists and threads, profiles, tags, and what nobody crawls for.

Front page and boards are lists of threads, each list again in other sort orders; threads come in four looks
of one template, cut into pages, with permalinks of posts that copy their page; tags show excerpts of what
thread pages show too; log-in links, help, search results and a calendar of empty weeks outnumber them.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from html import escape
from urllib.parse import urlencode

from linkscore_lab.datasets.demo_site.world import (
    POSTS_PER_PAGE,
    TOPICS,
    Member,
    Thread,
    Topic,
    World,
    paragraph,
    slug,
)
from linkscore_lab.datasets.site import Reply

SITE_NAME = "Tinkerers' Hall"
_MENU = (
    ("/members", "Members"),
    ("/tags", "Tags"),
    ("/calendar/2026-06", "Calendar"),
    ("/search", "Search"),
    ("/help", "Help"),
)


def link(path: str, text: str, css: str = "", rel: str = "") -> str:
    """Return an anchor; `path` is escaped, an empty attribute left out."""
    extra = "".join(f' {name}="{value}"' for name, value in (("class", css), ("rel", rel)) if value)
    return f'<a href="{escape(path)}"{extra}>{escape(text)}</a>'


def with_query(path: str, query: Mapping[str, object]) -> str:
    """Return `path` with the query parameters that are set."""
    values = {name: value for name, value in query.items() if value}
    return f"{path}?{urlencode(values)}" if values else path


def document(title: str, content: str, css: str, canonical: str = "", side: str = "") -> Reply:
    """Return a whole page."""
    head = f'<link rel="canonical" href="{escape(canonical)}">' if canonical else ""
    aside = f'<aside class="side">{side}</aside>' if side else ""
    html = (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(title)} - {SITE_NAME}</title>{head}</head>"
        f'<body class="{css}">{_header()}<main>{content}</main>{aside}{_footer()}</body></html>'
    )
    return Reply(200, {"Content-Type": "text/html; charset=utf-8"}, html.encode())


def page_links(path: str, page: int, pages: int, query: Mapping[str, object] | None = None) -> str:
    """Return the pagination bar of a list that spans several pages, else nothing."""
    if pages < 2:
        return ""
    shown = sorted({1, 2, page - 1, page, page + 1, pages} & set(range(1, pages + 1)))
    items = (
        f'<li class="current"><span>{n}</span></li>'
        if n == page
        else f"<li>{link(with_query(path, {**(query or {}), 'page': n if n > 1 else 0}), str(n))}</li>"
        for n in shown
    )
    return f'<nav class="pagination"><ul>{"".join(items)}</ul></nav>'


def list_of(items: Iterable[str], css: str) -> str:
    """Return an unordered list."""
    return f'<ul class="{css}">' + "".join(f"<li>{item}</li>" for item in items) + "</ul>"


def paragraphs(texts: Iterable[str]) -> str:
    """Return each text as a paragraph."""
    return "".join(f"<p>{escape(text)}</p>" for text in texts)


@cache
def _header() -> str:
    menu = "".join(f"<li>{link(path, text)}</li>" for path, text in _MENU)
    account = link("/login", "Log in", "button") + link("/register", "Register", "button primary")
    return (
        f'<header><div class="brand">{link("/", SITE_NAME)}</div><ul class="menu">{menu}</ul>'
        f'<div class="account">{account}</div></header>'
    )


@cache
def _footer() -> str:
    boards = "".join(f"<li>{link(f'/board/{slug(topic.name)}', topic.name)}</li>" for topic in TOPICS)
    legal = link("/help/rules", "Rules") + link("/help/privacy", "Privacy") + link("/help/contact", "Contact")
    return f'<footer><ul class="boards">{boards}</ul><div class="legal">{legal}</div></footer>'


# As forums have it: a page of a list shows 10 to 25 of its items, here and below.
BOARD_THREADS_PER_PAGE = 20
BOARD_SORTS = {
    "replies": lambda thread: -len(thread.authors),
    "views": lambda thread: -thread.views,
    "title": lambda thread: thread.title,
}


def board_urls(world: World) -> Iterator[tuple[str, str]]:
    """Yield each URL of this template with its page type."""
    yield "/", "home"
    for topic in TOPICS:
        for sort in ("", *BOARD_SORTS):
            for page in range(1, _board_pages(world, topic) + 1):
                yield _board_path(topic, sort, page), _board_type(sort, page)


def home(world: World) -> Reply:
    """Render the front page: every board, and what is new."""
    rows = "".join(_board_row(world, topic) for topic in TOPICS)
    newest = "".join(f"<li>{link(thread.path, thread.title)}</li>" for thread in reversed(world.threads[-8:]))
    content = f'<h1>Boards</h1><div class="boardlist">{rows}</div>'
    return document("Boards", content, "home", side=f"<h3>New threads</h3><ul>{newest}</ul>")


def board(world: World, name: str, sort: str, page: int) -> Reply | None:
    """Render one page of a board, or None; another sort order names the default one as canonical."""
    topic = next((topic for topic in TOPICS if slug(topic.name) == name), None)
    if topic is None or sort not in ("", *BOARD_SORTS) or not 1 <= page <= _board_pages(world, topic):
        return None
    threads = sorted(world.board(topic), key=BOARD_SORTS[sort]) if sort else world.board(topic)
    shown = threads[(page - 1) * BOARD_THREADS_PER_PAGE : page * BOARD_THREADS_PER_PAGE]
    path = _board_path(topic, "", 1)
    content = (
        f"<h1>{escape(topic.name)}</h1>{_sort_bar(topic)}"
        f'<table class="threads"><tbody>{"".join(_thread_row(thread) for thread in shown)}</tbody></table>'
        f"{page_links(path, page, _board_pages(world, topic), {'sort': sort})}"
    )
    canonical = _board_path(topic, "", page) if sort else ""
    return document(topic.name, content, f"board board-{TOPICS.index(topic)}", canonical)


def _board_row(world: World, topic: Topic) -> str:
    threads = world.board(topic)
    latest = threads[0]
    last_post = with_query(latest.path, {"p": latest.first_post + len(latest.authors) - 1})
    return (
        f'<div class="boardrow"><h2>{link(_board_path(topic, "", 1), topic.name)}</h2>'
        f'<span class="count">{len(threads)} threads</span>'
        f'<span class="latest">{link(last_post, latest.title, "lastpost")}</span></div>'
    )


def _thread_row(thread: Thread) -> str:
    author, last = thread.authors[0], thread.authors[-1]
    last_post = with_query(thread.path, {"p": thread.first_post + len(thread.authors) - 1})
    pages = "".join(
        link(with_query(thread.path, {"page": page}), str(page), "minipage")
        for page in range(2, min(thread.pages, 4) + 1)
    )
    return (
        f'<tr class="thread-row {thread.kind}"><td>{link(thread.path, thread.title, "topictitle")} {pages}'
        f'<div class="by">{link(f"/u/{author.name}", author.name, "username")}</div></td>'
        f"<td>{len(thread.authors) - 1}</td><td>{thread.views}</td>"
        f"<td>{link(last_post, 'last post', 'lastpost')} "
        f"{link(f'/u/{last.name}', last.name, 'username')}</td></tr>"
    )


def _sort_bar(topic: Topic) -> str:
    orders = "".join(link(_board_path(topic, sort, 1), f"by {sort}", "sort") for sort in BOARD_SORTS)
    ask = link(with_query("/login", {"next": f"/new/{slug(topic.name)}"}), "New thread", "button", "nofollow")
    return f'<div class="toolbar">{orders}{ask}</div>'


def _board_pages(world: World, topic: Topic) -> int:
    return -(-len(world.board(topic)) // BOARD_THREADS_PER_PAGE)


def _board_path(topic: Topic, sort: str, page: int) -> str:
    return with_query(f"/board/{slug(topic.name)}", {"sort": sort, "page": page if page > 1 else 0})


def _board_type(sort: str, page: int) -> str:
    if sort:
        return "board_sorted"
    return "board" if page == 1 else "board_page"


def thread_urls(world: World) -> Iterator[tuple[str, str]]:
    """Yield each URL of this template with its page type."""
    for thread in world.threads:
        yield thread.path, "thread"
        for page in range(2, thread.pages + 1):
            yield _thread_path(thread, page), "thread_page"


def permalinks(world: World) -> Iterator[tuple[str, str]]:
    """Yield the permalink of each post with its page type; only some are linked from anywhere."""
    for thread in world.threads:
        for position in range(len(thread.authors)):
            yield permalink(thread, position), "thread_permalink"


def permalink(thread: Thread, position: int) -> str:
    """Return the path of one post: its page under another URL."""
    return with_query(thread.path, {"p": thread.first_post + position})


def thread(world: World, number: int, path: str, page: int, post: int) -> Reply | None:
    """Render page `page` of a thread, or the one that holds `post` if that is set; None if there is none."""
    if not 1 <= number <= len(world.threads) or world.threads[number - 1].path != path:
        return None
    found = world.threads[number - 1]
    if post:
        position = post - found.first_post
        page = position // POSTS_PER_PAGE + 1 if 0 <= position < len(found.authors) else 0
    return _thread_page(world, found, page) if 1 <= page <= found.pages else None


def _thread_page(world: World, found: Thread, page: int) -> Reply:
    first = (page - 1) * POSTS_PER_PAGE
    last = min(first + POSTS_PER_PAGE, len(found.authors))
    posts = "".join(_post(world, found, position) for position in range(first, last))
    bar = page_links(found.path, page, found.pages)
    content = (
        f"{_crumbs(found)}<h1>{escape(found.title)}</h1>{_opening(found, page)}{bar}"
        f'<section class="{_LISTS[found.kind]}">{posts}</section>{bar}{_reply_bar(found)}'
    )
    css = f"thread thread-{found.kind} topic-{found.number}"
    return document(found.title, content, css, _thread_path(found, page), _similar(world, found))


_LISTS = {"talk": "posts", "question": "answers", "poll": "posts withpoll", "gallery": "shots"}


def _post(world: World, found: Thread, position: int) -> str:
    author = found.authors[position]
    name = link(f"/u/{author.name}", author.name, "username")
    number = found.first_post + position
    stamp = f"<time>{2019 + found.number % 8}-{1 + position % 12:02d}-{1 + number % 28:02d}</time>"
    role = "staff" if author.number < 8 else "odd" if position % 2 else "even"
    text = paragraphs(world.post(found, position))
    body = f'<figure><img src="/img/{number}.jpg" alt=""></figure>{text}' if found.kind == "gallery" else text
    if found.kind == "question" and position:
        votes = f'<div class="votes">{number % 23}</div>'
        foot = f"<footer>{name}{stamp}</footer>"
        return f'<article class="answer">{votes}<div class="text">{body}</div>{foot}</article>'
    return (
        f'<article class="post {role}" id="p{number}"><div class="author">{name}</div>'
        f'<div class="content"><p class="meta">{stamp}</p>{body}</div></article>'
    )


def _opening(found: Thread, page: int) -> str:
    if found.kind != "poll" or page > 1:
        return ""
    rows = "".join(
        f"<dt>{escape(thing)}</dt><dd>{(found.views * n) % 41} %</dd>" for n, thing in _choices(found)
    )
    return f'<dl class="poll">{rows}</dl>'


def _choices(found: Thread) -> Iterator[tuple[int, str]]:
    return enumerate(found.topic.things[:4], 1)


def _crumbs(found: Thread) -> str:
    board = link(f"/board/{slug(found.topic.name)}", found.topic.name)
    tags = list_of((link(f"/tag/{tag}", tag, "tag") for tag in found.tags), "tags")
    return f'<div class="crumbs">{link("/", "Boards")} {board}</div>{tags}'


def _reply_bar(found: Thread) -> str:
    reply = link(with_query("/login", {"next": found.path}), "Reply", "button", "nofollow")
    return f'<div class="actions">{reply}{link("/help/formatting", "Formatting help")}</div>'


def _similar(world: World, found: Thread) -> str:
    others = [other for other in world.tags[found.tags[0]] if other is not found]
    start = found.number % max(1, len(others))
    return "<h3>Similar threads</h3>" + list_of(
        (link(other.path, other.title) for other in others[start : start + 4]), "similar"
    )


def _thread_path(found: Thread, page: int) -> str:
    return with_query(found.path, {"page": page if page > 1 else 0})


# See `BOARD_THREADS_PER_PAGE`.
MEMBERS_PER_PAGE = 25
# Posts a profile links to. Chosen, not measured.
LATEST = 6
MEMBER_SORTS = {"posts": lambda member: -len(member.posts), "newest": lambda member: -member.number}


def member_urls(world: World) -> Iterator[tuple[str, str]]:
    """Yield each URL of this template with its page type."""
    for member in world.members:
        yield f"/u/{member.name}", "profile"
        yield f"/u/{member.name}/activity", "member_activity"
    for sort in ("", *MEMBER_SORTS):
        for page in range(1, _member_pages(world) + 1):
            kind = "member_list_sorted" if sort else "member_list"
            yield with_query("/members", {"sort": sort, "page": page if page > 1 else 0}), kind


def profile(world: World, name: str) -> Reply | None:
    """Render what a member says about itself, or None when there is no such member."""
    member = world.by_name.get(name)
    if member is None:
        return None
    badges = list_of((f'<span class="badge">{badge}</span>' for badge in _badges(member)), "badges")
    joined = 2010 + member.number % 15
    facts = f"<dl><dt>Posts</dt><dd>{len(member.posts)}</dd><dt>Joined</dt><dd>{joined}</dd></dl>"
    about = paragraphs([world.biography(member)])
    look = "card" if member.number % 3 else "card wide"
    content = (
        f'<div class="{look}"><h1>{escape(name)}</h1>{_tabs(member)}{badges}'
        f'<div class="about">{about}</div>{facts}</div>{_latest(member)}'
    )
    return document(name, content, f"profile user-{member.number}")


def activity(world: World, name: str) -> Reply | None:
    """Render excerpts of a member's latest posts, or None when there is no such member."""
    member = world.by_name.get(name)
    if member is None:
        return None
    items = (
        f"{link(permalink(thread, position), thread.title)}"
        f"<blockquote>{escape(world.post(thread, position)[0][:120])}</blockquote>"
        for thread, position in member.posts[-LATEST:]
    )
    content = f"<h1>{escape(name)}</h1>{_tabs(member)}{list_of(items, 'activity')}"
    return document(f"{name}: activity", content, "activity")


def member_list(world: World, sort: str, page: int) -> Reply | None:
    """Render one page of the list of members, or None when there is none."""
    if sort not in ("", *MEMBER_SORTS) or not 1 <= page <= _member_pages(world):
        return None
    members = sorted(world.members, key=MEMBER_SORTS[sort]) if sort else world.members
    rows = "".join(
        f"<tr><td>{link(f'/u/{member.name}', member.name, 'username')}</td><td>{len(member.posts)}</td></tr>"
        for member in members[(page - 1) * MEMBERS_PER_PAGE : page * MEMBERS_PER_PAGE]
    )
    orders = "".join(
        link(with_query("/members", {"sort": order}), f"by {order}", "sort") for order in MEMBER_SORTS
    )
    bar = page_links("/members", page, _member_pages(world), {"sort": sort})
    content = f'<h1>Members</h1><div class="toolbar">{orders}</div><table class="members">{rows}</table>{bar}'
    return document("Members", content, "members")


def _tabs(member: Member) -> str:
    message = link(with_query("/login", {"next": f"/message/{member.name}"}), "Message", "tab", "nofollow")
    about = link(f"/u/{member.name}", "About", "tab")
    return f'<div class="tabs">{about}{link(f"/u/{member.name}/activity", "Activity", "tab")}{message}</div>'


def _latest(member: Member) -> str:
    posts = member.posts[-LATEST:]
    items = (link(permalink(thread, position), thread.title, "postlink") for thread, position in posts)
    return f'<section class="latest"><h2>Latest posts</h2>{list_of(items, "plain")}</section>'


def _badges(member: Member) -> list[str]:
    earned = (
        ("staff", member.number < 8),
        ("author", len(member.posts) > 20),
        ("first post", bool(member.posts)),
    )
    return [name for name, has in earned if has]


def _member_pages(world: World) -> int:
    return -(-len(world.members) // MEMBERS_PER_PAGE)


# See `BOARD_THREADS_PER_PAGE`: fewer, as each comes with an excerpt.
TAG_THREADS_PER_PAGE = 10
# A line or two: chosen to be a long text block that a thread page shows too.
EXCERPT_CHARS = 140


def tag_urls(world: World) -> Iterator[tuple[str, str]]:
    """Yield each URL of this template with its page type."""
    yield "/tags", "tag_index"
    for tag in world.tags:
        for page in range(1, _tag_pages(world, tag) + 1):
            yield (
                with_query(f"/tag/{tag}", {"page": page if page > 1 else 0}),
                "tag" if page == 1 else "tag_page",
            )


def tag_list(world: World) -> Reply:
    """Render the list of all tags."""
    tags = sorted(world.tags)
    cloud = (f"{link(f'/tag/{tag}', tag, 'tag')} <em>{len(world.tags[tag])}</em>" for tag in tags)
    return document("Tags", f"<h1>Tags</h1>{list_of(cloud, 'cloud')}", "tags")


def tag(world: World, name: str, page: int) -> Reply | None:
    """Render one page of a tag's threads, or None when there is none."""
    if name not in world.tags or not 1 <= page <= _tag_pages(world, name):
        return None
    threads = list(reversed(world.tags[name]))[
        (page - 1) * TAG_THREADS_PER_PAGE : page * TAG_THREADS_PER_PAGE
    ]
    cards = "".join(_card(world, thread) for thread in threads)
    follow = link(with_query("/login", {"next": f"/tag/{name}"}), "Follow this tag", "button", "nofollow")
    bar = page_links(f"/tag/{name}", page, _tag_pages(world, name))
    content = f'<h1>Threads about {escape(name)}</h1>{follow}<div class="cards">{cards}</div>{bar}'
    return document(name, content, f"tag tag-{name}")


def _card(world: World, thread: Thread) -> str:
    excerpt = world.post(thread, 0)[0][:EXCERPT_CHARS]
    author = thread.authors[0]
    return (
        f'<div class="card"><h2>{link(thread.path, thread.title)}</h2><p>{escape(excerpt)}</p>'
        f"{link(f'/u/{author.name}', author.name, 'username')}</div>"
    )


def _tag_pages(world: World, name: str) -> int:
    return -(-len(world.tags[name]) // TAG_THREADS_PER_PAGE)


HELP = ("rules", "privacy", "contact", "formatting", "avatars", "moderation", "badges", "passwords")
YEARS = range(2019, 2027)
WEEKS = range(1, 6)


def service_urls(world: World) -> Iterator[tuple[str, str]]:
    """Yield each URL of this template with its page type."""
    yield from (("/login", "login"), ("/register", "register"), ("/help", "help"), ("/search", "search"))
    yield from ((with_query("/login", {"next": target}), "login") for target in login_targets(world))
    yield from ((f"/help/{name}", "help") for name in HELP)
    yield from ((with_query("/search", {"q": word}), "search") for word in search_words(world))
    for month in _months():
        yield f"/calendar/{month}", "calendar"
        yield from ((f"/calendar/{month}/{week}", "calendar") for week in WEEKS)


def login_targets(world: World) -> Iterator[str]:
    """Yield each path that a log-in link wants to return to."""
    yield from (f"/new/{slug(topic.name)}" for topic in TOPICS)
    yield from (thread.path for thread in world.threads)
    yield from (f"/tag/{tag}" for tag in world.tags)
    yield from (f"/message/{member.name}" for member in world.members)


def search_words(world: World) -> list[str]:
    """Return the words the search page proposes."""
    return sorted(world.tags)


def login(target: str) -> Reply:
    """Render the log-in form; where it leads back to changes nothing one could read."""
    field = f'<input type="hidden" name="next" value="{escape(target)}">'
    form = (
        f'<form method="post">{field}<input name="user"><input name="password"><button>Log in</button></form>'
    )
    help_line = f'<p class="hint">{link("/help/passwords", "Forgot your password?")}</p>'
    return document(
        "Log in", f"<h1>Log in</h1><p>You must be logged in to do this.</p>{form}{help_line}", "login"
    )


def register() -> Reply:
    """Render the registration form."""
    form = '<form method="post"><input name="user"><input name="mail"><button>Register</button></form>'
    return document("Register", f"<h1>Register</h1>{form}{link('/help/rules', 'Rules')}", "register")


def help_page(name: str) -> Reply | None:
    """Render the list of help pages, one of them, or None when there is none."""
    if not name:
        return document(
            "Help", f"<h1>Help</h1>{list_of((link(f'/help/{n}', n) for n in HELP), 'help')}", "help"
        )
    if name not in HELP:
        return None
    rng = random.Random(f"help {name}")
    steps = list_of((escape(paragraph(rng, rng.choice(TOPICS), 1)) for _ in range(6)), "steps")
    return document(f"Help: {name}", f"<h1>{name.capitalize()}</h1>{steps}", "help")


def search(world: World, word: str) -> Reply | None:
    """Render the search form, or what it finds; None for a word it does not propose."""
    if word and word not in world.tags:
        return None
    found = world.tags[word][:10] if word else []
    proposals = (link(with_query("/search", {"q": other}), other) for other in search_words(world)[:60])
    hits = list_of((link(thread.path, thread.title, "hit") for thread in found), "hits")
    return document("Search", f"<h1>Search</h1>{hits}{list_of(proposals, 'proposals')}", "search")


def calendar(month: str, week: str) -> Reply | None:
    """Render a month or one of its weeks, with a link to the next: many pages, bounded, nothing on them."""
    months = _months()
    if month not in months or (week and week not in map(str, WEEKS)):
        return None
    here = months.index(month)
    around = [
        link(f"/calendar/{other}", other) for other in months[max(0, here - 1) : here + 2] if other != month
    ]
    weeks = list_of((link(f"/calendar/{month}/{number}", f"week {number}") for number in WEEKS), "weeks")
    cells = "".join(f"<td>{day}</td>" for day in range(1, 29))
    content = f"<h1>{month} {week}</h1>{''.join(around)}{weeks}<table><tr>{cells}</tr></table>"
    return document(f"Calendar {month}", content, "calendar")


def _months() -> list[str]:
    return [f"{year}-{month:02d}" for year in YEARS for month in range(1, 13)]
