"""The class-aware paths of a site met so far, as a tree: a page like others costs two look-ups a node."""

from __future__ import annotations

from collections.abc import Callable

from linkscore_scoring.features.types import PathTrie

_ROOT = 0


class PathNodes:
    """Filtered bags of pages, with what earlier pages showed remembered; it never changes an answer.

    Parameters
    ----------
    separator
        Stands between elements.
    max_nodes
        Nodes, and distinct (tag, class tokens), remembered; above it all are forgotten.
    """

    def __init__(self, *, separator: str, max_nodes: int = 20_000) -> None:
        self.max_nodes = max_nodes
        self._separator = separator
        self._forget()

    def bag(
        self, trie: PathTrie, element_of: Callable[[str, str], str], settle: Callable[[str], str]
    ) -> dict[str, int]:
        """Return the filtered bag of a page: settled path -> displayed leaves; cost O(nodes).

        Parameters
        ----------
        trie
            Tag paths of the page.
        element_of
            (tag, class tokens) -> element of a path with the tokens that count; the same at every call.
        settle
            Path of such elements -> the frequent path it stands for; the same at every call.
        """
        if max(len(self._paths), len(self._elements)) > self.max_nodes:
            self._forget()
        elements, below, settled = self._elements, self._below, self._settled
        places: list[int] = []
        bag: dict[str, int] = {}
        for parent, tag, classes, leaves in zip(
            trie.parents, trie.tags, trie.classes, trie.leaves, strict=True
        ):
            element = elements.get((tag, classes))
            if element is None:
                element = elements[tag, classes] = element_of(tag, classes)
            above = places[parent] if parent >= 0 else _ROOT
            at = below.get((above, element)) or self._grow(above, element)
            places.append(at)
            if leaves:
                path = settled[at]
                if not path:
                    path = settled[at] = settle(self._paths[at])
                bag[path] = bag.get(path, 0) + leaves
        return bag

    def _grow(self, above: int, element: str) -> int:
        at = self._below[above, element] = len(self._paths)
        path = self._paths[above]
        self._paths.append(f"{path}{self._separator}{element}" if above else element)
        self._settled.append("")
        return at

    def _forget(self) -> None:
        self._elements: dict[tuple[str, str], str] = {}
        self._below: dict[tuple[int, str], int] = {}
        self._paths = [""]
        self._settled = [""]
