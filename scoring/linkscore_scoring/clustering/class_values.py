"""Page-level class tokens that name one of many things of a template (``category-support``), not a template.

Engines put the thing shown into the classes of ``body`` beside its kind: ``category category-support``. Most
of such tokens are rare and go by the rarity filter; the few that are not would cut their template in two.
They are told by their family, the tokens that begin with the name of a token they always come with:

- its members exclude each other, as values of one variable do, and
- it has a long tail: half of its members or more, and three at least, are below the page threshold.

Kinds of a template come in short families without a tail (``single-post``, ``single-product``) and stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set

MIN_RARE = 3
_SAME_PAGES = 0.9
_OVERLAP = 1.1


def class_values(pages: Sequence[Set[str]], threshold: float) -> frozenset[str]:
    """Return the page-level tokens that name things.

    Parameters
    ----------
    pages
        Class tokens of ``html`` and ``body`` of every sampled page, digits as ``#``, without modifiers.
        Tokens that end in a number are no names.
    threshold
        Tokens on fewer pages are rare.

    Notes
    -----
    Cost O(pages x tokens of a page squared). Not from a paper.
    """
    df = Counter(token for held in pages for token in held)
    together = Counter(
        (parent, token)
        for held in pages
        for token in held
        for parent in held
        if token.startswith(parent) and token[len(parent) : len(parent) + 1] == "-"
    )
    found: set[str] = set()
    for parent in {parent for parent, _ in together}:
        family = [
            token
            for (above, token), both in together.items()
            if above == parent and both == df[token] < _SAME_PAGES * df[parent] and not token.endswith("-#")
        ]
        rare = sum(df[token] < threshold for token in family)
        exclusive = sum(df[token] for token in family) <= _OVERLAP * df[parent]
        if exclusive and rare >= MIN_RARE and 2 * rare >= len(family):
            found.update(family)
    return frozenset(found)
