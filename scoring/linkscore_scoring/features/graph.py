"""Tag paths as a state machine that is learned while pages are read.

A state is a place in a document: the tag path so far. The inside of every tag (``div class="post"``,
``/div``) is a move to another state. The pages of a site repeat the same tags in the same places, so after a
few pages almost every tag of a page is one dictionary look-up, and attributes are parsed once for each
distinct tag, not for each element. What a page gives does not depend on the pages read before.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from linkscore_scoring.features.markup import attributes_of, class_tokens, tag_name
from linkscore_scoring.features.types import PathTrie

SKIPPED_TAGS = frozenset({"script", "style", "noscript", "template", "head"})
# Elements whose text runs on in the line; around others a reader sees a break.
_INLINE = frozenset(
    ["a", "abbr", "b", "bdi", "bdo", "cite", "code", "em", "font", "i", "kbd", "mark", "q", "s", "samp",
    "small"] + ["span", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr"]
)


class State(dict[str, "State"]):
    """A place in a document; as a dictionary, the moves known from it, by the inside of the tag.

    Attributes
    ----------
    node, text_node
        Indices in `PathGraph` of the path here and of a text here; of the deepest path kept when nesting goes
        on past the depth limit.
    anchor
        Inside an ``a`` with href.
    deep
        Nested further than paths are kept.
    edge
        White space to put around a text here when the texts of an anchor are joined.
    anchors
        ``a`` and ``area`` elements known from here, by the inside of the tag.
    """

    __slots__ = ("anchor", "anchors", "deep", "depth", "edge", "inside", "node", "parent", "tag", "text_node")

    def __init__(
        self, parent: State | None, tag: str, node: int, text_node: int, *, anchor: bool = False, deep: bool =
        False
    ) -> None:
        super().__init__()
        self.parent = parent
        self.tag = tag
        self.node = node
        self.text_node = text_node
        self.anchor = anchor
        self.deep = deep
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.edge = "" if tag in _INLINE else " "
        self.anchors: dict[str, Anchor] = {}
        self.inside: dict[tuple[str, int, bool], State] = {}
        self[f"/{tag}"] = self if parent is None else parent


@dataclass(frozen=True, slots=True)
class Anchor:
    """An ``a`` or ``area`` element at a place: what it says, and the state after its start tag."""

    after: State
    node: int
    href: str
    rel: str
    alt: str
    displayed: bool


class PathGraph:
    """All places and tag paths met so far: path `i` is (`parents[i]`, `tags[i]`, `classes[i]`), parents
    first.

    `size` counts what is remembered; the owner replaces a graph that has grown too large.
    """

    def __init__(self, max_depth: int) -> None:
        self.max_depth = max_depth
        self.size = 0
        self.parents: list[int] = []
        self.tags: list[str] = []
        self.classes: list[str] = []
        self._nodes: dict[tuple[int, str, str], int] = {}
        self._apaths: dict[int, str] = {}
        self.root = State(None, "", -1, -1)

    def node(self, parent: int, tag: str, classes: str) -> int:
        """Return the index of a path, new or known."""
        key = (parent, tag, classes)
        found = self._nodes.get(key)
        if found is None:
            found = self._nodes[key] = len(self.parents)
            self.parents.append(parent)
            self.tags.append(tag)
            self.classes.append(classes)
        return found

    def move(self, state: State, raw: str) -> State:
        """Return the state after a tag `state` does not know yet, and make it known."""
        if raw[0] == "/":
            after = _closed(state, raw[1:])
        elif raw[-1] == "/":
            after = state
        else:
            after = self._enter(state, tag_name(raw), class_tokens(attributes_of(raw).get("class", "")))
        self.size += 1
        state[raw] = after
        return after

    def image(self, state: State, raw: str) -> int:
        """Return the path of an ``img``."""
        if state.depth >= self.max_depth:
            return state.node
        return self.node(state.node, "img", class_tokens(attributes_of(raw).get("class", "")))

    def anchor(self, state: State, raw: str) -> Anchor | None:
        """Return an ``a`` or ``area`` of `state`, None if it has no href."""
        found = state.anchors.get(raw)
        if found is not None:
            return found
        attributes = attributes_of(raw)
        if "href" not in attributes:
            return None
        self.size += 1
        found = state.anchors[raw] = self._anchor(state, raw, attributes)
        return found

    def trie(self, leaves: list[int], max_nodes: int) -> PathTrie:
        """Return the paths of a page whose displayed leaves end at `leaves`, in order of first appearance.

        Leaves that would need more than `max_nodes` nodes are left out.
        """
        trie = PathTrie()
        place = {-1: -1}
        for leaf, count in Counter(leaves).items():
            steps = self._steps(leaf, place)
            if len(trie.parents) + len(steps) > max_nodes:
                continue
            for node in reversed(steps):
                place[node] = len(trie.parents)
                trie.parents.append(place[self.parents[node]])
                trie.tags.append(self.tags[node])
                trie.classes.append(self.classes[node])
                trie.leaves.append(0)
            trie.leaves[place[leaf]] = count
        return trie

    def _steps(self, node: int, place: dict[int, int]) -> list[int]:
        """Return `node` and its ancestors up to the first one in `place`."""
        steps = []
        while node not in place:
            steps.append(node)
            node = self.parents[node]
        return steps

    def apath(self, node: int) -> str:
        """Return the raw Apath of an anchor: element names from the root, and the classes of the last."""
        found = self._apaths.get(node)
        if found is None:
            found = self._apaths[node] = f"{self._path(node)}[{self.classes[node]}]"
        return found

    def _anchor(self, state: State, raw: str, attributes: dict[str, str]) -> Anchor:
        tag = tag_name(raw)
        inside = self._enter(state, tag, class_tokens(attributes.get("class", "")), anchor=tag == "a")
        return Anchor(
            after=state if raw[-1] == "/" else inside,
            node=inside.node,
            href=attributes["href"],
            rel=" ".join(attributes.get("rel", "").lower().split()),
            alt=attributes.get("alt", "") if tag == "area" else "",
            displayed=tag == "a",
        )

    def _enter(self, state: State, tag: str, classes: str, *, anchor: bool = False) -> State:
        deep = state.depth >= self.max_depth
        node = state.node if deep else self.node(state.node, tag, classes)
        anchor = anchor or state.anchor
        key = (tag, node, anchor)
        found = state.inside.get(key)
        if found is None:
            text_node = state.text_node if deep else self.node(node, "text()", "")
            found = state.inside[key] = State(state, tag, node, text_node, anchor=anchor, deep=deep)
            self.size += 1
        return found

    def _path(self, node: int) -> str:
        names: list[str] = []
        while node >= 0:
            names.append(self.tags[node])
            node = self.parents[node]
        return "/".join(reversed(names))


def _closed(state: State, tag: str) -> State:
    """Return the state after an end tag that is not the one expected: that of the nearest such element, if any."""
    outer: State | None = state
    while outer is not None and outer.tag != tag:
        outer = outer.parent
    return state if outer is None or outer.parent is None else outer.parent
