"""Tags: for each, its threads with an excerpt of the first post - text a thread page shows too."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from linkscore_lab.datasets.demo_site.layout import document, link, list_of, page_links, with_query
from linkscore_lab.datasets.demo_site.world import Thread, World
from linkscore_lab.datasets.site import Reply

THREADS_PER_PAGE = 10
EXCERPT_CHARS = 140


def urls(world: World) -> Iterator[tuple[str, str]]:
    """Yield each URL of this template with its page type."""
    yield "/tags", "tag_index"
    for tag in world.tags:
        for page in range(1, _pages(world, tag) + 1):
            yield (
                with_query(f"/tag/{tag}", {"page": page if page > 1 else 0}),
                "tag" if page == 1 else "tag_page",
            )


def index(world: World) -> Reply:
    """Render the list of all tags."""
    tags = sorted(world.tags)
    cloud = (f"{link(f'/tag/{tag}', tag, 'tag')} <em>{len(world.tags[tag])}</em>" for tag in tags)
    return document("Tags", f"<h1>Tags</h1>{list_of(cloud, 'cloud')}", "tags")


def tag(world: World, name: str, page: int) -> Reply | None:
    """Render one page of a tag's threads, or None when there is none."""
    if name not in world.tags or not 1 <= page <= _pages(world, name):
        return None
    threads = list(reversed(world.tags[name]))[(page - 1) * THREADS_PER_PAGE : page * THREADS_PER_PAGE]
    cards = "".join(_card(world, thread) for thread in threads)
    follow = link(with_query("/login", {"next": f"/tag/{name}"}), "Follow this tag", "button", "nofollow")
    bar = page_links(f"/tag/{name}", page, _pages(world, name))
    content = f'<h1>Threads about {escape(name)}</h1>{follow}<div class="cards">{cards}</div>{bar}'
    return document(name, content, f"tag tag-{name}")


def _card(world: World, thread: Thread) -> str:
    excerpt = world.post(thread, 0)[0][:EXCERPT_CHARS]
    author = thread.authors[0]
    return (
        f'<div class="card"><h2>{link(thread.path, thread.title)}</h2><p>{escape(excerpt)}</p>'
        f"{link(f'/u/{author.name}', author.name, 'username')}</div>"
    )


def _pages(world: World, name: str) -> int:
    return -(-len(world.tags[name]) // THREADS_PER_PAGE)
