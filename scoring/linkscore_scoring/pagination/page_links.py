"""Which links of one page link pages, by anchors and URLs alone; and the first pages of the lists of a site.

URLs are texts with number slots, which tell the pages of one list apart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import compress, count, pairwise, repeat
from operator import contains, is_not
from typing import NamedTuple

from linkscore_scoring.columns import drop_oldest
from linkscore_scoring.features.words import fold
from linkscore_scoring.pagination.anchors import (
    FIRST,
    LAST,
    NEXT,
    NO_PAGE_LINK,
    NOTHING,
    PAGE,
    PAGE_NOUNS,
    PREV,
    Mark,
    read_anchor,
)
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.types import PageObservation

# Characters at the end of a URL that are searched for a page number: a digit and ``.shtml``, or a slash.
_MAX_ENDING = 7
_ENDS_IN_NUMBER = re.compile(r"[0-9](?:/|\.[a-z0-9]{3,5})?$").search
_REMEMBERED = 4_096  # URLs, and texts before numbers: a bound, sites have few


def find_page_links(page_url: str, urls: Sequence[str], anchors: Sequence[str]) -> list[int]:
    """Return the kind of page link each link of a page is, 0 for none; see `anchors`.

    Differences from the paper: no destination is fetched, URLs and words decide.
    """
    read = read_anchor.of_all(anchors)
    marks = dict(compress(enumerate(read), map(is_not, read, repeat(NOTHING))))
    own = paged(page_url)
    base, is_paged = own.path.partition("/")[2], own.number is None or own.counts
    kinds = [NO_PAGE_LINK] * len(urls)
    for row in compress(count(), map(contains, urls, repeat(base))) if is_paged else ():
        if urls[row] != page_url:
            kinds[row] = _turn(own, urls[row])
    if not marks:
        return kinds
    groups = page_link_groups(page_url, urls, marks)
    for row, kind in _named_page_links(page_url, urls, marks, groups).items():
        kinds[row] = kind
    for row in (row for group in groups for row in group.rows):
        kinds[row] = PAGE
    return kinds


def _turn(own: PagedUrl, url: str) -> int:
    """Return how a URL alone says that it turns one page on or back, whatever the text of its link."""
    if "?" not in url and not _ENDS_IN_NUMBER(url, len(url) - _MAX_ENDING):
        return NO_PAGE_LINK
    target = paged(url)
    if not target.counts or target.query != own.query or not target.is_list_of(own):
        return NO_PAGE_LINK
    return {1: NEXT, -1: PREV}.get(target.page - own.page, NO_PAGE_LINK) if target.page > 0 else NO_PAGE_LINK


_BESIDE = 3
"""Rows between numbered page links and words beside them; chosen with the labelled links in view."""

_AROUND = [step for step in range(-_BESIDE, _BESIDE + 1) if step]
_NAMED = (NEXT, PREV, FIRST, LAST)


def _named_page_links(
    page_url: str,
    urls: Sequence[str],
    marks: dict[int, Mark],
    groups: Sequence[PageLinkGroup],
) -> dict[int, int]:
    """Return the kind of each named page link, by row. Cost O(candidates x groups), groups are few."""
    named = [row for row, mark in marks.items() if mark.kind in _NAMED]
    if not named:
        return {}
    own = paged(page_url)
    host = own.whole.partition("/")[0]
    beside = {row + step for group in groups for row in group.rows for step in _AROUND}
    firsts = {urls[group.rows[0]] for group in groups if group.numbers[0] == 1}
    lists = [own, *(paged(urls[group.rows[-1]]) for group in groups)]
    found: dict[int, int] = {}
    for row in named:
        url = urls[row]
        target, slots = paged(url), slots_of(url)
        if not url or target.whole.partition("/")[0] != host:
            continue
        if (
            url in firsts
            or any(group.page_of(slots) for group in groups)
            or (row in beside and any(map(target.is_list_of, lists)))
            or (url != page_url and _turns(marks[row], target, own))
        ):
            found[row] = marks[row].kind
    return found | _bars(named, marks, found)


def _turns(mark: Mark, target: PagedUrl, own: PagedUrl) -> bool:
    """Say whether a link turns from the page's own URL to another page of its list."""
    if mark.names_pages:
        return True
    if not target.is_list_of(own) or (target.page == own.page and target.query != own.query):
        return False
    if target.explicit or own.explicit:
        return True
    return target.number is not None and own.number is None and not mark.is_arrow


