"""Which class tokens of a site name its templates, and which name things, or modify pages of any template.

Three findings, none of them from a paper; `class_paths` drops or keeps tokens by them.

`template_numbers`
    Numbers in class names are noise as a rule (``postid-4711``) and are folded to ``#``; but some engines
    number their templates (``ns-14``), and folding those merges them. A family of tokens equal up to digits
    keeps its digits when a page carries one member, few values cover the family, and the value explains
    layout.
`modifiers`
    Classes of ``html`` and ``body`` stand at the front of every path, so one token that changes there makes
    two pages of a template look unrelated (``paged``, ``logged-in``). Tokens that name templates nest or
    exclude each other (``archive`` holds ``category``, ``category`` excludes ``tag``); a modifier crosses
    them: it is on some pages of each and misses others.
`class_values`
    Engines put the thing shown into the classes of ``body`` beside its kind: ``category category-support``.
    Most of such tokens are rare and go by the rarity filter; the few that are not would cut their template in
    two. They are told by their family, the tokens that begin with the name of a token they always come with.
    Kinds of a template come in short families without a tail (``single-post``, ``single-product``) and stay.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence, Set

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.clustering.sample_trie import SampleTrie
from linkscore_scoring.clustering.tfidf import fit_vectorizer
from linkscore_scoring.features.bags import fold_digits
from linkscore_scoring.sums import left_sum

# These and the other thresholds of this module were chosen with the four stored sites in view
# (docs/reference/clusterers.md).
MAX_PER_PAGE = 1.2
"""Members of a family a page has in the mean, at most: a number of the page, not of the things on it."""

MAX_RARE_SHARE = 0.2
"""Share of a family's pages that may hold a member rarer than the page threshold: few values cover it."""

MIN_EXPLAINED = 0.1
"""Least share of the variance of plain path vectors that the value explains (adjusted, so that chance scores
0).
"""


def template_numbers(sample: SampleTrie, threshold: float) -> frozenset[str]:
    """Return the class tokens of a sample that keep their digits: those whose number names a template.

    A family of tokens equal up to digits keeps its digits when all of this holds:

    - a page carries one member (mean at most 1.2): a number of the page, not of the things on it;
    - few values cover it: at most 20 % of its pages hold a member rarer than the page threshold;
    - the value explains layout: it accounts for at least 10 % of the variance of the plain path vectors of
      its pages (adjusted R-squared of a one-way analysis of variance, so that chance scores 0).

    `sample`: tag paths of the sampled pages. `threshold`: pages a token must be on to count as a value of
    its own.

    Cost O(total nodes + n_pages x n_paths). Not from a paper.
    """
    families = _families(sample)
    wanted = {name: pages for name, pages in families.items() if _few_values(pages, threshold)}
    if not wanted:
        return frozenset()
    bags = sample.bags(sample.paths(lambda tag, classes: tag, "/"))
    vectors = fit_vectorizer(bags, norm="l2").transform(bags)
    kept: set[str] = set()
    for members in wanted.values():
        frequent = {token: pages for token, pages in members.items() if len(pages) >= threshold}
        if explained_share(vectors, list(frequent.values())) >= MIN_EXPLAINED:
            kept |= set(frequent)
    return frozenset(kept)


def folded(classes: str, numbered: Collection[str]) -> set[str]:
    """Return distinct class tokens, digits as ``#`` unless the token is in `numbered`."""
    return {token if token in numbered else fold_digits(token) for token in classes.split()}


