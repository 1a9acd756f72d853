"""What a page says for people, read apart from linkscore's own reader: the truth that it is judged by."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from lxml import etree
from lxml.html import HTMLParser

_TEXTS = etree.XPath(
    "//text()[not(ancestor::a or ancestor::script or ancestor::style or ancestor::noscript)]",
    smart_strings=False,
)
_LINKS = etree.XPath("//a/@href", smart_strings=False)
_BASE = etree.XPath("string(//base/@href)", smart_strings=False)
_NUMBERS = re.compile(r"\d+")
_LETTER = re.compile(r"[^\W\d_]")
_SHARED, _SHARED_SHARE = 4, 0.05
"""Pages, and share of a site's pages, that a text may be on and still be a page's own: a post, its list, its
tag and its month have it. What more pages show is furniture. Chosen, not measured."""


class PageTexts:
    """One version of a page: its texts outside links, numbers aside, and where its links lead.

    A number is no text: counters, dates and hours of a build are not what a page says.
    """

    __slots__ = ("base", "hrefs", "texts")

    def __init__(self, body: bytes) -> None:
        self.texts: frozenset[int] = frozenset()
        self.hrefs: list[str] = []
        self.base = ""
        try:
            root = etree.fromstring(body, HTMLParser(encoding="utf-8")) if body.strip() else None
        except etree.ParserError:
            root = None
        if root is not None:
            said = (_NUMBERS.sub("0", " ".join(text.split())) for text in _TEXTS(root))
            self.texts = frozenset(hash(text) for text in said if _LETTER.search(text))
            self.hrefs, self.base = _LINKS(root), _BASE(root)


class SiteTexts:
    """Counts on how many pages of a site each text is now."""

    def __init__(self) -> None:
        self._pages: Counter[int] = Counter()
        self._n_pages = 0

    def replace(self, versions: Iterable[tuple[frozenset[int] | None, frozenset[int] | None]]) -> list[bool]:
        """Take in what one build wrote; return of each page whether its own text changed."""
        pairs = list(versions)
        before = {text: self._pages[text] for pair in pairs for text in pair[0] or ()}
        for old, new in pairs:
            self._pages.subtract(old or ())
            self._pages.update(new or ())
            self._n_pages += (new is not None) - (old is not None)
        most = max(_SHARED, _SHARED_SHARE * self._n_pages)
        return [
            old is not None
            and new is not None
            and any(max(before.get(text, 0), self._pages[text]) <= most for text in old ^ new)
            for old, new in pairs
        ]
