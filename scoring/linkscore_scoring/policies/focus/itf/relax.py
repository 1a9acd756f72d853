"""A pattern for URLs none of whose patterns has support: their most frequent shape, all else wild."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from linkscore_scoring.policies.focus.itf.refine import NUMBER, Piece
from linkscore_scoring.policies.focus.itf.tokens import is_number, tokens_after_host, tokens_of

_TEXT = "[^/?&=]+"


def relaxed_pattern(urls: Sequence[str]) -> tuple[Piece, ...]:
    """Return the pattern of the most frequent shape of URLs, at least one; ties to the first.

    Two URLs have one shape if they agree in scheme, number of path segments and query keys. A part that
    varies becomes a wildcard, of digits if all its values are; a number is always one. Cost O(characters).
    """
    parts = [_parts(url) for url in urls]
    shapes = Counter(map(_shape, parts))
    best = max(shapes, key=lambda shape: shapes[shape])
    alike = [row for row in parts if _shape(row) == best]
    pieces: list[Piece] = []
    for column in zip(*alike, strict=True):
        pieces += _column(column)
    return tuple(pieces)


def _parts(url: str) -> list[str]:
    """Return the path segments, keys and values of a URL with what separates them."""
    parts = [""]
    for piece in tokens_after_host(url):
        if piece in "/?&=":
            parts += [piece, ""]
        else:
            parts[-1] += piece
    return parts


def _shape(parts: list[str]) -> tuple[str, ...]:
    in_query = False
    shape = list[str]()
    for at, part in enumerate(parts):
        in_query |= part == "?"
        is_key = in_query and at + 1 < len(parts) and parts[at + 1] == "="
        shape.append(part if part in ("/", "?", "&", "=") or is_key or at < 1 else bool(part) * "x")
    return tuple(shape)


def _column(values: Sequence[str]) -> list[Piece]:
    if all(value == values[0] for value in values):
        tokens = [values[0]] if "://" in values[0] else tokens_of(values[0])
        return [Piece(NUMBER, is_wild=True) if is_number(token) else Piece(token) for token in tokens]
    if all(value.isdecimal() for value in values):
        return [Piece(NUMBER, is_wild=True)]
    if all("." in value for value in values) and len({value.rpartition(".")[2] for value in values}) == 1:
        return [Piece("[^/?&.=]+", is_wild=True), Piece("."), Piece(values[0].rpartition(".")[2])]
    return [Piece(_TEXT, is_wild=True)]
