"""Bags of tag paths, and the normal forms of a link path."""

from __future__ import annotations

import re

from linkscore_scoring.features.types import PathTrie
from linkscore_scoring.hashing import hash64

_DIGITS = re.compile(r"[0-9]+")


def plain_bag(trie: PathTrie) -> dict[str, int]:
    """Return the bag of XPaths of a page: element path without classes to the displayed leaves that end
    there.

    Cost O(nodes x depth). Source: Xu, Gao, Callan 2018, section 3.1.
    """
    names: list[str] = []
    bag: dict[str, int] = {}
    for parent, tag, leaves in zip(trie.parents, trie.tags, trie.leaves, strict=True):
        path = tag if parent < 0 else f"{names[parent]}/{tag}"
        names.append(path)
        if leaves:
            bag[path] = bag.get(path, 0) + leaves
    return bag


def fold_digits(text: str) -> str:
    """Return class tokens, one or several, with every run of ASCII digits as ``#``."""
    return _DIGITS.sub("#", text)


def normal_tokens(classes: str) -> tuple[str, ...]:
    """Return class tokens distinct, sorted, with every run of digits as ``#``."""
    return tuple(sorted(set(fold_digits(classes).split())))


def normalise_link_path(raw: str) -> str:
    """Return a link path with normal class tokens: ``html/a[post-12 b b]`` is ``html/a[b post-#]``.

    Source: Xu, Gao, Callan 2018, section 3.2. Difference: runs of digits become ``#``, which the paper does
    not do.
    """
    path, found, classes = raw.removesuffix("]").partition("[")
    return f"{path}[{' '.join(normal_tokens(classes))}]" if found else f"{path}[]"


def link_path_without_class(raw: str) -> str:
    """Return the element path of a link path: ``html/a[b]`` is ``html/a``."""
    return raw.partition("[")[0]


def link_path_id(raw: str) -> int:
    """Return the stable 64-bit id of a raw link path; it outlives filters, which apply at look-up."""
    return hash64(raw)
