"""What one anchor says about a page flip: a number, a word or an arrow."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from linkscore_scoring.pagination.kinds import FIRST, LAST, NEXT, NO_FLIP, PAGE, PREV
from linkscore_scoring.pagination.words import (
    FILLERS,
    ITEM_NOUNS,
    KIND_OF_WORD,
    KNOWN_WORDS,
    PAGE_NOUNS,
    fold,
)

MAX_CHARS = 48
"""Longer anchors are titles."""

_NUMBER = re.compile(r"[\s\[(|<{.…-]*([0-9]{1,6}|[0-9]{1,3}(?:[,.'\u00a0 ][0-9]{3}))[\s\])|>}.,-]*")
_RANGE = re.compile(r"\s*([0-9]{1,6})\s*[-\u2013]\s*([0-9]{1,6})\s*")
_ARROWS = {
    "»": NEXT, "›": NEXT, ">": NEXT, "→": NEXT, "▶": NEXT, "►": NEXT, "⇒": NEXT, "⟩": NEXT, "⟶": NEXT,
    "❯": NEXT, "≫": NEXT, "》": NEXT, "〉": NEXT, "➡": NEXT, "➔": NEXT, "▸": NEXT,
    "«": PREV, "‹": PREV, "<": PREV, "←": PREV, "◀": PREV, "◄": PREV, "⇐": PREV, "⟨": PREV, "⟵": PREV,
    "❮": PREV, "≪": PREV, "《": PREV, "〈": PREV, "⬅": PREV, "◂": PREV,
    "⏭": LAST, "⏮": FIRST,
}  # fmt: skip
_BARS = "|¦"
_PUNCTUATION = '()[]{}.,:;…·•*_-–—"/\\=~^&\ufe0e\ufe0f\u200e\u200f\u200b'
_SIGNS = re.escape("".join(_ARROWS) + _BARS + _PUNCTUATION)
_TOKEN = re.compile(rf"[0-9]+|[^\s0-9{_SIGNS}]+|\S")
_PAGE_ENDINGS = tuple(map(fold, ("ページ", "页", "頁", "페이지")))
_ENDS = {(NEXT, 2): LAST, (PREV, 2): FIRST}


@dataclass(frozen=True, slots=True)
class Mark:
    """What an anchor says: a kind, its number (`PAGE` only), and whether it names pages in words."""

    kind: int = NO_FLIP
    number: int = 0
    names_pages: bool = False
    is_arrow: bool = False


_NOTHING = Mark()


@lru_cache(maxsize=16_384)
def read_anchor(anchor: str) -> Mark:
    """Return what an anchor says; a title, a date or a post number (``#12``) says nothing. O(length)."""
    if not anchor or len(anchor) > MAX_CHARS:
        return _NOTHING
    number = _NUMBER.fullmatch(anchor)
    if number is not None:
        return Mark(PAGE, int(re.sub(r"[^0-9]", "", number[1])))
    items = _RANGE.fullmatch(anchor)
    if items is not None:
        return _read_range(int(items[1]), int(items[2]))
    return _read_words(anchor.replace("'", ""))


def _read_range(first: int, last: int) -> Mark:
    """Read ``21-40``: the second page of twenty items."""
    size = last - first + 1
    return Mark(PAGE, first // size + 1) if size > 1 and first % size == 1 else _NOTHING


def _read_words(anchor: str) -> Mark:
    """Read an anchor that must consist of known words, arrows, page nouns and numbers, nothing else."""
    words, arrows, numbers = list[str](), list[str](), list[str]()
    for found in _TOKEN.finditer(anchor):
        token = found[0]
        if token in _ARROWS or token in _BARS:
            arrows.append(token)
        elif token.isdecimal():
            numbers.append(token)
        elif token not in _PUNCTUATION:
            words.append(fold(token))
            if words[-1] not in KNOWN_WORDS:
                return _NOTHING
    if not words:
        return Mark(_arrow_kind(arrows), is_arrow=True) if arrows and not numbers else _NOTHING
    return _worded(words, numbers)


def _worded(words: list[str], numbers: list[str]) -> Mark:
    phrase = KIND_OF_WORD.get(" ".join(words), NO_FLIP)
    kinds = [KIND_OF_WORD[word] for word in words if word in KIND_OF_WORD and word not in PAGE_NOUNS]
    if not phrase and not kinds:
        return _numbered(words, numbers)
    if len(numbers) > 2 or not (phrase or all(map(_is_whole, words))):
        return _NOTHING
    kind, named = phrase or kinds[0], _names_pages(words, phrase)
    if kind == LAST and len(numbers) == 1 and not named and len(numbers[0]) < 7:
        return Mark(PAGE, int(numbers[0]))
    return Mark(kind, names_pages=named and kind in (NEXT, PREV))


def _is_whole(word: str) -> bool:
    """Say whether a word means something by itself, not only in a phrase."""
    return word in KIND_OF_WORD or word in PAGE_NOUNS or word in ITEM_NOUNS or word in FILLERS


def _names_pages(words: list[str], phrase: int) -> bool:
    if any(word in PAGE_NOUNS or word in ITEM_NOUNS for word in words):
        return True
    return (phrase > 0 and len(words) > 1) or words[0].endswith(_PAGE_ENDINGS)


def _numbered(words: list[str], numbers: list[str]) -> Mark:
    """Read ``Page 3``."""
    if len(words) == 1 and words[0] in PAGE_NOUNS and len(numbers) == 1 and len(numbers[0]) < 7:
        return Mark(PAGE, int(numbers[0]))
    return _NOTHING


def _arrow_kind(arrows: list[str]) -> int:
    """Return the kind of arrows alone: ``>`` next, ``>>`` or ``>|`` last, as far as they agree."""
    kinds = {_ARROWS[arrow] for arrow in arrows if arrow in _ARROWS}
    if len(kinds) != 1:
        return NO_FLIP
    kind = kinds.pop()
    strokes = sum(arrow in "<>‹›" or arrow in _BARS for arrow in arrows)
    return _ENDS.get((kind, 2), kind) if strokes >= 2 else kind
