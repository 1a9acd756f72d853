"""A forum of any size, generated into an archive: an entry, lists, threads and profiles.

Deterministic in its size. Three quarters of the pages are threads, twenty to a list; list p links to lists
p + 1, 2 p and 2 p + 1, so that depth grows with the logarithm of the size.
"""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

HOST = "https://forum.test"
PER_LIST = 20
POSTS = 5
_WORDS = tuple("abcdefghijklmnopqrstuvwxyz")


def write_site(path: Path, pages: int) -> None:
    """Write a WARC file of `pages` pages (at least 100), one gzip member a record, the entry first."""
    with path.open("wb") as out:
        for url, body in site_pages(pages):
            out.write(gzip.compress(_record(url, body), compresslevel=1, mtime=0))


def site_pages(pages: int) -> Iterator[tuple[str, bytes]]:
    """Yield URL and body of each page."""
    threads = pages * 3 // 4
    lists = -(-threads // PER_LIST)
    profiles = pages - 1 - threads - lists
    yield (
        f"{HOST}/",
        _page("Forum", "index", [_links("boards", [_list(p) for p in range(1, min(lists, 10) + 1)])]),
    )
    for p in range(1, lists + 1):
        yield HOST + _list(p), _list_page(p, lists, threads, profiles)
    for i in range(threads):
        yield f"{HOST}/thread/{i}", _thread_page(i, threads, profiles)
    for j in range(profiles):
        yield f"{HOST}/user/{j}", _page(f"User {j}", "profile", [f'<p class="about">{_text(j, 30)}</p>'])


def is_thread(key: str) -> bool:
    """Say whether a page is one of the threads."""
    return key.startswith(f"{HOST}/thread/")


def _list(p: int) -> str:
    return f"/list/{p}"


def _list_page(p: int, lists: int, threads: int, profiles: int) -> bytes:
    near = [_list(q) for q in dict.fromkeys((p + 1, 2 * p, 2 * p + 1)) if q <= lists]
    shown = range((p - 1) * PER_LIST, min(p * PER_LIST, threads))
    rows = [
        f'<tr><td class="topic"><a href="/thread/{i}">{_text(i, 4)}</a></td>'
        f'<td class="by"><a href="/user/{i % profiles}">user {i % profiles}</a></td></tr>'
        for i in shown
    ]
    return _page(f"List {p}", "list", [f"<table>{''.join(rows)}</table>", _links("pager", near)])


def _thread_page(i: int, threads: int, profiles: int) -> bytes:
    posts = [
        f'<div class="post"><a class="author" href="/user/{(i + k) % profiles}">user {(i + k) % profiles}</a>'
        f'<p class="text">{_text(i * POSTS + k, 25)}</p></div>'
        for k in range(POSTS)
    ]
    related = [f"/thread/{(i * 7 + k) % threads}" for k in (1, 2, 3)]
    back = [_list(i // PER_LIST + 1)]
    return _page(f"Thread {i}", "thread", [_links("crumbs", back), *posts, _links("related", related)])


def _page(title: str, kind: str, parts: Sequence[str]) -> bytes:
    menu = '<ul id="menu"><li><a href="/">Home</a></li><li><a href="/list/1">Topics</a></li></ul>'
    body = f'<body class="{kind}">{menu}<h1>{title}</h1><div id="main">{"".join(parts)}</div></body>'
    return f"<!doctype html><html><head><title>{title}</title></head>{body}</html>".encode()


def _links(name: str, paths: Sequence[str]) -> str:
    items = "".join(f'<li><a href="{path}">{path}</a></li>' for path in paths)
    return f'<ul class="{name}">{items}</ul>'


def _text(seed: int, words: int) -> str:
    return f"{seed} " + " ".join(random.Random(seed).choices(_WORDS, k=words))


def _record(url: str, body: bytes) -> bytes:
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + body
    head = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return head.encode() + block + b"\r\n\r\n"
