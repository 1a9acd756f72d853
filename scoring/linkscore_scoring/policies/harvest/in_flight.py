"""Fetches under way: pulls of arms whose rewards are not known yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from linkscore_scoring.policies.harvest.arms import Node, nodes_of


@dataclass(slots=True)
class PullsInFlight:
    """Pulls begun and not answered, counted by the nodes of their arms; made for one question.

    How they lower what an arm is worth is in `HierarchicalArms.means`.

    Attributes
    ----------
    places
        Fetches of the site that may be under way together.
    arm_of
        Gives the arm of a bucket.
    score
        Gives the score of an arm by the pulls begun of each node.
    """

    places: int
    arm_of: Callable[[str], tuple[int, int]]
    score: Callable[[tuple[int, int], Mapping[Node, int]], float]
    _begun: Counter[Node] = field(default_factory=Counter)

    def begin(self, bucket: str, n: int = 1) -> None:
        """See `FetchesInFlight.begin`."""
        for node in nodes_of(*self.arm_of(bucket)):
            self._begun[node] += n

    def value(self, bucket: str) -> float:
        """See `FetchesInFlight.value`."""
        return self.score(self.arm_of(bucket), self._begun)
