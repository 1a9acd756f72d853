"""Class tokens whose number names a template (``ns-14``), told apart from numbers of things
(``postid-4711``).

Numbers in class names are noise as a rule and are folded to ``#``; but some engines number their templates,
and folding those merges them. A family of tokens equal up to digits keeps its digits when all of this holds:

- a page carries one member (mean at most 1.2): a number of the page, not of the things on it;
- few values cover it: at most 20 % of its pages hold a member rarer than the page threshold;
- the value explains layout: it accounts for at least 10 % of the variance of the plain path vectors of its
  pages (adjusted R-squared of a one-way analysis of variance, so that chance scores 0).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.clustering.weights import fit_vectorizer
from linkscore_scoring.features.bags import plain_bag
from linkscore_scoring.features.types import PathTrie

MAX_PER_PAGE = 1.2
MAX_RARE_SHARE = 0.2
MIN_EXPLAINED = 0.1

_DIGITS = re.compile(r"[0-9]+")


def fold_digits(token: str) -> str:
    """Return the token with every run of ASCII digits replaced by ``#``."""
    return _DIGITS.sub("#", token)


def template_numbers(tries: Sequence[PathTrie], threshold: float) -> frozenset[str]:
    """Return the class tokens of a sample that keep their digits.

    Parameters
    ----------
    tries
        Tag paths of the sampled pages.
    threshold
        Pages a token must be on to count as a value of its own.

    Notes
    -----
    Cost O(total nodes + n_pages x n_paths). Not from a paper.
    """
    families = _families(tries)
    wanted = {name: pages for name, pages in families.items() if _few_values(pages, threshold)}
    if not wanted:
        return frozenset()
    bags = [plain_bag(trie) for trie in tries]
    vectors = fit_vectorizer(bags, norm="l2").transform(bags)
    kept: set[str] = set()
    for members in wanted.values():
        frequent = {token: pages for token, pages in members.items() if len(pages) >= threshold}
        if explained_share(vectors, list(frequent.values())) >= MIN_EXPLAINED:
            kept |= set(frequent)
    return frozenset(kept)


def _families(tries: Sequence[PathTrie]) -> dict[str, dict[str, set[int]]]:
    """Return family -> token -> pages, for tokens with digits."""
    families: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for page, trie in enumerate(tries):
        for token in {token for classes in set(trie.classes) for token in classes.split()}:
            family = fold_digits(token)
            if family != token:
                families[family][token].add(page)
    return families


def _few_values(members: Mapping[str, set[int]], threshold: float) -> bool:
    frequent = [pages for pages in members.values() if len(pages) >= threshold]
    if len(frequent) < 2:
        return False
    covered = set[int]().union(*members.values())
    rare = set[int]().union(*(pages for pages in members.values() if len(pages) < threshold))
    per_page = sum(len(pages) for pages in members.values()) / len(covered)
    return per_page <= MAX_PER_PAGE and len(rare) <= MAX_RARE_SHARE * len(covered)


def explained_share(vectors: NDArray[np.float64], groups: Sequence[Collection[int]]) -> float:
    """Return the adjusted R-squared of grouping rows: 1 if groups explain all variance, about 0 by chance.

    Parameters
    ----------
    vectors
        Feature vectors, (n_pages, n_paths).
    groups
        Row indices of each group; a row in several groups counts in each.
    """
    rows = [vectors[sorted(group)] for group in groups]
    n = sum(len(group) for group in rows)
    if n <= len(rows) or len(rows) < 2:
        return 0.0
    within = sum(_squares(group) for group in rows) / (n - len(rows))
    total = _squares(np.concatenate(rows)) / (n - 1)
    return 1.0 - within / total if total > 1e-12 else 0.0


def _squares(rows: NDArray[np.float64]) -> float:
    offsets = rows - rows.mean(axis=0)
    return float((offsets * offsets).sum())
