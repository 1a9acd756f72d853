"""The tag paths of one page while it is being read."""

from __future__ import annotations

from linkscore_scoring.features.markup import TEXT, Step
from linkscore_scoring.features.types import Limits, PathTrie


class PathTree:
    """All element paths of a page, as they are met; node 0 is the place outside the root element.

    Attributes
    ----------
    parents, steps
        Parent node and last step of each node.
    children
        Nodes below each node, by step.
    texts, leaves
        Displayed texts right below each node; ``img`` and ``a`` leaves that end at it.
    """

    def __init__(self) -> None:
        self.parents = [0]
        self.steps = [TEXT]
        self.children: list[dict[Step, int]] = [{}]
        self.texts = [0]
        self.leaves = [0]

    def below(self, node: int, step: Step) -> int:
        """Return the node one step below `node`, new or known."""
        found = self.children[node].get(step)
        return self.grow(node, step) if found is None else found

    def grow(self, node: int, step: Step) -> int:
        """Add the node one step below `node`."""
        new = self.children[node][step] = len(self.parents)
        self.parents.append(node)
        self.steps.append(step)
        self.children.append({})
        self.texts.append(0)
        self.leaves.append(0)
        return new

    def apath(self, node: int, max_depth: int) -> str:
        """Return the raw Apath of an anchor: element names from the root, and the classes of the last.

        Of nesting deeper than `max_depth` the outermost elements and the anchor are named.
        """
        names: list[str] = []
        at = node
        while at:
            names.append(self.steps[at].name)
            at = self.parents[at]
        names = [*names[: -max_depth - 1 : -1][:-1], names[0]] if len(names) > max_depth else names[::-1]
        return f"{'/'.join(names)}[{self.steps[node].classes}]"

    def trie(self, limits: Limits) -> tuple[PathTrie, list[str]]:
        """Return the paths that end in displayed leaves, and if ``depth_cut``, ``paths_cut`` applied."""
        deep = len(self.parents) > limits.depth and self._cut_depth(limits.depth)
        notes = ["depth_cut"] if deep else []
        parents: list[int] = []
        steps: list[Step] = []
        leaves: list[int] = []
        place = [-1] * len(self.parents)
        for node, shown in enumerate(self._shown()):
            if not shown:
                continue
            if len(parents) >= limits.path_nodes:
                notes.append("paths_cut")
                break
            if node:
                place[node] = len(parents)
                parents.append(place[self.parents[node]])
                steps.append(self.steps[node])
                leaves.append(self.leaves[node])
            if self.texts[node]:
                parents.append(place[node])
                steps.append(TEXT)
                leaves.append(self.texts[node])
        trie = PathTrie(parents, [step.name for step in steps], [step.classes for step in steps], leaves)
        return trie, notes

    def _shown(self) -> list[bool]:
        """Say of each node whether a displayed leaf ends at it or below."""
        shown = [text + leaf > 0 for text, leaf in zip(self.texts, self.leaves, strict=True)]
        for node in range(len(shown) - 1, 0, -1):
            if shown[node]:
                shown[self.parents[node]] = True
        return shown

    def _cut_depth(self, most: int) -> bool:
        """Count the leaves of nodes deeper than `most` elements at their ancestor of that depth."""
        depths = [0]
        for parent in self.parents[1:]:
            depths.append(depths[parent] + 1)
        if max(depths) <= most:
            return False
        for node in range(len(depths) - 1, 0, -1):
            if depths[node] > most:
                self._hand_up(node)
        return True

    def _hand_up(self, node: int) -> None:
        parent = self.parents[node]
        self.texts[parent] += self.texts[node] + self.leaves[node]
        self.texts[node] = self.leaves[node] = 0
