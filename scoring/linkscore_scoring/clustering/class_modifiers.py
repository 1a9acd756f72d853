"""Page-level class tokens that cut across templates (``paged``, ``logged-in``), told apart from those that
name one.

Classes of ``html`` and ``body`` stand at the front of every path, so one token that changes there makes two
pages of a template look unrelated. Tokens that name templates nest or exclude each other (``archive`` holds
``category``, ``category`` excludes ``tag``); a modifier crosses them: it is on some pages of each and misses
others. Dropped are

- tokens that cross at least three tokens which exclude each other, and
- tokens that say no more than "this template, modified" (``category-paged``: ``category`` and ``paged``).

Two tokens cross when their common pages and the pages of either one alone all reach the page threshold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.clustering.class_digits import fold_digits
from linkscore_scoring.features.types import PathTrie

MIN_CROSSED = 3
SAME_PAGES = 0.9

_PAGE_TAGS = frozenset({"html", "body"})
_MAX_TOKENS = 300


def modifiers(tries: Sequence[PathTrie], threshold: float, numbered: Collection[str]) -> frozenset[str]:
    """Return the class tokens of a sample that modify pages of several templates.

    Parameters
    ----------
    tries
        Tag paths of the sampled pages.
    threshold
        Pages that count as evidence.
    numbered
        Tokens that keep their digits; in all others digit runs are ``#``.

    Notes
    -----
    Looks at the 300 page-level tokens on most pages. Cost O(modifiers x tokens^2 x n_pages). Not from a
    paper.
    """
    pages = [page_level_tokens(trie, numbered) for trie in tries]
    df = Counter(token for held in pages for token in held)
    tokens = sorted((t for t, n in df.items() if n >= threshold), key=lambda t: (-df[t], t))[:_MAX_TOKENS]
    on = np.array([[token in held for held in pages] for token in tokens], dtype=np.float64)
    if not tokens:
        return frozenset()
    cutting = _crossing(on, threshold)
    return frozenset(tokens[i] for i in {*cutting, *_parts(on, cutting, threshold)})


def page_level_tokens(trie: PathTrie, numbered: Collection[str]) -> set[str]:
    """Return the class tokens of ``html`` and ``body``, digits as ``#`` unless the token is in `numbered`."""
    return {
        token if token in numbered else fold_digits(token)
        for tag, classes in zip(trie.tags, trie.classes, strict=True)
        if classes and tag in _PAGE_TAGS
        for token in classes.split()
    }


def _crossing(on: NDArray[np.float64], threshold: float) -> list[int]:
    """Return the rows that cross at least three rows which exclude each other, looked for from small to
    large.
    """
    both, sizes = on @ on.T, on.sum(axis=1)
    alone = sizes[:, None] - both
    crosses = (both >= threshold) & (alone >= threshold) & (threshold <= alone.T)
    found = []
    for row in range(len(on)):
        exclusive: list[int] = []
        for other in sorted(np.flatnonzero(crosses[row]), key=lambda i: (sizes[i], i)):
            if (both[other, exclusive] < threshold).all():
                exclusive.append(int(other))
        if len(exclusive) >= MIN_CROSSED:
            found.append(row)
    return found


def _parts(on: NDArray[np.float64], cutting: Sequence[int], threshold: float) -> set[int]:
    """Return the rows that are, up to 10 %, the common pages of a modifier and a row it cuts in two."""
    sizes = on.sum(axis=1)
    kept = np.ones(len(on), dtype=bool)
    kept[list(cutting)] = False
    found: set[int] = set()
    for row in cutting:
        cut = on * on[row]
        inside = cut.sum(axis=1)
        halved = kept & (inside >= threshold) & (sizes - inside >= threshold)
        halved &= sizes <= on.shape[1] - threshold
        same = cut @ on.T >= SAME_PAGES * np.maximum(inside[:, None], sizes[None, :])
        found |= set(np.flatnonzero((same & halved[:, None] & kept[None, :]).any(axis=0)).tolist())
    return found
