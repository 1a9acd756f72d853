"""Both readers of pages, compiled and pure, side by side, and pages made to differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from random import Random
from typing import Any

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
        return reader.extract(body, url=url, content_type=content_type, layout=True, words=True)
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
