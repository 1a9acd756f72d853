"""The nodes of a URL pattern tree and the forwarding addresses of nodes that were folded away."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from linkscore_scoring.errors import reading_state
from linkscore_scoring.state import State

ROOT = 0
_FORWARDS_PER_NODE = 4


@dataclass(slots=True)
class Node:
    """One slot value: URLs that passed, children by value, and the counters of a variable slot."""

    token: str
    parent: int
    count: int = 0
    children: dict[str, int] = field(default_factory=dict)
    variable: bool = False
    candidates: dict[str, int] = field(default_factory=dict)


class NodeStore:
    """At most `max_nodes` nodes by id; ids are never used twice, the root is 0.

    Up to four forwarding addresses per node of the bound are kept; the oldest go first.
    """

    def __init__(self, max_nodes: int) -> None:
        self.max_nodes = max_nodes
        self.nodes: dict[int, Node] = {ROOT: Node("", -1)}
        self._moved: dict[int, int] = {}
        self._next = 1

    def __len__(self) -> int:
        return len(self.nodes)

    def __getitem__(self, number: int) -> Node:
        return self.nodes[number]

    def add(self, parent: int, token: str) -> int | None:
        """Return the id of a new child, or None when the store is full."""
        if len(self.nodes) >= self.max_nodes:
            return None
        new, self._next = self._next, self._next + 1
        self.nodes[new] = Node(token, parent)
        self.nodes[parent].children[token] = new
        return new

    def remove(self, gone: int, kept: int) -> Node:
        """Take a node out, leave `kept` as its forwarding address, and return it."""
        self._moved[gone] = kept
        if len(self._moved) > _FORWARDS_PER_NODE * self.max_nodes:
            del self._moved[next(iter(self._moved))]
        return self.nodes.pop(gone)

    def absorb(self, at: int) -> None:
        """Fold everything below a node into it."""
        below = list(self.nodes[at].children.values())
        self.nodes[at].children = {}
        while below:
            below += self.remove(below.pop(), at).children.values()

    def resolve(self, number: int) -> int:
        """Return the id that now stands for `number`; the root for a forgotten one."""
        while number in self._moved:
            number = self._moved[number]
        return number if number in self.nodes else ROOT

    def to_state(self) -> State:
        """Return the nodes as plain values."""
        return {
            "nodes": [[number, asdict(node)] for number, node in self.nodes.items()],
            "moved": [list(pair) for pair in self._moved.items()],
            "next": self._next,
        }

    @classmethod
    def from_state(cls, state: State, max_nodes: int) -> NodeStore:
        """Rebuild a store.

        Raises
        ------
        CorruptState
            If a field is missing or malformed.
        """
        store = cls(max_nodes)
        with reading_state("url pattern state"):
            store.nodes = {int(number): Node(**fields) for number, fields in state["nodes"]}
            store._moved = {int(old): int(new) for old, new in state["moved"]}
            store._next = int(state["next"])
        return store
