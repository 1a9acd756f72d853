"""Front page and boards: lists of threads, each list again in other sort orders."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from linkscore_lab.datasets.demo_site.layout import document, link, page_links, with_query
from linkscore_lab.datasets.demo_site.words import TOPICS, Topic, slug
from linkscore_lab.datasets.demo_site.world import Thread, World
from linkscore_lab.datasets.site import Reply

THREADS_PER_PAGE = 20
SORTS = {
    "replies": lambda thread: -len(thread.authors),
    "views": lambda thread: -thread.views,
    "title": lambda thread: thread.title,
}


def urls(world: World) -> Iterator[tuple[str, str]]:
    """Yield each URL of this template with its page type."""
    yield "/", "home"
    for topic in TOPICS:
        for sort in ("", *SORTS):
            for page in range(1, _pages(world, topic) + 1):
                yield _path(topic, sort, page), _page_type(sort, page)


def home(world: World) -> Reply:
    """Render the front page: every board, and what is new."""
    rows = "".join(_board_row(world, topic) for topic in TOPICS)
    newest = "".join(f"<li>{link(thread.path, thread.title)}</li>" for thread in reversed(world.threads[-8:]))
    content = f'<h1>Boards</h1><div class="boardlist">{rows}</div>'
    return document("Boards", content, "home", side=f"<h3>New threads</h3><ul>{newest}</ul>")


def board(world: World, name: str, sort: str, page: int) -> Reply | None:
    """Render one page of a board, or None; another sort order names the default one as canonical."""
    topic = next((topic for topic in TOPICS if slug(topic.name) == name), None)
    if topic is None or sort not in ("", *SORTS) or not 1 <= page <= _pages(world, topic):
        return None
    threads = sorted(world.board(topic), key=SORTS[sort]) if sort else world.board(topic)
    shown = threads[(page - 1) * THREADS_PER_PAGE : page * THREADS_PER_PAGE]
    path = _path(topic, "", 1)
    content = (
        f"<h1>{escape(topic.name)}</h1>{_sort_bar(topic)}"
        f'<table class="threads"><tbody>{"".join(_thread_row(thread) for thread in shown)}</tbody></table>'
        f"{page_links(path, page, _pages(world, topic), {'sort': sort})}"
    )
    canonical = _path(topic, "", page) if sort else ""
    return document(topic.name, content, f"board board-{TOPICS.index(topic)}", canonical)


def _board_row(world: World, topic: Topic) -> str:
    threads = world.board(topic)
    latest = threads[0]
    last_post = with_query(latest.path, {"p": latest.first_post + len(latest.authors) - 1})
    return (
        f'<div class="boardrow"><h2>{link(_path(topic, "", 1), topic.name)}</h2>'
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
    orders = "".join(link(_path(topic, sort, 1), f"by {sort}", "sort") for sort in SORTS)
    ask = link(with_query("/login", {"next": f"/new/{slug(topic.name)}"}), "New thread", "button", "nofollow")
    return f'<div class="toolbar">{orders}{ask}</div>'


def _pages(world: World, topic: Topic) -> int:
    return -(-len(world.board(topic)) // THREADS_PER_PAGE)


def _path(topic: Topic, sort: str, page: int) -> str:
    return with_query(f"/board/{slug(topic.name)}", {"sort": sort, "page": page if page > 1 else 0})


def _page_type(sort: str, page: int) -> str:
    if sort:
        return "board_sorted"
    return "board" if page == 1 else "board_page"
