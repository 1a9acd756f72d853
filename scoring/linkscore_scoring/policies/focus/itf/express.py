"""Patterns as RE2 expressions, anchored and escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import unquote

from linkscore_scoring.policies.focus.itf.refine import Piece

_ESCAPES = {"5B": r"\[", "5D": r"\]", "3A": ":", "20": r"\+", "2C": ",", "40": "@"}
"""Characters that raw URLs have as they are where canonical ones have an escape."""

MAX_ORDERS = 6
"""Orders of the query that one expression allows for."""


def literal(text: str) -> str:
    """Return an RE2 expression of one text."""
    return re.sub(r"[\\.^$|?*+()\[\]{}]", lambda found: "\\" + found[0], text)


def paper_regex(pieces: Iterable[Piece]) -> str:
    """Return a pattern as one anchored expression, nothing else allowed."""
    return f"^{''.join(piece.text if piece.is_wild else literal(piece.text) for piece in pieces)}$"


def url_regex(pieces: Sequence[Piece], orders: Iterable[tuple[str, ...]] = ()) -> str:
    """Return a pattern as an anchored expression of URLs as they are found.

    http and https both fit; a slash at the end of a path without file name may be there or not; the query may
    stand in any order of `orders`, each a tuple of its keys, or else sorted; escapes may be written out.
    """
    cut = next((i for i, piece in enumerate(pieces) if piece.text == "?" and not piece.is_wild), len(pieces))
    path, query = _text(pieces[:cut]), _pairs(pieces[cut + 1 :])
    path = re.sub(r"^https?:", "https?:", path)
    if cut == len(pieces):
        return f"^{_with_slash(path)}$"
    return f"^{path}\\?{_query(query, orders)}$"


def _with_slash(path: str) -> str:
    """Let a path end in a slash or not, but for that of a file and the root."""
    _, _, last = path.removesuffix("/").removesuffix("$").rpartition("/")
    is_root = path.count("/") <= 3 and path.endswith("/")
    is_file = not path.endswith("/") and re.search(r"\\\.[A-Za-z0-9]{1,5}$", last) is not None
    if is_root or path.count("/") < 3 or is_file:
        return path
    return f"{path.removesuffix('/')}/?"


def _text(pieces: Iterable[Piece]) -> str:
    """Return pieces as an expression; an escape fits its character too."""
    text = "".join(piece.text if piece.is_wild else literal(piece.text) for piece in pieces)
    return re.sub(r"%(5B|5D|3A|20|2C|40)", lambda found: f"(?:%{found[1]}|{_ESCAPES[found[1]]})", text)


def _pairs(pieces: Iterable[Piece]) -> dict[str, str]:
    """Return the expression of each query pair by its key as text."""
    pairs: list[list[Piece]] = [[]]
    for piece in pieces:
        if piece.text == "&" and not piece.is_wild:
            pairs.append([])
        else:
            pairs[-1].append(piece)
    return {key_of("".join(piece.text for piece in pair)): _text(pair) for pair in pairs}


def key_of(pair: str) -> str:
    """Return the key of a query pair, escapes undone."""
    return unquote(pair.partition("=")[0])


def _query(pairs: dict[str, str], orders: Iterable[tuple[str, ...]]) -> str:
    fitting = [order for order in dict.fromkeys(orders) if set(order) == set(pairs) and order != tuple(pairs)]
    texts = ["&".join(pairs[key] for key in order) for order in [tuple(pairs), *fitting[: MAX_ORDERS - 1]]]
    return texts[0] if len(texts) == 1 else f"(?:{'|'.join(texts)})"
