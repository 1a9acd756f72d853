"""URLs that look alike, and the pattern a group of them has in common (Vidal 2006, section 4.2).

The tree of character classes behind URL patterns::

    .
    |-- \\w
    |   |-- [A-Za-z]
    |   |   |-- [a-z]
    |   |   `-- [A-Z]
    |   |-- [0-9]
    |   `-- _
    `-- one leaf for every other character

A token is the longest run of one leaf class, or one other character. The figure of the tree is lost in the
paper's text; this shape is ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import takewhile, zip_longest

from linkscore_scoring.errors import CorruptState

ANY, WORD, LETTER, LOWER, UPPER, DIGIT = ".", r"\w", "[A-Za-z]", "[a-z]", "[A-Z]", "[0-9]"

_TOKEN = re.compile(r"[a-z]+|[A-Z]+|[0-9]+|.", re.DOTALL)
_PARENT = {LOWER: LETTER, UPPER: LETTER, LETTER: WORD, DIGIT: WORD, "_": WORD, WORD: ANY}


def tokens_of(text: str) -> list[str]:
    """Return the tokens of a text, which joined are the text."""
    return _TOKEN.findall(text)


def literal(char: str) -> str:
    """Return the name of one character: itself, but for the dot, which is the class of all."""
    return r"\." if char == ANY else char


def classes_of(char: str) -> list[str]:
    """Return the classes a character belongs to, from its leaf to the root."""
    found = [_leaf(char)]
    while found[-1] != ANY:
        found.append(_PARENT.get(found[-1], ANY))
    return found


def _leaf(char: str) -> str:
    for low, high, name in (("a", "z", LOWER), ("A", "Z", UPPER), ("0", "9", DIGIT)):
        if low <= char <= high:
            return name
    return literal(char)


def common_class(tokens: Iterable[str]) -> str:
    """Return the smallest class all tokens are made of: the deepest common ancestor of their leaves."""
    lines = [classes_of(token[0]) for token in dict.fromkeys(tokens)]
    return next(name for name in lines[0] if all(name in line for line in lines))


Element = tuple[str, str]
"""A literal or class of the tree above; ``""`` once, ``"+"`` once or more, ``"*"`` any number of times."""


class FlatRegex:
    """A row of elements, classes of which some are repeated, that a whole text must fit in linear time.

    All elements advance at once, one bit each (Navarro and Raffinot 2001, extended Shift-And), so no text
    makes a match slow.

    Notes
    -----
    `matches` costs O(characters) operations on integers of one bit for each element.
    """

    def __init__(self, elements: Sequence[Element]) -> None:
        self.elements = [(charset, repeat) for charset, repeat in elements]
        self._prefix = "".join(
            charset[-1] for charset, _ in takewhile(lambda element: _is_literal(*element), self.elements)
        )
        self._rest = len(self.elements) - len(self._prefix)
        self._places: dict[str, int] = {}
        self._repeated = self._optional = 0
        for bit, (charset, repeat) in enumerate(self.elements[len(self._prefix) :], start=1):
            self._places[charset] = self._places.get(charset, 0) | 1 << bit
            self._repeated |= bool(repeat) << bit
            self._optional |= (repeat == "*") << bit
        self._ascii = [self._accepting(chr(code)) for code in range(128)]

    def __str__(self) -> str:
        """Return the expression as `re` would read it."""
        return "".join(_text(charset) + repeat for charset, repeat in self.elements)

    def matches(self, text: str) -> bool:
        """Say whether the whole text fits."""
        if not text.startswith(self._prefix):
            return False
        active = self._skipping(1)
        for char in text[len(self._prefix) :]:
            places = self._ascii[ord(char)] if char < "\x80" else self._accepting(char)
            active = self._skipping((active << 1 | active & self._repeated) & places)
            if not active:
                return False
        return bool(active >> self._rest & 1)

    def _accepting(self, char: str) -> int:
        places = self._places.get(char, 0)
        for name in classes_of(char):
            places |= self._places.get(name, 0)
        return places

    def _skipping(self, active: int) -> int:
        """Return the states reached when optional elements are passed over: a carry runs through them."""
        starts = active << 1 & self._optional
        return active | starts | (self._optional + starts ^ self._optional) & self._optional


def _is_literal(charset: str, repeat: str) -> bool:
    return not repeat and (len(charset) == 1 or charset == literal(ANY)) and charset != ANY


def _text(charset: str) -> str:
    return re.escape(charset) if len(charset) == 1 and charset != ANY else charset


MAX_TOKENS = 200
"""Tokens of a level that are told apart; a longer level is any text."""


def url_levels(url: str) -> list[str]:
    """Return the levels of a URL: host, path segments; a query belongs to the last segment.

    ``http://h/a/b.php?x=/1`` gives ``h``, ``a``, ``b.php?x=/1``.
    """
    path, mark, query = url.partition("://")[2].partition("?")
    levels = path.split("/")
    levels[-1] += mark + query
    return levels


def url_similar(one: str, other: str, *, max_differing: int = 2) -> bool:
    """Say whether two URLs look alike (URLsim): as many levels, one host, at most K other levels differ."""
    a, b = url_levels(one), url_levels(other)
    differing = sum(x != y for x, y in zip(a, b, strict=False))
    return len(a) == len(b) and a[0] == b[0] and differing <= max_differing


class UrlShape:
    """What the URLs of a group have in common: one regular expression for each level."""

    def __init__(self, levels: Sequence[Sequence[Element]]) -> None:
        self.levels = [FlatRegex(level) for level in levels]

    def __str__(self) -> str:
        """Return the pattern as one regular expression without scheme."""
        return "/".join(map(str, self.levels))

    def matches(self, url: str) -> bool:
        """Say whether a URL has the shape; cost O(characters)."""
        levels = url_levels(url)
        return len(levels) == len(self.levels) and all(
            level.matches(text) for level, text in zip(self.levels, levels, strict=True)
        )

    def to_state(self) -> list[list[list[str]]]:
        """Return the shape as plain values."""
        return [[list(element) for element in level.elements] for level in self.levels]

    @classmethod
    def from_state(cls, state: object) -> UrlShape:
        """Rebuild a shape."""
        try:
            return cls([[(str(a), str(b)) for a, b in level] for level in state])  # type: ignore[attr-defined]
        except (TypeError, ValueError) as exc:
            raise CorruptState(f"URL shape: want rows of (characters, repeat), got {exc}") from exc


def url_shape(urls: Iterable[str]) -> UrlShape:
    """Return the pattern of URLs with the same number of levels (URLPattern).

    Each level: tokens all begin and end with stay literal, the rest is generalised token by token
    (TokenRegex): equal tokens stay, different ones become the smallest class of the regex tree that holds
    them all, and where some URL has no token any number will do.

    Notes
    -----
    Cost O(characters). Differences from the paper: beginning and end are cut between tokens, not inside one
    (else ids 12 and 14 give ``1[0-9]+``, which 27 does not fit); an optional word or number is its class, not
    itself; in the printed reassembly prefix and suffix are exchanged, here they are not.

    Examples
    --------
    >>> str(url_shape(["http://h/post/12", "http://h/post/7"]))
    'h/post/[0-9]+'
    """
    rows = [url_levels(url) for url in dict.fromkeys(urls)]
    return UrlShape([_level(list(dict.fromkeys(column))) for column in zip(*rows, strict=True)])


def _level(texts: list[str]) -> list[Element]:
    rows = [tokens_of(text) for text in texts]
    if len(rows) > 1 and max(map(len, rows)) > MAX_TOKENS:
        return [(ANY, "*")]
    before = _common(rows)
    after = _common([row[before:][::-1] for row in rows])
    middle = [row[before : len(row) - after] for row in rows]
    first = rows[0]
    varied = (_token([token or "" for token in column]) for column in zip_longest(*middle))
    return [
        *_literal("".join(first[:before])),
        *(element for elements in varied for element in elements),
        *_literal("".join(first[len(first) - after :])),
    ]


def _common(rows: Sequence[Sequence[str]]) -> int:
    """Return how many tokens all rows begin with."""
    n = 0
    for column in zip(*rows, strict=False):
        if len(set(column)) > 1:
            break
        n += 1
    return n


def _token(column: list[str]) -> list[Element]:
    """Return what the tokens of one column have in common (TokenRegex); empty ones are missing."""
    present = list(dict.fromkeys(token for token in column if token))
    missing = "" in column
    if len(present) == 1 and not missing:
        return _literal(present[0])
    if len(present) == 1 and not present[0].isalnum():
        return [(literal(present[0]), "*")]
    return [(common_class(present), "*" if missing else "+")]


def _literal(text: str) -> list[Element]:
    return [(literal(char), "") for char in text]
