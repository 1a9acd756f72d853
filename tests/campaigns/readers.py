"""Compares the compiled reader of pages with the pure one on pages made to differ.

    PYTHONPATH=tests python -m campaigns.readers --seconds 60 --seed 7 --keep tests/fixtures/native

It joins pieces of markup that parsers stumble over, and takes pages of archives apart and together again, if
some are given. What differs is made small and kept in a folder, and becomes a test
(tests/unit/features/test_compiled_reader.py) that way.
Exits 1 if anything differed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

from linkscore_lab.archives import open_archive
from linkscore_scoring.errors import InvalidPage
from linkscore_scoring.features.html import Extractor
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.kernels import KERNELS, PURE

URL = "http://site.example/forum/list.php?page=2"
PIECES = (
    *("<", ">", "</", "/>", "<!", "<!--", "-->", "--!>", "<!-->", "<!--->", "<?", "<![CDATA[", "]]>"),
    *("&", "=", '"', "'", " ", "\n", "\t", "\r", "\r\n", "\f", "\v", "\0", "\x01", "\x1f", "\x85", "\xa0"),
    *("\u2003", "\ufeff", "\u200b", "é", "日本", "😀", "&amp;", "&lt", "&gt;", "&#13;", "&#0;", "&#x80;"),
    *("&#1114112;", "&#xD800", "&notit;", "&copy=", "&nbsp", "&#x", "&#", "&bogus;", "&quot;", "a", "A", "0"),
    *("x y", "a text of more than twenty-five characters", "class", "href", "CLASS=", "rel=", "alt=", "base"),
    *("id=", 'class="b a b"', "class=c", "class='x\ty'", 'href="/p?b=1&amp;a=2"', "href=q", "href='#top'"),
    *('href="mailto:x"', "href", "href=''", 'rel="NoFollow ugc"', "rel=next", 'alt="An image"', "checked"),
    *("datetime=2020-01-01", "id=top", "style=' href='", "title=' class='", "<!doctype html>", "<base>"),
    *('<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN">', "<base href='/other/'>", "<a>", "</a>"),
    *("<link rel=canonical href=/c>", "<meta name=robots content='index, NOFOLLOW'>", "<meta charset=x>"),
    *("<meta charset=UTF-8>", "<base href=/b/>", "<link rel='x canonical' href=d>"),
    *("<?php a>", "<link rel=Canonical href=e>"),
    *("<meta http-equiv=content-type content='text/html; charset=x'>", "<a href=1>", "<a href=2>", "<img>"),
    *("<meta http-equiv=Refresh content='5; url=/r'>", "xlink:href=/s", "src=/f", "title=' A  frame'", "src"),
    *("shadowrootmode=open", "ShadowRootMode=Closed", "shadowrootmode=x", "<svg>"),
    *("<template shadowrootmode=open>",),
    *("<a href=3/>", "<area href=4 alt=map>", "<img alt=pic>", "<a href='/x' class=n>"),
)  # fmt: skip
TAGS = (
    *("html", "head", "body", "p", "div", "span", "b", "i", "u", "font", "table", "tr", "td", "th", "tbody"),
    *("thead", "caption", "col", "ul", "ol", "li", "dl", "dt", "dd", "form", "option", "select", "h1", "h3"),
    *("hr", "br", "script", "style", "title", "textarea", "noscript", "template", "iframe", "noframes"),
    *("pre", "noembed", "xmp", "plaintext", "frameset", "frame", "center", "a", "img", "area", "svg:a"),
    *("x-y", "A", "DIV", "sCript", "a<b", 'q"r', "h=1", "link", "meta", "base", "isindex", "time", "é"),
    *("svg", "foreignObject", "g", "template", "a", "iframe", "title"),
)  # fmt: skip
MAX_PIECES = 60
"""Pieces that a drawn page is made of, at most: enough for tables in lists in forms."""
SLICE_CHARS = 3_000
"""Longest part of a stored page that is moved, doubled or left out."""
MAX_DIFFERENT = 20
"""Pages that differ from which on fuzzing ends: they are mostly alike. These numbers are chosen."""


class Readers:
    """Both readers side by side.

    Attributes
    ----------
    pages, left
        Pages compared; those the compiled reader left to the pure one, by reason.
    """

    def __init__(self) -> None:
        self.pages = 0
        self.left: Counter[str] = Counter()
        self._pure = Extractor(kernels=PURE)
        self._native = Extractor(kernels=KERNELS, on_left=lambda reason: self.left.update([reason]))

    def difference(self, body: bytes, url: str = URL, content_type: str = "text/html; charset=utf-8") -> str:
        """Return what differs of a page, empty if nothing does; True differs from 1, as in the log."""
        self.pages += 1
        pure, native = (_features(reader, body, url, content_type) for reader in (self._pure, self._native))
        return "" if repr(pure) == repr(native) else "; ".join(_differences(pure, native))


def _features(reader: Extractor, body: bytes, url: str, content_type: str) -> PageFeatures | str:
    try:
        return reader.extract(body, url=url, content_type=content_type, layout=True, title=True)
    except InvalidPage as error:
        return str(error)


def _differences(pure: Any, native: Any) -> Iterator[str]:
    if isinstance(pure, str) or isinstance(native, str):
        yield f"{pure} / {native}"
        return
    for name, value in asdict(pure).items():
        other = asdict(native)[name]
        inner = value if isinstance(value, dict) and isinstance(other, dict) else {"": value}
        for column, wanted in inner.items():
            got = other[column] if column else other
            if repr(wanted) != repr(got):
                yield f"{name} {column}: {str(wanted)[:300]} / {str(got)[:300]}"


def fuzz(readers: Readers, seconds: float, seed: int, stored: list[bytes], keep: Path | None) -> int:
    """Compare pages made by chance, and return how many differ."""
    rng, end, different = Random(seed), time.monotonic() + seconds, 0
    while time.monotonic() < end:
        body = _mutated(rng, rng.choice(stored)) if stored and rng.random() < 0.5 else generated_page(rng)
        if not readers.difference(body):
            continue
        different += 1
        small = _smaller(readers, body)
        print(f"{small!r}\n    {readers.difference(small)}", flush=True)
        if keep:
            keep.mkdir(parents=True, exist_ok=True)
            (keep / f"{sha256(small).hexdigest()[:12]}.html").write_bytes(small)
        if different >= MAX_DIFFERENT:
            break
    return different


def generated_page(rng: Random) -> bytes:
    parts = [_piece(rng) for _ in range(rng.randint(1, MAX_PIECES))]
    return "".join(parts).encode()


def _piece(rng: Random) -> str:
    if rng.random() < 0.5:
        return rng.choice(PIECES)
    name = rng.choice(TAGS)
    if rng.random() < 0.4:
        return f"</{name}>"
    attributes = [rng.choice(PIECES) for _ in range(rng.choice((0, 0, 1, 2, 4)))]
    return f"<{' '.join([name, *attributes])}{rng.choice(('>', '>', '>', '/>', ''))}"


def _mutated(rng: Random, page: bytes) -> bytes:
    start = rng.randrange(max(1, len(page)))
    markup = page[start : start + rng.randint(1, SLICE_CHARS)].decode("utf-8", "replace")
    for _ in range(rng.randint(1, 8)):
        at, to = sorted(rng.randrange(len(markup) + 1) for _ in range(2))
        match rng.randrange(4):
            case 0:
                markup = markup[:at] + _piece(rng) + markup[at:]
            case 1:
                markup = markup[:at] + markup[min(to, at + 20) :]
            case 2:
                markup = markup[:at] + markup[to:] + markup[at:to]
            case _:
                markup = markup[:at] + rng.choice("<>\"'=/ &-") + markup[at + 1 :]
    return markup.encode("utf-8", "replace")


def _smaller(readers: Readers, body: bytes) -> bytes:
    """Take away from a page what is not needed for the difference."""
    markup, size = body.decode("utf-8", "replace"), len(body)
    while size >= 1:
        at = 0
        while at < len(markup):
            less = markup[:at] + markup[at + size :]
            if readers.difference(less.encode("utf-8", "replace")):
                markup = less
            else:
                at += size
        size //= 2
    return markup.encode("utf-8", "replace")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path)
    asked, readers = parser.parse_args(), Readers()
    stored = [record.body for path in asked.paths for record in open_archive([path]).records()]
    different = fuzz(readers, asked.seconds, asked.seed, stored, asked.keep)
    print(f"{readers.pages} pages, {different} differ, left to the pure reader: {dict(readers.left)}")
    sys.exit(different > 0)


if __name__ == "__main__":
    main()
