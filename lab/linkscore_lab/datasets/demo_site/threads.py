"""Discussions: four looks of one template, cut into pages, and permalinks of posts that copy their page."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from linkscore_lab.datasets.demo_site.layout import (
    document,
    link,
    list_of,
    page_links,
    paragraphs,
    with_query,
)
from linkscore_lab.datasets.demo_site.words import slug
from linkscore_lab.datasets.demo_site.world import POSTS_PER_PAGE, Thread, World
from linkscore_lab.datasets.site import Reply


def urls(world: World) -> Iterator[tuple[str, str]]:
    """Yield each URL of this template with its page type."""
    for thread in world.threads:
        yield thread.path, "thread"
        for page in range(2, thread.pages + 1):
            yield _page_path(thread, page), "thread_page"


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
    return _render(world, found, page) if 1 <= page <= found.pages else None


def _render(world: World, found: Thread, page: int) -> Reply:
    first = (page - 1) * POSTS_PER_PAGE
    last = min(first + POSTS_PER_PAGE, len(found.authors))
    posts = "".join(_post(world, found, position) for position in range(first, last))
    bar = page_links(found.path, page, found.pages)
    content = (
        f"{_crumbs(found)}<h1>{escape(found.title)}</h1>{_opening(found, page)}{bar}"
        f'<section class="{_LISTS[found.kind]}">{posts}</section>{bar}{_reply_bar(found)}'
    )
    css = f"thread thread-{found.kind} topic-{found.number}"
    return document(found.title, content, css, _page_path(found, page), _similar(world, found))


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


def _page_path(found: Thread, page: int) -> str:
    return with_query(found.path, {"page": page if page > 1 else 0})
