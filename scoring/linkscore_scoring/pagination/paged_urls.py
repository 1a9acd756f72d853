"""URLs as texts with number slots: what tells the pages of one list apart."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from linkscore_scoring.pagination.anchors import PAGE_NOUNS, fold

_DIGITS = re.compile(r"(?<!%)(?<!%[0-9A-Fa-f])([0-9]+)")
_KEY = re.compile(r"(?:^|[?&;/,])([^?&;=/,#]*?)=$")
_WORD = re.compile(r"([^\W\d_]+)[-_/.,+]?$")

# Characters before a number in which its name is looked for, and query pairs read: bounds of work.
_NAME_CHARS, _MAX_PAIRS = 40, 50
_REMEMBERED = 4_096
"""URLs, and texts before numbers, whose reading is remembered: a bound."""

_PAIR_ENDS = re.compile(r"[&;]|,(?=[a-z_]+=)")
_SIZE_KEYS = "count limit perpage per_page pagesize page_size max-results items_per_page"
_SIZES = frozenset(_SIZE_KEYS.split())
"""Keys that do not tell lists apart: links to other pages count on, or name the size."""


_PAGE_KEYS = """
after b_start b_start:int batch_start before begin by_page comment-page comments_page cp cpage curpage
currentpage cursor d-page display_start first first_item firstresult from fromitem go_page hal halaman
index_page ipage limitstart list_page max_id min npage o offset oldal or p pag page page_id_no page_index
page_no page_num paged paged_comments pageid pageindex pageno pagenum pagenumber pagestart pagin pagina
paging pg pge pgno pi pn pos position postpage row sayfa seite sida side since_id sivu skip st start
start_at start_index startat startindex startpos startrow str strana stranica strona thread_page topicpage
trang updated-max
"""
PAGE_KEYS = frozenset(_PAGE_KEYS.split())
"""Query keys that name a page or the item it begins with."""

_OTHER_KEYS = """
cal calendar count d date day days display fontsize height hitsperpage hour hours ipp items items_per_page
lang limit limitend m max-results minutes month months n num page_size pagesize per_page period perpage
postcount pp rate rating replies resultsperpage rows rpp score show since size stars view_count views vote
votes w week width y year years zoom
"""
OTHER_KEYS = frozenset(_OTHER_KEYS.split())
"""Query keys whose numbers are no pages: sizes, ratings, dates."""

_PATH_WORDS = PAGE_NOUNS | {
    "p",
    "pg",
    "start",
    "offset",
    "paged",
    "pag",
    "strana",
    "comment-page",
    "or",
    "st",
}
_PAGED_TAIL = re.compile(
    r"(?:/comments?(?=-page))?[/_.,;-](?P<word>[^\W\d_]{1,12})?[-_/.=:+]?(?P<n>[0-9]{1,6})$"
)
_EXTENSION = re.compile(r"\.(?:html?|php[0-9]?|aspx?|jsp|cfm|shtml)$")


@dataclass(frozen=True, slots=True)
class Slots:
    """A URL cut at its digit runs."""

    skeleton: str
    values: tuple[int, ...]
    texts: tuple[str, ...]

    def name(self, slot: int) -> str:
        """Return what names a slot: its query key, or the word of the path before it; folded, or empty."""
        return _name_at_end(self.texts[slot][-_NAME_CHARS:])

    def is_query(self, slot: int) -> bool:
        """Say whether a slot stands in the query."""
        return any("?" in text for text in self.texts[: slot + 1])

    def is_free(self, slot: int) -> bool:
        """Say whether a slot stands behind the host, and is not the end of a word unless that names pages."""
        behind_host = any("/" in text for text in self.texts[: slot + 1])
        return behind_host and (not self.texts[slot][-1:].isalpha() or self.names_page(slot))

    def names_page(self, slot: int) -> bool:
        """Say whether the name of a slot is that of a page number or offset."""
        name = self.name(slot)
        return name in PAGE_KEYS if self.is_query(slot) else name in _PATH_WORDS

    def names_other(self, slot: int) -> bool:
        """Say whether the name of a slot is that of a size, a rating or a date, or follows a date."""
        return self.name(slot) in OTHER_KEYS or self._is_day(slot)

    def _is_day(self, slot: int) -> bool:
        """Say whether a slot is month or day: bare path segments after a year, or keys of a date about it."""
        if self.is_query(slot):
            names = {self.name(i) for i in range(len(self.values)) if i != slot}
            return len({"year", "month", "y", "m"} & names) > 0
        return any(
            1900 <= self.values[i] <= 2100
            and all(text in "/-." and text for text in self.texts[i + 1 : slot + 1])
            for i in range(max(0, slot - 2), slot)
        )


@lru_cache(maxsize=_REMEMBERED)
def _name_at_end(text: str) -> str:
    """Return the query key, or the word of the path, that ends a text; a site has few of them."""
    key = _KEY.search(text)
    if key is not None:
        return key[1].lower()
    word = _WORD.search(text)
    return fold(word[1]) if word is not None else ""


@lru_cache(maxsize=_REMEMBERED)
def slots_of(url: str) -> Slots:
    """Return a URL cut at its digit runs; the scheme and a leading ``www.`` do not count. O(length)."""
    parts = _DIGITS.split(_bare(url))
    values = tuple(int(run) if len(run) < 10 else -1 for run in parts[1::2])
    texts = tuple(parts[::2])
    return Slots("#".join(texts), values, texts)


def _bare(url: str) -> str:
    return url.partition("://")[2].removeprefix("www.")


@dataclass(frozen=True, slots=True)
class PagedUrl:
    """A URL without what may name its page."""

    whole: str
    path: str
    query: frozenset[tuple[str, str]]
    number: int | None
    explicit: bool
    counts: bool = False

    @property
    def page(self) -> int:
        """The number of the page, 1 if the URL names none."""
        return 1 if self.number is None else self.number

    def is_list_of(self, other: PagedUrl) -> bool:
        """Say whether two URLs are pages of one list, as far as can be read off them."""
        if self.path not in (other.path, other.whole) and self.whole != other.path:
            return False
        return self.query <= other.query or self.query >= other.query


@lru_cache(maxsize=_REMEMBERED)
def paged(url: str) -> PagedUrl:
    """Return a URL without what may name its page: page-like query keys, or the number that ends the path."""
    address, _, query = _bare(url).partition("#")[0].partition("?")
    whole = _EXTENSION.sub("", address).rstrip("/")
    names, pages, rest = _pairs(query) if query else ([], [], frozenset[tuple[str, str]]())
    if pages:
        return PagedUrl(whole, whole, rest, _number(pages[-1]), explicit=True, counts=_counts(names[-1]))
    tail = _PAGED_TAIL.search(whole)
    if tail is None:
        return PagedUrl(whole, whole, rest, None, explicit=False)
    named = fold(tail["word"] or "") in _PATH_WORDS
    cut = tail.start() if named or not tail["word"] else tail.end("word")
    return PagedUrl(
        whole, whole[:cut], rest, int(tail["n"]), explicit=named, counts=named and _counts(tail["word"])
    )


def _counts(name: str) -> bool:
    folded = fold(name)
    return "pag" in folded or (folded in PAGE_NOUNS and len(folded) > 1)


def _pairs(query: str) -> tuple[list[str], list[str], frozenset[tuple[str, str]]]:
    """Return keys and values of page-like keys, and the pairs of other keys."""
    names, pages, rest = list[str](), list[str](), set[tuple[str, str]]()
    for pair in _PAIR_ENDS.split(query)[:_MAX_PAIRS]:
        key, _, value = pair.partition("=")
        if value and key.lower() in PAGE_KEYS:
            names.append(key)
            pages.append(value)
        elif pair and key.lower() not in _SIZES:
            rest.add((key, value))
    return names, pages, frozenset(rest)


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 10 else -1
