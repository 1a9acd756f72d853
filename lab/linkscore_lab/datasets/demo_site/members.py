"""Members: profiles, the tab of their latest posts, and the list of all of them in several orders."""

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
from linkscore_lab.datasets.demo_site.threads import permalink
from linkscore_lab.datasets.demo_site.world import Member, World
from linkscore_lab.datasets.site import Reply

MEMBERS_PER_PAGE = 25
LATEST = 6
SORTS = {"posts": lambda member: -len(member.posts), "newest": lambda member: -member.number}


def urls(world: World) -> Iterator[tuple[str, str]]:
    """Yield each URL of this template with its page type."""
    for member in world.members:
        yield f"/u/{member.name}", "profile"
        yield f"/u/{member.name}/activity", "member_activity"
    for sort in ("", *SORTS):
        for page in range(1, _pages(world) + 1):
            kind = "member_list_sorted" if sort else "member_list"
            yield with_query("/members", {"sort": sort, "page": page if page > 1 else 0}), kind


def linked_permalinks(world: World) -> Iterator[str]:
    """Yield the permalinks that profiles and activity tabs link to."""
    for member in world.members:
        yield from (permalink(thread, position) for thread, position in member.posts[-LATEST:])


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
    if sort not in ("", *SORTS) or not 1 <= page <= _pages(world):
        return None
    members = sorted(world.members, key=SORTS[sort]) if sort else world.members
    rows = "".join(
        f"<tr><td>{link(f'/u/{member.name}', member.name, 'username')}</td><td>{len(member.posts)}</td></tr>"
        for member in members[(page - 1) * MEMBERS_PER_PAGE : page * MEMBERS_PER_PAGE]
    )
    orders = "".join(link(with_query("/members", {"sort": order}), f"by {order}", "sort") for order in SORTS)
    bar = page_links("/members", page, _pages(world), {"sort": sort})
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


def _pages(world: World) -> int:
    return -(-len(world.members) // MEMBERS_PER_PAGE)
