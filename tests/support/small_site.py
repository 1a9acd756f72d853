"""Pages of a small forum: boards with threads, threads with posts, members. The same at every call."""

from __future__ import annotations

from linkscore.v1 import common_pb2

HOST = "forum.test"
ROOT = f"http://{HOST}"


def url_of(n: int) -> str:
    """Return the URL of page `n`: every fifth a board, every fifth a member, the others threads."""
    kind = ("board", "thread", "thread", "member", "thread")[n % 5]
    return f"{ROOT}/{kind}/{n}"


def body_of(n: int) -> bytes:
    """Return the HTML of page `n`."""
    kind = url_of(n).split("/")[3]
    links = "".join(
        f'<li><a class="{kind}link" href="{url_of((n * 7 + i) % 400)}">go {i}</a></li>' for i in range(12)
    )
    text = f"<p>This is the long text of page number {n}, found on no other page.</p>"
    inner = {
        "board": f'<ul class="threads">{links}</ul>',
        "thread": f'<div class="post">{text}{text}</div><div class="post">{text}</div><ol>{links}</ol>',
        "member": f'<table class="profile"><tr><td>{text}</td></tr></table><ul class="friends">{links}</ul>',
    }[kind]
    nav = f'<div class="nav"><a class="home" href="{ROOT}/">home</a></div>'
    return f'<html><head><title>{n}</title></head><body class="{kind}">{nav}{inner}</body></html>'.encode()


def page(n: int, *, event_id: str | None = None, **fields: object) -> common_pb2.Page:
    """Return page `n` as a crawler sends it; its event id is `page-N` unless given."""
    return common_pb2.Page(
        event_id=f"page-{n}" if event_id is None else event_id,
        url=url_of(n),
        status_code=200,
        content_type="text/html; charset=utf-8",
        body=body_of(n),
        **fields,  # type: ignore[arg-type]
    )
