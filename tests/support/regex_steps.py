"""How many steps a backtracking matcher takes: counted, so that growth shows without a clock."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import product
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

_SHORT = 16
"""Repetitions of what is pumped; twice as many may take little more than twice as long."""

_MOST_SIGNS = 4
"""Different characters of an expression that are combined: a bound of the work."""

_MOST_STEPS = 100_000
"""Where counting ends: far more than any expression takes that is in proportion to texts so short."""

_FEW = 6
"""Steps a character that are nothing to look into."""

_CLASSES = {
    sre.CATEGORY_DIGIT: r"\d",
    sre.CATEGORY_NOT_DIGIT: r"\D",
    sre.CATEGORY_SPACE: r"\s",
    sre.CATEGORY_NOT_SPACE: r"\S",
    sre.CATEGORY_WORD: r"\w",
    sre.CATEGORY_NOT_WORD: r"\W",
}
_SAMPLES = {
    sre.CATEGORY_DIGIT: "7",
    sre.CATEGORY_NOT_DIGIT: "a!",
    sre.CATEGORY_SPACE: " ",
    sre.CATEGORY_NOT_SPACE: "a!",
    sre.CATEGORY_WORD: "a",
    sre.CATEGORY_NOT_WORD: "! ",
}
_Nodes = Sequence[tuple[Any, Any]]


class _TooManyError(Exception):
    """There is no end to it."""


class Steps:
    """Matches one expression as `re` does, and counts the characters it looks at.

    >>> Steps(re.compile("a+b")).of("aaaa", "search") > Steps(re.compile("a+b")).of("aaaa", "match")
    True
    """

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        self._flags = pattern.flags
        text = pattern.pattern
        self._text = text if isinstance(text, str) else text.decode("latin-1")
        flags = pattern.flags & ~re.UNICODE if isinstance(text, bytes) else pattern.flags
        self._tree: _Nodes = list(parser.parse(self._text, flags))
        self._classes: dict[tuple[int, str], bool] = {}
        self._groups: dict[int, str] = {}
        self.steps = 0

    def of(self, text: str, method: str) -> int:
        """Return the steps of `match`, `fullmatch` or `search` (once) or any other name (all matches)."""
        self.steps = 0
        with suppress(_TooManyError):
            self._run(text, method)
        return self.steps

    def _run(self, text: str, method: str) -> None:
        at = 0
        while at <= len(text):
            ends = self._sequence(self._tree, 0, text, at)
            found = next((end for end in ends if method != "fullmatch" or end == len(text)), None)
            if method in ("match", "fullmatch") or (method == "search" and found is not None):
                break
            at = at + 1 if found is None else max(found, at + 1)

    def _count(self, n: int = 1) -> None:
        self.steps += n
        if self.steps > _MOST_STEPS:
            raise _TooManyError

    def signs(self) -> list[str]:
        """Return characters that the expression tells apart, and one it does not name."""
        named = list(dict.fromkeys(self._signs_of(self._tree)))
        return list(dict.fromkeys([*named[:_MOST_SIGNS], "a", "\x01"]))

    def _signs_of(self, nodes: _Nodes) -> Iterator[str]:
        for kind, value in nodes:
            if kind in (sre.LITERAL, sre.NOT_LITERAL):
                yield chr(value)
            elif kind is sre.IN:
                for inner, what in value:
                    if inner is sre.LITERAL:
                        yield chr(what)
                    elif inner is sre.RANGE:
                        yield chr(what[0])
                    elif inner is sre.CATEGORY:
                        yield from _SAMPLES[what]
            else:
                for part in _parts(kind, value):
                    yield from self._signs_of(part)
        yield "a"

    def _sequence(self, nodes: _Nodes, i: int, text: str, at: int) -> Iterator[int]:
        if i == len(nodes):
            yield at
            return
        for end in self._one(*nodes[i], text, at):
            yield from self._sequence(nodes, i + 1, text, end)

    def _one(self, kind: Any, value: Any, text: str, at: int) -> Iterator[int]:
        """Give where one node may end, in the order in which they are tried."""
        if kind in (sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY):
            self._count()
            if at < len(text) and self._fits(kind, value, text[at]):
                yield at + 1
        elif kind in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            yield from self._repeat(value, text, at, is_lazy=kind is sre.MIN_REPEAT)
        elif kind in (sre.POSSESSIVE_REPEAT, sre.ATOMIC_GROUP):
            inner = [(sre.MAX_REPEAT, value)] if kind is sre.POSSESSIVE_REPEAT else value
            yield from [end for end in [next(self._sequence(list(inner), 0, text, at), -1)] if end >= 0]
        elif kind is sre.SUBPATTERN:
            for end in self._sequence(list(value[-1]), 0, text, at):
                if value[0] is not None:
                    self._groups[value[0]] = text[at:end]
                yield end
        elif kind is sre.BRANCH:
            for branch in value[1]:
                yield from self._sequence(list(branch), 0, text, at)
        elif kind in (sre.ASSERT, sre.ASSERT_NOT):
            start = at - value[1].getwidth()[1] if value[0] < 0 else at
            found = start >= 0 and next(self._sequence(list(value[1]), 0, text, start), None) is not None
            if found == (kind is sre.ASSERT):
                yield at
        elif kind is sre.GROUPREF:
            same = self._groups.get(value, "")
            self._count(len(same))
            if text.startswith(same, at):
                yield at + len(same)
        elif kind is sre.AT:
            self._count()
            if self._is_at(value, text, at):
                yield at
        else:
            raise NotImplementedError(f"{kind} in {self._text}")

    def _repeat(self, value: Any, text: str, at: int, *, is_lazy: bool) -> Iterator[int]:
        least, most, inner = value
        nodes = list(inner)
        most = len(text) + 1 if most is sre.MAXREPEAT else most
        if len(nodes) == 1 and nodes[0][0] in (sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY):
            end = at  # as `re` does it: one after the other, and back again
            while end - at < most and end < len(text) and self._fits(*nodes[0], text[end]):
                self._count()
                end += 1
                if is_lazy and end - at > least:
                    yield end - 1
            if is_lazy:
                if end - at >= least:
                    yield end
                return
            for back in range(end, at + least - 1, -1):
                self._count()
                yield back
            return
        yield from self._repeat_nodes(nodes, least, most, text, at, is_lazy=is_lazy)

    def _repeat_nodes(
        self, nodes: _Nodes, least: int, most: int, text: str, at: int, *, is_lazy: bool
    ) -> Iterator[int]:
        if is_lazy and least <= 0:
            yield at
        if most > 0:
            for end in self._sequence(nodes, 0, text, at):
                if end > at:
                    yield from self._repeat_nodes(nodes, least - 1, most - 1, text, end, is_lazy=is_lazy)
                elif least > 0:
                    yield end
        if not is_lazy and least <= 0:
            yield at

    def _fits(self, kind: Any, value: Any, sign: str) -> bool:
        key = (id(value), sign) if kind is sre.IN else (hash((kind, value)), sign)
        known = self._classes.get(key)
        if known is None:
            known = self._classes[key] = self._fits_class(kind, value, sign)
        return known

    def _fits_class(self, kind: Any, value: Any, sign: str) -> bool:
        if kind is sre.ANY:
            return sign != "\n" or bool(self._flags & re.DOTALL)
        if kind is not sre.IN:
            return self._same(value, sign) == (kind is sre.LITERAL)
        is_negated = value[0][0] is sre.NEGATE
        return is_negated != any(self._is_in(inner, what, sign) for inner, what in value)

    def _is_in(self, kind: Any, what: Any, sign: str) -> bool:
        if kind is sre.LITERAL:
            return self._same(what, sign)
        if kind is sre.RANGE:
            cases = {sign, sign.lower(), sign.upper()} if self._flags & re.IGNORECASE else {sign}
            return any(what[0] <= ord(one[0]) <= what[1] for one in cases)
        return kind is sre.CATEGORY and re.match(_CLASSES[what], sign, self._flags & re.ASCII) is not None

    def _same(self, number: int, sign: str) -> bool:
        return chr(number) == sign or (
            bool(self._flags & re.IGNORECASE) and chr(number).lower() == sign.lower()
        )

    def _is_at(self, where: Any, text: str, at: int) -> bool:
        if where in (sre.AT_BEGINNING, sre.AT_BEGINNING_STRING):
            return at == 0 or (
                where is sre.AT_BEGINNING and bool(self._flags & re.MULTILINE) and text[at - 1] == "\n"
            )
        if where in (sre.AT_END, sre.AT_END_STRING):
            return at == len(text) or (where is sre.AT_END and text[at:] == "\n")
        is_word = [0 <= i < len(text) and (text[i].isalnum() or text[i] == "_") for i in (at - 1, at)]
        return (is_word[0] != is_word[1]) == (where is sre.AT_BOUNDARY)


def _parts(kind: Any, value: Any) -> list[_Nodes]:
    if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
        return [list(value[2])]
    if kind is sre.BRANCH:
        return [list(branch) for branch in value[1]]
    if kind in (sre.ASSERT, sre.ASSERT_NOT):
        return [list(value[1])]
    if kind is sre.SUBPATTERN:
        return [list(value[-1])]
    return [list(value)] if kind is sre.ATOMIC_GROUP else []


def grows(pattern: re.Pattern[Any], method: str) -> str:
    """Return a text that takes more than in proportion to its length, pumped; empty if none was found.

    Tried are all texts of one character the expression names, and of two, again and again, with one of them
    before and behind.
    """
    steps = Steps(pattern)
    signs = steps.signs()
    pumps = [*signs, *map("".join, product(signs, signs))]
    for pump, front, back in product(pumps, ["", *signs], ["", "\x01"]):
        if len(pump) > 1 and front:
            continue
        text = front + pump * (2 * _SHORT) + back
        long = steps.of(text, method)
        if long <= _FEW * len(text):
            continue
        short = steps.of(front + pump * _SHORT + back, method)
        if long > 3 * short:  # linear: 2; square: 4
            return f"{front!r} + {pump!r} * n + {back!r}: {short} -> {long} steps"
    return ""
