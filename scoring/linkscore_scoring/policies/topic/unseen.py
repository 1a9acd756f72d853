"""How many links that nobody has seen the pages of an arm show, while nothing that is wanted is found."""

from __future__ import annotations

from collections.abc import Sequence

from linkscore_scoring.bounded import drop_oldest
from linkscore_scoring.policies.topic.learning import SITE, Arm, nodes
from linkscore_scoring.policies.topic.tunables import Tunables
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.sums import shrunk


class UnseenLinks(Stateful):
    """Mean number of unseen links of a page, by arm; shrunk along site -> link path -> pattern -> arm.

    Any of them may say the words of a question, or of a topic, that no link said so far, so a list is worth
    opening for how many it shows, however little it says itself.

    Examples
    --------
    >>> unseen = UnseenLinks()
    >>> for _ in range(8):
    ...     unseen.credit([(1, 2)], 60)
    ...     unseen.credit([(1, 3)], 0)
    >>> round(unseen.share((1, 2)), 2), round(unseen.share((1, 3)), 2), round(unseen.share((4, 5)), 2)
    (0.65, 0.15, 0.47)
    """

    _shown: Stored[dict[Arm, list[float]]]  # pages, and unseen links on them

    def __init__(self, tunables: Tunables = Tunables()) -> None:  # noqa: B008 - frozen
        self._tunables = tunables
        self._shown = {}
        self.max_arms = 0

    @property
    def has_ended(self) -> bool:
        """Whether no page counts any more."""
        return self._shown.get(SITE) == [0.0, 0.0]

    def end(self) -> None:
        """Let no page count any more: something that is wanted is found."""
        self._shown = {SITE: [0.0, 0.0]}

    def credit(self, arms: Sequence[Arm], links: int) -> None:
        """Count a page found through some arms, with so many links that no page before had."""
        for node in dict.fromkeys(node for arm in arms or [SITE] for node in nodes(arm)):
            # What is credited goes to the end, so that at the bound the site itself is never dropped.
            counts = self._shown[node] = self._shown.pop(node, [0.0, 0.0])
            counts[0] += 1.0
            counts[1] += links
        if self.max_arms:
            drop_oldest(self._shown, self.max_arms)

    def share(self, arm: Arm) -> float:
        """Return how much of what unseen links are worth at most is behind a link of an arm, in [0, 1)."""
        links = 0.0
        for node in nodes(arm):
            if (counts := self._shown.get(node)) is not None:
                links = shrunk(counts[1], counts[0], links, self._tunables.parent_pulls)
        return links / (links + self._tunables.unseen_half)
