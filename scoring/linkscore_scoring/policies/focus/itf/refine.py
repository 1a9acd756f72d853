"""Refinement of ``*`` into patterns that many training URLs match (Jiang 2013, section 4.3.2)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from linkscore_scoring.policies.focus.itf.tokens import (
    NARROW_SIGNS,
    SEPARATORS,
    SLUG_SIGNS,
    is_letters,
    is_number,
    tokens_after_host,
    tokens_of,
)

NUMBER, SLUG = r"\d+", "[^/?&.=]+"
"""Wildcards: a run of digits, and the text between two separators."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a pattern: a wildcard, or text that stands for itself."""

    text: str
    is_wild: bool = False


@dataclass(slots=True)
class _Branch:
    """URLs that share a pattern so far, each as its row and how many of its tokens the pattern covers."""

    pieces: tuple[Piece, ...]
    members: list[tuple[int, int]] = field(default_factory=list)


class Refiner:
    """Finds the patterns of training URLs.

    Parameters
    ----------
    urls
        Distinct training URLs of one type, query sorted.
    share
        A pattern needs more than this share of all URLs, in (0, 1); at least `least` of them.
    least
        As above.
    d_min
        From so many distinct words in one slot on, the slot is a slug.
    paper
        Refine by the letter of the specification: a slug begins with a letter and runs over letters, digits
        and ``-_%+~``. Else it also begins with a digit, and runs to the next separator, and the
        host is one token.
    """

    def __init__(self, urls: Sequence[str], *, share: float, least: int, d_min: int, paper: bool) -> None:
        self._rows = [tokens_of(url) if paper else tokens_after_host(url) for url in urls]
        self._least = max(least - 1, share * len(urls))
        self._frequent = share * len(urls)
        self._d_min, self._paper = d_min, paper

    def patterns(self) -> list[tuple[Piece, ...]]:
        """Return the patterns with support, in order of refinement. Cost O(characters)."""
        found: list[tuple[Piece, ...]] = []
        branches = [_Branch((), [(row, 0) for row in range(len(self._rows))])]
        while branches:
            branch = branches.pop()
            if len(branch.members) <= self._least:
                continue
            ended = [row for row, at in branch.members if at == len(self._rows[row])]
            if len(ended) > self._least:
                found.append(branch.pieces)
            branches += reversed(self._refined(branch))
        return found

    def _refined(self, branch: _Branch) -> list[_Branch]:
        """Return the branches of one slot, the slug last."""
        going = [(row, at) for row, at in branch.members if at < len(self._rows[row])]
        words = Counter(token for row, at in going if is_letters(token := self._rows[row][at]))
        is_slug = len(words) >= self._d_min
        parts: dict[Piece, list[tuple[int, int]]] = defaultdict(list)
        slug: list[tuple[int, int]] = []
        for row, at in going:
            token = self._rows[row][at]
            if is_slug and self._begins_slug(row, at, words):
                slug.append((row, at))
            elif is_number(token):
                parts[Piece(NUMBER, is_wild=True)].append((row, at + 1))
            else:
                parts[Piece(token)].append((row, at + 1))
        branches = [_Branch((*branch.pieces, piece), members) for piece, members in parts.items()]
        if slug:
            branches.append(self._slug(branch.pieces, slug))
        return branches

    def _begins_slug(self, row: int, at: int, words: Counter[str]) -> bool:
        tokens = self._rows[row]
        if is_letters(tokens[at]):
            return words[tokens[at]] < self._frequent
        if self._paper:
            return False
        after = tokens[at + 1] if at + 1 < len(tokens) else ""
        return is_number(tokens[at]) and bool(after) and self._runs_over(after)

    def _slug(self, pieces: tuple[Piece, ...], members: list[tuple[int, int]]) -> _Branch:
        ends = [(row, self._end(row, at)) for row, at in members]
        if self._paper:
            return _Branch((*pieces, Piece(SLUG, is_wild=True)), ends)
        signs = Counter(
            sign
            for (row, at), (_, end) in zip(members, ends, strict=True)
            for sign in set(self._rows[row][at:end]) & set(NARROW_SIGNS)
        )
        rare = "".join(sign for sign in NARROW_SIGNS if signs[sign] < max(1, self._frequent / 2))
        return _Branch((*pieces, Piece(f"[^/?&.={rare}]+", is_wild=True)), ends)

    def _end(self, row: int, at: int) -> int:
        tokens = self._rows[row]
        end = at + 1
        while end < len(tokens) and self._runs_over(tokens[end]):
            end += 1
        return end

    def _runs_over(self, token: str) -> bool:
        if is_number(token) or is_letters(token):
            return True
        return token in SLUG_SIGNS if self._paper else token not in SEPARATORS
