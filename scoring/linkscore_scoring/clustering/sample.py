"""Pages as clusterers see them: what is on a page, where it links, and how it is linked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count

from linkscore_scoring.features.types import PathTrie
from linkscore_scoring.hashing import hash64

Link = tuple[int, int, int]
"""Link path id, class-free link path id, identity hash of the target."""

InLink = tuple[int, int]
"""Identity hash of the linking page, link path id."""


@dataclass(frozen=True, slots=True)
class SamplePage:
    """A page to cluster or to classify.

    `key`: identity of its URL. `paths`: its tag paths. `links`: its distinct links within the crawl; read
    when a sample is clustered, not when a page is classified. `in_links`: distinct known links that lead to
    it; `with_in_links` finds those of a sample.
    """

    key: str
    paths: PathTrie
    links: Sequence[Link] = ()
    in_links: Sequence[InLink] = ()

    @property
    def hash(self) -> int:
        """Identity hash, by which links name their targets."""
        return hash64(self.key)


def with_in_links(pages: Sequence[SamplePage], sources: Sequence[SamplePage]) -> list[SamplePage]:
    """Return the pages with the links of `sources` that lead to them added to what is known.

    Links of a page to itself say nothing and are left out. Cost O(links).
    """
    found: defaultdict[int, dict[InLink, None]] = defaultdict(dict)
    hashes = [page.hash for page in pages]
    wanted = frozenset(hashes)
    for source in sources:
        origin = source.hash
        for link_path, _, target in source.links:
            if target in wanted and target != origin:
                found[target][origin, link_path] = None
    return [
        replace(page, in_links=list(dict.fromkeys([*page.in_links, *found[hash_]])))
        for page, hash_ in zip(pages, hashes, strict=True)
    ]


_Node = tuple[int, str, str]
"""Parent, tag, class tokens."""


class SampleTrie:
    """Tag paths of a sample; pages of a site share most of theirs.

    `tries`: tag paths of each page.

    `nodes`: parent (-1 for none), tag and class tokens of each node; parents come first. `pages`: nodes of
    each page, in its order. `leaves`: nodes of each page where displayed leaves end, and how many, in its
    order. `classes`: distinct class tokens of elements, as `PathTrie.classes` has them, of each page.

    Cost O(nodes of all pages).

    Examples
    --------
    >>> from linkscore_scoring.testing.pages import trie_of
    >>> sample = SampleTrie([trie_of(["html/p/text()"] * 2), trie_of(["html/p/text()", "html/img"])])
    >>> sample.bags(sample.paths(lambda tag, classes: tag, "/"))
    [{'html/p/text()': 2}, {'html/p/text()': 1, 'html/img': 1}]
    """

    def __init__(self, tries: Sequence[PathTrie]) -> None:
        known: defaultdict[_Node, int] = defaultdict(count().__next__)
        self.pages: list[list[int]] = []
        self.leaves: list[list[tuple[int, int]]] = []
        self.classes = [set(trie.classes) for trie in tries]
        for trie in tries:
            at: list[int] = []
            for parent, tag, classes in zip(trie.parents, trie.tags, trie.classes, strict=True):
                at.append(known[at[parent] if parent >= 0 else -1, tag, classes])
            self.pages.append(at)
            self.leaves.append([(node, n) for node, n in zip(at, trie.leaves, strict=True) if n])
        self.nodes = list(known)

    def __len__(self) -> int:
        return len(self.pages)

    def paths(self, element_of: Callable[[str, str], str], separator: str) -> list[str]:
        """Return the path of every node: names of its elements, from the root on.

        `element_of`: (tag, class tokens) -> name of an element; asked once for each that is different.
        `separator`: stands between names.
        """
        elements: dict[tuple[str, str], str] = {}
        paths: list[str] = []
        for parent, tag, classes in self.nodes:
            element = elements.get((tag, classes))
            if element is None:
                element = elements[tag, classes] = element_of(tag, classes)
            paths.append(f"{paths[parent]}{separator}{element}" if parent >= 0 else element)
        return paths

    def bags(self, paths: Sequence[str]) -> list[dict[str, int]]:
        """Return the bag of each page, path -> displayed leaves, of paths given by node."""
        bags = []
        for leaves in self.leaves:
            bag: dict[str, int] = {}
            for node, n in leaves:
                path = paths[node]
                bag[path] = bag.get(path, 0) + n
            bags.append(bag)
        return bags
