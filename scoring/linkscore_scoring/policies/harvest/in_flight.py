"""Fetches under way: pulls of arms whose rewards are not known yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from linkscore_scoring.policies.harvest.arms import NOTHING, Node, nodes_of


@dataclass(slots=True)
class PullsInFlight:
    """Pulls begun and not answered, counted by the nodes of their arms; made for one question.

    How they lower what an arm is worth is in `HierarchicalArms.means`.

    Attributes
    ----------
    places
        Fetches of the site that may be under way together.
    worth_a_place
        Share of the mean worth of what is under way below which a fetch waits, in [0, 1].
    arm_of
        Gives the arm of a bucket.
    score
        Gives the score of an arm by the pulls begun of each node, None if nothing is under way.
    """

    places: int
    worth_a_place: float
    arm_of: Callable[[str], tuple[int, int]]
    score: Callable[[tuple[int, int], Mapping[Node, int] | None], float]
    _begun: Counter[Node] = field(default_factory=Counter)
    _fetches: int = 0
    _worth: float = 0.0

    def begin(self, bucket: str, n: int = 1) -> None:
        """See `FetchesInFlight.begin`."""
        arm = self.arm_of(bucket)
        score = self.score(arm, NOTHING)
        self._fetches += n
        self._worth += n * score / (1.0 - score)
        for node in nodes_of(*arm):
            self._begun[node] += n

    @property
    def floor(self) -> float:
        """See `FetchesInFlight.floor`: what is under way may show links of its own worth."""
        worth = self.worth_a_place * self._worth / max(1, self._fetches)
        return worth / (1.0 + worth)

    def value(self, bucket: str) -> float:
        """See `FetchesInFlight.value`."""
        return self.score(self.arm_of(bucket), self._begun if self._fetches else None)
