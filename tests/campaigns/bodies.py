"""Page bodies that nobody wrote: pages of sites cut, joined and damaged, and tags in any order."""

from __future__ import annotations

import gzip
import random
import zlib
from collections.abc import Callable
from functools import cache

import brotli
import zstandard

from linkscore_lab.datasets.demo_site import DemoSite
from support.hostile import PAGES
from support.small_site import body_of

MAX_BODY = 3_000
"""Bytes of most bodies: what is wrong with a page shows in few tags, and a million pages take an hour."""

_EVERY = 100  # of the pages of the demonstration site one is taken
_FAMILY_BYTES = (40, 300, 2_000)  # sizes that hostile families are made in
_TEXT = (
    b"x", b"a title of some words",
    b"\xc3\xa9\xe4\xb8\xad", b"\xff\xfe", b"&amp;&#x110000;&#0;", b"\x00", b"12 minutes ago",
    b"2026-02-31T25:61",
)  # fmt: skip
_NAMES = (
    b"html head body base a p div span ul li table tr td h1 h2 time img form input script style title meta"
    b" link noscript template svg iframe frameset option select br hr textarea plaintext x:y \xc3\xa9"
).split()
_ATTRIBUTES = (
    b'href="/a"',
    b"href=//h/%41?b=c#d", b'href="javascript:void(0)"', b'href="http://[::1"', b"href=../../..",
    b'href="http://\xe4\xb8\xad.test:99999/"', b'href="?page=2"',
    b'href="/a;jsessionid=AB12?PHPSESSID=1&amp;x=%zz"', b"href", b"class='a b a'", b"class=\xff", b"id=x",
    b"rel='nofollow next'", b"rel=canonical", b"datetime=2026-01-02", b"content='noindex,nofollow'",
    b"name=robots", b"charset=utf-16", b"http-equiv=refresh", b"content='0;url=/x'", b"srcset='a 1x, b 2x'",
    b"alt='a b'", b"style='display:none'", b"title=\"'\"", b"xmlns:x=y", b"=", b'"', b"a" * 300,
)  # fmt: skip
_WHOLE = (
    b"<!--", b"-->", b"<![CDATA[", b"]]>", b"<?xml version='1.0' encoding='utf-7'?>", b"<!DOCTYPE html>",
    b"<", b">", b"</", b"<a<b", b"'>",
)  # fmt: skip
CONTENT_TYPES = (
    "text/html", "text/html; charset=utf-8", "", "text/html; charset=gb18030", "text/html; charset=utf-16",
    "text/html; charset=utf-7", "application/xhtml+xml", "text/plain", "application/pdf", "image/png;",
    "TEXT/HTML;;=", 'text/html; charset="', "text/html; charset=shift_jis",
    "text/html; charset=x-user-defined",
)  # fmt: skip
ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda raw: gzip.compress(raw, 1, mtime=0),
    "deflate": lambda raw: zlib.compress(raw, 1),
    "br": lambda raw: brotli.compress(raw, quality=1),
    "zstd": zstandard.ZstdCompressor(1).compress,
}
"""What `Content-Encoding` may say, and how a body gets it."""


@cache
def stored() -> tuple[bytes, ...]:
    """Return pages to begin with: of two made-up sites, and every hostile family in three sizes."""
    demo = DemoSite()
    pages = [demo.respond(url).body for url in list(demo.labels())[::_EVERY]]
    pages += [body_of(n) for n in range(10)]
    pages += [family.body(size) for family in PAGES.values() for size in _FAMILY_BYTES]
    return tuple(page for page in pages if page)


def body(rng: random.Random) -> bytes:
    """Return a body: one in three is made of tags alone, the others are stored pages changed."""
    if rng.random() < 0.33:
        return tags(rng)
    page = rng.choice(stored())
    if len(page) > MAX_BODY:
        at = rng.randrange(len(page) - MAX_BODY // 2)
        page = page[at : at + MAX_BODY]
    for _ in range(rng.choice((0, 1, 1, 2, 3, 8))):
        page = rng.choice(_CHANGES)(rng, page)
    return page


def tags(rng: random.Random) -> bytes:
    """Return tags, texts and broken markup in any order, in elements of any depth."""
    parts: list[bytes] = []
    for _ in range(rng.choice((1, 5, 20, 60))):
        kind = rng.random()
        if kind < 0.5:
            chosen = rng.choices(_ATTRIBUTES, k=rng.choice((0, 1, 1, 2, 4)))
            parts.append(
                b"<" + b" ".join([rng.choice(_NAMES), *chosen]) + rng.choice((b">", b"/>", b"", b" >"))
            )
        elif kind < 0.7:
            parts.append(b"</" + rng.choice(_NAMES) + b">")
        else:
            parts.append(rng.choice(_TEXT if kind < 0.92 else _WHOLE))
    return b"".join(parts)


def encoded(rng: random.Random, raw: bytes) -> tuple[bytes, str]:
    """Return a body as sent and its `Content-Encoding`, which is true most of the time."""
    names = rng.choices(
        [*ENCODERS, "identity", "x-gzip", "compress", "gzip, gzip", "\x00"], k=rng.choice((0, 0, 0, 0, 1))
    )
    for name in names:
        if name in ENCODERS and rng.random() < 0.9:
            raw = ENCODERS[name](raw)
    if names and rng.random() < 0.2:
        raw = _flipped(rng, raw)
    return raw, ", ".join(names)


def _flipped(rng: random.Random, page: bytes) -> bytes:
    changed = bytearray(page or b"x")
    for _ in range(rng.choice((1, 2, 10))):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def _cut(rng: random.Random, page: bytes) -> bytes:
    start, end = _span(rng, page)
    return page[:start] + page[end:]


def _doubled(rng: random.Random, page: bytes) -> bytes:
    start, end = _span(rng, page)
    return (page[:end] + page[start:])[: 2 * MAX_BODY]


def _spliced(rng: random.Random, page: bytes) -> bytes:
    other = rng.choice(stored())[:MAX_BODY]
    return page[: rng.randrange(len(page) + 1)] + other[rng.randrange(len(other)) :]


def _inserted(rng: random.Random, page: bytes) -> bytes:
    at = rng.randrange(len(page) + 1)
    return page[:at] + tags(rng) + page[at:]


def _span(rng: random.Random, page: bytes) -> tuple[int, int]:
    start = rng.randrange(len(page) + 1)
    return start, min(len(page), start + rng.choice((1, 8, 64, 512)))


_CHANGES = (_flipped, _cut, _doubled, _spliced, _inserted)