def _families(sample: SampleTrie) -> dict[str, dict[str, set[int]]]:
    """Return family -> token -> pages, for tokens with digits."""
    families: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    known: dict[str, list[set[int]]] = {}
    for number, page in enumerate(sample.classes):
        for classes in page:
            pages = known.get(classes)
            if pages is None:
                families_of = ((fold_digits(token), token) for token in classes.split())
                pages = known[classes] = [families[f][token] for f, token in families_of if f != token]
            for on in pages:
                on.add(number)
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

    `vectors`: feature vectors, (n_pages, n_paths). `groups`: row indices of each group; a row in several
    groups counts in each.
    """
    rows = [vectors[sorted(group)] for group in groups]
    n = sum(len(group) for group in rows)
    if n <= len(rows) or len(rows) < 2:
        return 0.0
    within = left_sum(_squares(group) for group in rows) / (n - len(rows))
    total = _squares(np.concatenate(rows)) / (n - 1)
    return 1.0 - within / total if total > 1e-12 else 0.0


def _squares(rows: NDArray[np.float64]) -> float:
    offsets = rows - rows.mean(axis=0)
    return float((offsets * offsets).sum())


MIN_CROSSED = 3
"""Tokens which exclude each other that a modifier crosses, at least."""

SAME_PAGES = 0.9
"""Likeness of two sets of pages, over the larger of them, from which they count as the same."""


_PAGE_TAGS = frozenset({"html", "body"})
# Page-level tokens looked at, those on most pages; a bound of work, which is cubic in it at worst.
_MAX_TOKENS = 300


def modifiers(pages: Sequence[Set[str]], threshold: float) -> frozenset[str]:
    """Return the page-level tokens of a sample that modify pages of several templates.

    These are tokens that cross at least three tokens which exclude each other, and tokens that say no more
    than "this template, modified" (``category-paged``: ``category`` and ``paged``). Two tokens cross when
    their common pages and the pages of either one alone all reach the page threshold.

    `pages`: class tokens of ``html`` and ``body`` of every sampled page; see `page_level_tokens`.
    `threshold`: pages that count as evidence.

    Looks at the 300 page-level tokens on most pages. Cost O(modifiers x tokens^2 x n_pages). Not from a
    paper.
    """
    df = Counter(token for held in pages for token in held)
    tokens = sorted((t for t, n in df.items() if n >= threshold), key=lambda t: (-df[t], t))[:_MAX_TOKENS]
    on = np.array([[token in held for held in pages] for token in tokens], dtype=np.float64)
    if not tokens:
        return frozenset()
    cutting = _crossing(on, threshold)
    return frozenset(tokens[i] for i in {*cutting, *_parts(on, cutting, threshold)})


def page_level_tokens(sample: SampleTrie, numbered: Collection[str]) -> list[set[str]]:
    """Return the class tokens of ``html`` and ``body`` of each page, digits as ``#`` unless the token is in
    `numbered`.
    """
    held = {
        node: folded(classes, numbered)
        for node, (_, tag, classes) in enumerate(sample.nodes)
        if classes and tag in _PAGE_TAGS
    }
    return [set[str]().union(*map(held.__getitem__, held.keys() & page)) for page in sample.pages]


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


MIN_RARE = 3
"""Members of a family below the page threshold, at least: its tail."""

# Pages of all members over pages of the parent, up to which they exclude each other.
_OVERLAP = 1.1


def class_values(pages: Sequence[Set[str]], threshold: float) -> frozenset[str]:
    """Return the page-level tokens that name one of many things of a template, not a template.

    A family is the tokens that begin with the name of a token they always come with. Its members name things
    if they exclude each other, as values of one variable do, and have a long tail: half of them or more, and
    three at least, are below the page threshold.

    `pages`: class tokens of ``html`` and ``body`` of every sampled page, digits as ``#``, without modifiers.
    Tokens that end in a number are no names. `threshold`: tokens on fewer pages are rare.

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
            if above == parent and both == df[token] < SAME_PAGES * df[parent] and not token.endswith("-#")
        ]
        rare = sum(df[token] < threshold for token in family)
        exclusive = sum(df[token] for token in family) <= _OVERLAP * df[parent]
        if exclusive and rare >= MIN_RARE and 2 * rare >= len(family):
            found.update(family)
    return frozenset(found)
