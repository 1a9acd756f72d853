"""Numbered page links: a row of numbers whose links differ by a number that grows with them.

Jiang 2013, section 4.3.1, properties 1 and 2. Ours: instead of fetching destinations, the number in the URL
must be a line through the number in the anchor, ``value = a (n - 1) + c`` with c one of 0, 1 and a (page
numbers from 0 or 1, offsets from 0, item numbers). Counts, years, calendars, post numbers are no such line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from linkscore_scoring.pagination.anchors import PAGE, Mark
from linkscore_scoring.pagination.paged_urls import PagedUrl, Slots, paged, slots_of

_GAP = 3
"""Rows between two links of one group: arrows, `...`. Chosen with the labelled links in view
(docs/reference/recognition.md).
"""

_BEFORE = 6
"""Rows before a lone number among which the first page of its list may stand; chosen alike."""

_LEAST_SLOTS = 2
"""Numbers in a URL from which one of them may be a page number though nothing names it."""

_MANY = 10_000
"""A page number on a page whose own is larger than this is an id of something."""

_REMEMBERED, _REMEMBERED_CHARS = 1_024, 4_096
"""Runs of numbered links whose groups are remembered, and characters of their URLs: bounds, 4 MB together."""

_YEARS = range(1900, 2101)
"""Numbers that are years if all of a group are."""


@dataclass(slots=True)
class PageLinkGroup:
    """Numbered links of one list.

    `rows`, `numbers`: row and number of each link, in document order. `slots`: URL of the first link that
    has a number slot. `lines`: slot -> (a, c): value of the slot is ``a (n - 1) + c``; empty while the group
    has one link.
    """

    rows: list[int]
    numbers: list[int]
    slots: Slots
    lines: dict[int, tuple[int, int]] = field(default_factory=dict)

    def page_of(self, slots: Slots) -> int:
        """Return which page of the list a URL is, 0 if it is none."""
        if slots.skeleton != self.slots.skeleton or not self.lines:
            return 0
        pages = set[int]()
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
    """Return the groups of numbered page links among the links of a page.

    `page_url`: URL of the page. `urls`: URL of each link. `marks`: what the anchors say that say anything,
    by row, rows ascending.

    Cost O(characters of the numbered links' URLs).
    """
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


def lone_page_links(urls: Sequence[str], marks: dict[int, Mark], kinds: Sequence[int]) -> list[PageLinkGroup]:
    """Return lone numbers that lead where a page link beside them leads: ``2`` and ``next`` on page 1."""
    found: list[PageLinkGroup] = []
    for row, mark in marks.items():
        if mark.kind != PAGE or kinds[row]:
            continue
        beside = range(max(0, row - _GAP), min(len(urls), row + _GAP + 1))
        if any(kinds[i] and urls[i] == urls[row] for i in beside):
            found.append(PageLinkGroup([row], [mark.number], slots_of(urls[row])))
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
    return [(group, _says_its_page(group, urls)) for group in groups if _may_be_pagination(group)]


_remembered_groups = lru_cache(maxsize=_REMEMBERED)(_groups_of_run)


def _says_its_page(group: PageLinkGroup, urls: Sequence[str]) -> bool:
    """Say whether the URL of the last link of a group names the page that its anchor names."""
    number = group.numbers[-1]
    return _says(group.slots, number) or (number == 1 and paged(urls[group.rows[-1]]).explicit)


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
    if all(number in _YEARS for number in group.numbers):
        return False
    return not group.lines or not (_are_sizes(group) or _are_amounts(group))


def _are_sizes(group: PageLinkGroup) -> bool:
    """Say whether the numbers are page sizes: 10, 25, 50 that name themselves."""
    return not _has_steps(group) and min(group.numbers) > 2 and all(n % 5 == 0 for n in group.numbers)


def _are_amounts(group: PageLinkGroup) -> bool:
    """Say whether unnamed numbers name themselves and none follows another: 1, 7, 30 days."""
    return not _has_steps(group) and all(line == (1, 1) for line in group.lines.values())


def _has_steps(group: PageLinkGroup) -> bool:
    """Say whether a number follows another, or a slot is named as one of pages."""
    steps = any(m - n == 1 for n, m in pairwise(sorted(group.numbers)))
    return steps or any(group.slots.names_page(slot) for slot in group.lines)


def _is_lone_page_link(group: PageLinkGroup, page_url: str, urls: Sequence[str], *, says: bool) -> bool:
    """Say whether a group of one number, or of 1 and one other, is of a list that is in sight.

    Its URL must name page `n` (`says`), and the page itself, or a link just before, must be another page of
    the list.
    """
    row, number = group.rows[-1], group.numbers[-1]
    if _turns_own(slots_of(page_url), group.slots, number):
        return True
    if not says:
        return False
    target = paged(urls[row])
    near = [urls[i] for i in range(max(0, row - _BEFORE), row)]
    return any(
        _adds_page(target, paged(url)) for url in [page_url, *reversed(near)] if url and url != urls[row]
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


def _adds_page(target: PagedUrl, other: PagedUrl) -> bool:
    """Say whether two URLs are pages of one list, and a number that is there on both is named as a page."""
    return target.is_list_of(other) and (target.explicit or target.path == other.whole)


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
