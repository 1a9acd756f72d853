r"""The tree of character classes behind URL patterns (Vidal 2006, section 4.2).

::

    .
    |-- \w
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
from collections.abc import Iterable

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
    """Return the smallest class all tokens are made of: the deepest common ancestor of their leaves.

    Parameters
    ----------
    tokens
        At least one token of `tokens_of`.
    """
    ways = [classes_of(token[0]) for token in dict.fromkeys(tokens)]
    return next(name for name in ways[0] if all(name in way for way in ways))