def _bars(rows: Sequence[int], marks: dict[int, Mark], found: dict[int, int]) -> dict[int, int]:
    """Return the rows of bars such as ``first < > last``: an end and a step in a row."""
    runs: list[dict[int, int]] = []  # kinds by row
    for row in rows:
        kind = marks[row].kind
        if runs and row - max(runs[-1]) <= _BAR_GAP and kind not in runs[-1].values():
            runs[-1][row] = kind
        else:
            runs.append({row: kind})
    bars: dict[int, int] = {}
    for run in runs:
        kinds = set(run.values())
        if kinds & {FIRST, LAST} and kinds & {NEXT, PREV} and found.keys().isdisjoint(run):
            bars |= run
    return bars


_GAP = 3
"""Rows between two links of one group: arrows, `...`. Chosen with the labelled links in view
(docs/reference/recognition.md).
"""

_BAR_GAP = 2
"""Rows between two links of a bar; chosen alike."""

_BEFORE = 6
"""Rows before a lone number among which the first page of its list may stand; chosen alike."""

_LEAST_SLOTS = 2
"""Numbers in a URL from which one of them may be a page number though nothing names it."""

_MANY = 10_000
"""A page number on a page whose own is larger than this is an id of something."""

_REMEMBERED_RUNS, _REMEMBERED_CHARS = 1_024, 4_096
"""Runs of numbered links whose groups are remembered, and characters of their URLs: bounds, 4 MB together."""

_YEARS = range(1900, 2101)
"""Numbers that are years if all of a group are."""


