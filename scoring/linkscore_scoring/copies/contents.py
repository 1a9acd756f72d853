"""Which fetched pages of a site show the same text: near-duplicates by the blocks that few pages show."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from linkscore_scoring.bounded import drop_oldest
from linkscore_scoring.site.texts import TextOwners
from linkscore_scoring.state import Stateful, Stored

_MAX_CONTENTS, _MAX_PAGES = 20_000, 20_000
"""Contents and pages remembered, bounds of memory: some 700 bytes each."""
_SKETCH = 32
"""Blocks of a content that are kept, those of the lowest hash: a sample that is the same for equal contents
(bottom-k, Cohen and Kaplan 2007). The standard error of a likeness of .8 is .07. Chosen."""
_LOOKED_UP = 4
"""Blocks, of these, by which a content is found. Two contents alike by .8 share one with .998. Chosen."""
_LEAST_CHARS = 100
"""Characters of own text from which a page has a content: dates and notices alone are none. Chosen."""
_COMMON, _COMMON_SHARE = 12, 0.05
"""A block is common that more pages showed, and a larger share of them: it says nothing of a page. Chosen."""
_ALIKE = 0.8
"""Share of the characters of two contents that both show, from which they are the same. Chosen."""


@dataclass(slots=True)
class Content:
    """A content: its sketch, characters by block, and of each URL pattern the first page that showed it."""

    blocks: dict[int, int]
    pages: dict[int, int] = field(default_factory=dict)


class Contents(Stateful):
    """The contents of a site by number, and which page shows which."""

    _contents: Stored[dict[int, Content]]
    _pages: Stored[dict[int, int]]
    _next: Stored[int]

    def __init__(self) -> None:
        self._contents, self._pages, self._next = {}, {}, 1
        self._by_block: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._contents)

    def __getitem__(self, content: int) -> Content:
        return self._contents[content]

    def of_page(self, page: int) -> int | None:
        """Return the content of a fetched page, None if it has none or is not known."""
        return self._pages.get(page)

    def take(
        self,
        page: int,
        blocks: Mapping[int, int],
        texts: TextOwners,
        pages: int,
        near: Collection[int] = (),
    ) -> int | None:
        """Return the content of a page, a new one if no other page has it; None of little text of its own.

        Parameters
        ----------
        page
            Identity hash of the page.
        blocks
            Characters of each of its long blocks, by hash.
        texts
            How many pages showed each block.
        pages
            Pages of the site.
        near
            Contents to compare with whatever blocks they are found by: those of pages whose URL differs in
            one key. Blocks by which a content was found become common as the site is fetched.
        """
        most = max(_COMMON, _COMMON_SHARE * pages)
        own = {block: size for block, size in blocks.items() if texts.shown(block) <= most}
        if sum(own.values()) < _LEAST_CHARS:
            return None
        sketch = {block: own[block] for block in sorted(own)[:_SKETCH]}
        content = self._alike(sketch, texts, most, near)
        if content is None:
            content, self._next = self._next, self._next + 1
            self._contents[content] = Content(sketch)
            self._enter(content, sketch)
            for gone, old in drop_oldest(self._contents, _MAX_CONTENTS):
                self._leave(gone, old)
        self._pages[page] = content
        drop_oldest(self._pages, _MAX_PAGES)
        return content

    def after_load(self) -> None:
        """Find contents by their blocks again."""
        for number, content in self._contents.items():
            self._enter(number, content.blocks)

    def _alike(
        self, sketch: Mapping[int, int], texts: TextOwners, most: float, near: Collection[int]
    ) -> int | None:
        """Return the content most alike, one of `near` before others; None if none is alike enough."""
        by_block = {self._by_block.get(block) for block in list(sketch)[:_LOOKED_UP]}
        for found in (near, by_block):
            best, alike = None, _ALIKE
            for number in sorted(number for number in found if number in self._contents):
                known = {b: n for b, n in self._contents[number].blocks.items() if texts.shown(b) <= most}
                if (likeness := _likeness(sketch, known)) >= alike:
                    best, alike = number, likeness
            if best is not None:
                return best
        return None

    def _enter(self, content: int, sketch: Mapping[int, int]) -> None:
        self._by_block.update(dict.fromkeys(list(sketch)[:_LOOKED_UP], content))

    def _leave(self, gone: int, old: Content) -> None:
        for block in list(old.blocks)[:_LOOKED_UP]:
            if self._by_block.get(block) == gone:
                del self._by_block[block]


def _likeness(one: Mapping[int, int], two: Mapping[int, int]) -> float:
    """Return the share of characters in blocks that two sketches show alike, of those that either shows.

    A block of which one shows another length counts for neither. Of sketches that are full, hashes above
    the lower end of both are not compared: there one of them was cut.

    Examples
    --------
    >>> _likeness({1: 100, 2: 50, 3: 50}, {1: 100, 2: 50, 4: 50})
    0.6
    """
    ends = [max(sketch) for sketch in (one, two) if len(sketch) >= _SKETCH]
    end = min(ends) if ends else None
    shared = either = 0
    for block in one.keys() | two.keys():
        if end is None or block <= end:
            a, b = one.get(block, 0), two.get(block, 0)
            either += max(a, b)
            shared += a if a == b else 0
    return shared / either if either else 0.0
