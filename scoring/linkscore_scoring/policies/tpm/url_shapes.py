"""URLs that look alike, and the pattern a group of them has in common (Vidal 2006, section 4.2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest

from linkscore_scoring.errors import CorruptState
from linkscore_scoring.policies.tpm.flat_regex import Element, FlatRegex
from linkscore_scoring.policies.tpm.regex_tree import ANY, common_class, literal, tokens_of

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
    """Say whether two URLs look alike (URLsim): as many levels, one host, at most K other levels differ.

    Parameters
    ----------
    max_differing
        The paper's K.
    """
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
        """Rebuild a shape.

        Raises
        ------
        CorruptState
            If it is not rows of elements.
        """
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
