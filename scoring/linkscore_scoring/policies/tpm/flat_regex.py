"""Regular expressions without nesting, matched in linear time: classes in a row, some of them repeated.

All elements advance at once, one bit each (Navarro and Raffinot 2001, extended Shift-And), so no text makes a
match slow.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from linkscore_scoring.policies.tpm.regex_tree import ANY, classes_of, literal

Element = tuple[str, str]
"""A literal or class of `regex_tree`; ``""`` once, ``"+"`` once or more, ``"*"`` any number of times."""


class FlatRegex:
    """A row of elements that a whole text must fit.

    Parameters
    ----------
    elements
        In order; the empty row fits the empty text.

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