@dataclass(slots=True)
class PageLinkGroup:
    """Numbered links of one list."""

    rows: list[int]
    numbers: list[int]
    slots: Slots
    lines: dict[int, tuple[int, int]] = field(default_factory=dict)

    def page_of(self, slots: Slots) -> int:
        """Return which page of the list a URL is, 0 if it is none."""
        if slots.skeleton != self.slots.skeleton or not self.lines:
            return 0
        pages: set[int] = set()
        for slot, (value, mine) in enumerate(zip(slots.values, self.slots.values, strict=True)):
            if slot not in self.lines:
                if value != mine:
                    return 0
                continue
            a, c = self.lines[slot]
            if value < c or (value - c) % a:
                return 0
            pages.add((value - c) // a + 1)
        return pages.pop() if len(pages) == 1 else 0


def page_link_groups(page_url: str, urls: Sequence[str], marks: dict[int, Mark]) -> list[PageLinkGroup]:
    """Return the groups of numbered page links among the links of a page."""
    rows = [row for row, mark in marks.items() if mark.kind == PAGE and urls[row]]
    if not rows:
        return []
    host = slots_of(page_url).texts[0].partition("/")[0]
    found: list[PageLinkGroup] = []
    for run in _runs(rows):
        is_short = sum(len(urls[row]) for row in run) <= _REMEMBERED_CHARS
        groups_of = _remembered_groups if is_short else _groups_of_run
        for group, says in groups_of(tuple([(marks[row].number, urls[row]) for row in run])):
            if group.slots.texts[0].startswith(host):
                here = PageLinkGroup([run[at] for at in group.rows], group.numbers, group.slots, group.lines)
                if group.lines or _is_lone_page_link(here, page_url, urls, says=says):
                    found.append(here)
    return found


def _runs(rows: list[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for row in rows:
        if runs and row - runs[-1][-1] <= _GAP:
            runs[-1].append(row)
        else:
            runs.append([row])
    return runs


def _groups_of_run(run: tuple[tuple[int, str], ...]) -> list[tuple[PageLinkGroup, bool]]:
    """Return the groups in a run of numbers and URLs that may be page links, and if their URLs say so alone.

    Rows count from the first link of the run. Lists show the same on page after page, so short runs are
    remembered.
    """
    urls = [url for _, url in run]
    groups: list[PageLinkGroup] = []
    for row, (number, url) in enumerate(run):
        slots = slots_of(url)
        if not (groups and _join(groups[-1], row, number, slots)):
            groups.append(PageLinkGroup([row], [number], slots))
    _add_first_pages(groups, urls)
    found = []
    for group in filter(_may_be_pagination, groups):
        number = group.numbers[-1]
        says = _says(group.slots, number) or (number == 1 and paged(urls[group.rows[-1]]).explicit)
        found.append((group, says))
    return found


_remembered_groups = lru_cache(maxsize=_REMEMBERED_RUNS)(_groups_of_run)


def _join(group: PageLinkGroup, row: int, number: int, slots: Slots) -> bool:
    """Add a link to a group if it is on its line; the second one draws the line."""
    if slots.skeleton != group.slots.skeleton or number in group.numbers:
        return False
    if not group.lines:
        group.lines = _lines(group.numbers[0], group.slots, number, slots)
    if group.page_of(slots) != number:
        return False
    group.rows.append(row)
    group.numbers.append(number)
    return True


def _lines(n: int, one: Slots, m: int, other: Slots) -> dict[int, tuple[int, int]]:
    """Return the lines through two links, empty unless every slot that differs has one."""
    lines: dict[int, tuple[int, int]] = {}
    for slot, (v, w) in enumerate(zip(one.values, other.values, strict=True)):
        if v == w:
            continue
        a, rest = divmod(w - v, m - n)
        c = v - a * (n - 1)
        if rest or a < 1 or v < 0 or w < 0 or c not in (0, 1, a) or one.names_other(slot):
            return {}
        lines[slot] = a, c
    return lines


def _add_first_pages(groups: list[PageLinkGroup], urls: Sequence[str]) -> None:
    """Let groups take in the number before them whose URL has no slot: the first page of the list."""
    for before, after in pairwise(groups):
        if len(before.rows) == 1 and before.numbers[0] < min(after.numbers) and _is_base(before, after, urls):
            after.rows.insert(0, before.rows[0])
            after.numbers.insert(0, before.numbers[0])
            before.rows.clear()
    groups[:] = [group for group in groups if group.rows]


def _is_base(first: PageLinkGroup, group: PageLinkGroup, urls: Sequence[str]) -> bool:
    if first.numbers[0] != 1:
        return False
    base, page = paged(urls[first.rows[0]]), paged(urls[group.rows[-1]])
    return base.is_list_of(page) or slots_of(urls[first.rows[0]]).texts[0][:24] == group.slots.texts[0][:24]


def _may_be_pagination(group: PageLinkGroup) -> bool:
    """Say whether numbers may be those of pages: not years, nor sizes (10, 25, 50) that name themselves, nor
    unnamed amounts (1, 7, 30 days) of which none follows another.
    """
    numbers = group.numbers
    if all(number in _YEARS for number in numbers):
        return False
    has_steps = any(m - n == 1 for n, m in pairwise(sorted(numbers)))
    if not group.lines or has_steps or any(map(group.slots.names_page, group.lines)):
        return True
    are_sizes = min(numbers) > 2 and all(n % 5 == 0 for n in numbers)
    return not are_sizes and any(line != (1, 1) for line in group.lines.values())


def _is_lone_page_link(group: PageLinkGroup, page_url: str, urls: Sequence[str], *, says: bool) -> bool:
    """Say whether a group of one number, or of 1 and one other, is of a list that is in sight."""
    row, number = group.rows[-1], group.numbers[-1]
    if _turns_own(slots_of(page_url), group.slots, number):
        return True
    if not says:
        return False
    target = paged(urls[row])
    near = {page_url, *urls[max(0, row - _BEFORE) : row]} - {"", urls[row]}
    # Pages of one list, and a number that is there on both is named as a page.
    return any(
        target.is_list_of(other) and (target.explicit or target.path == other.whole)
        for other in map(paged, near)
    )


def _turns_own(own: Slots, target: Slots, number: int) -> bool:
    """Say whether a URL is the page's own but for the page number, which is one of several numbers in it."""
    if own.skeleton != target.skeleton or len(own.values) < _LEAST_SLOTS or number < 1:
        return False
    slots = [
        slot
        for slot, values in enumerate(zip(own.values, target.values, strict=True))
        if len(set(values)) > 1
    ]
    if len(slots) != 1 or target.names_other(slots[0]):
        return False
    mine, other = own.values[slots[0]], target.values[slots[0]]
    is_first = mine in (0, 1) and number > 1 and other > 1 and (other - mine) % (number - 1) == 0
    return is_first or (other in (number, number - 1) and mine < _MANY)


def _says(slots: Slots, number: int) -> bool:
    """Say whether a slot has the page number, counted from 0 or 1, or under a page's name any offset."""
    named = False
    for slot, value in enumerate(slots.values):
        if value < 0 or not slots.is_free(slot):
            continue
        if slots.names_other(slot):
            if value == number:
                return False
        elif number > 1 and value in (number, number - 1):
            named = True
        elif number > 1 and value > 0 and slots.names_page(slot):
            named |= value % (number - 1) in (0, 1)
    return named


_DIGITS = re.compile(r"(?<!%)(?<!%[0-9A-Fa-f])([0-9]+)")
_KEY = re.compile(r"(?:^|[?&;/,])([^?&;=/,#]*?)=$")
_WORD = re.compile(r"([^\W\d_]+)[-_/.,+]?$")

# Characters before a number in which its name is looked for, and query pairs read: bounds of work.
_NAME_CHARS, _MAX_PAIRS = 40, 50
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


class Slots(NamedTuple):
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
    parts = _DIGITS.split(url.partition("://")[2].removeprefix("www."))
    values = tuple(int(run) if len(run) < 10 else -1 for run in parts[1::2])
    texts = tuple(parts[::2])
    return Slots("#".join(texts), values, texts)


class PagedUrl(NamedTuple):
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

    def turns_to(self, other: PagedUrl) -> bool:
        """Say whether two URLs are different pages of one list, and one of them names its page."""
        return self != other and (self.explicit or other.explicit) and self.is_list_of(other)


@lru_cache(maxsize=_REMEMBERED)
def paged(url: str) -> PagedUrl:
    """Return a URL without what may name its page: page-like query keys, or the number that ends the path."""
    bare = url.partition("://")[2].removeprefix("www.")
    address, _, query = bare.partition("#")[0].partition("?")
    whole = _EXTENSION.sub("", address).rstrip("/")
    names, pages, rest = _pairs(query) if query else ([], [], frozenset())
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
    names, pages, rest = [], [], set()
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


class FirstPages(Stateful):
    """The first pages of lists and threads, by the page links of their pages; memory O(max_pages)."""

    _firsts: Stored[dict[int, tuple[int, str]]]  # hash of the identity, and URL, by that of each page

    def __init__(self) -> None:
        self.max_pages = 50_000

    def first_page(self, key: int) -> str:
        """Return the URL of the first page of the list of a page, by identity hash; empty if of none."""
        first = self._firsts.get(key, (key, ""))
        return self._firsts.get(first[0], first)[1]

    def observe(self, page: PageObservation) -> None:
        """Learn from the page links of a page, and from the canonical form that it links to."""
        links, own = page.links, paged(page.url)
        starts = dict[object, tuple[int, str]]()
        turning = [row for row, kind in enumerate(page.page_links) if kind]
        for key, url in zip(links.keys, links.urls, strict=True) if turning else ():
            if not (bare := paged(url)).explicit:
                starts.setdefault((bare.whole, bare.query), (key, url))
        here, heads = list[int](), set[int]()  # rows of the page's own list, and first pages of others
        for row in turning:
            to, target = paged(links.urls[row]), (links.keys[row], links.urls[row])
            start = starts.get((to.path, to.query), target)
            if start in (target, (page.key, page.url)) or (to.path, to.query) == (own.path, own.query):
                here.append(row)
            else:
                self._firsts[target[0]] = start
                heads.add(start[0])
        if here := [row for row in here if links.keys[row] not in heads]:
            first = starts.get((own.path, own.query)) if own.explicit else None
            for row in here:
                if page.page_links[row] == FIRST or read_anchor(links.anchors[row]).number == 1:
                    first = first or (links.keys[row], links.urls[row])
            first = first or self._firsts.get(page.key, (page.key, page.url))
            self._firsts.update(dict.fromkeys([page.key, *(links.keys[row] for row in here)], first))
        if page.is_copy and page.canonical in links.keys:
            self._firsts[page.key] = page.canonical, links.urls[links.keys.index(page.canonical)]
        drop_oldest(self._firsts, self.max_pages)
