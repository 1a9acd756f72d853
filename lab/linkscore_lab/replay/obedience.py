"""A crawler that obeys: it leaves what a policy says to skip, and fetches what it asks for."""

from __future__ import annotations

from linkscore_lab.replay.frontier import Frontier, Waiting
from linkscore_lab.replay.scorer import Scorer

MAX_WAYS = 6


class ObedientFrontier:
    """A frontier that asks about a link once more before it hands it out, and keeps aside what is to skip.

    A link is handed out unless every way it was found by is to skip at that moment: a link that was taken
    for good before the policy knew better is left, one that was to skip and no longer is comes back. What is
    kept aside is asked about again when nothing else waits.

    Parameters
    ----------
    inner
        The frontier that orders.
    scorer
        Whom to ask.
    ask
        Whether to ask at all; if not, only requests are obeyed.
    """

    def __init__(self, inner: Frontier, scorer: Scorer, *, ask: bool = True) -> None:
        self._inner, self._scorer, self._ask = inner, scorer, ask
        self._ways: dict[int, dict[bytes, Waiting]] = {}
        self._aside: dict[int, Waiting] = {}

    def offer(self, link: Waiting, bucket: str, score: float) -> None:
        """See `Frontier.offer`."""
        ways = self._ways.setdefault(link.number, {})
        if len(ways) < MAX_WAYS:
            ways.setdefault(link.ticket, link)
        self._inner.offer(link, bucket, score)

    def rescore(self, number: int, score: float) -> None:
        """See `Frontier.rescore`."""
        self._inner.rescore(number, score)

    def taken(self, number: int) -> None:
        """See `Frontier.taken`."""
        self._aside.pop(number, None)
        self._ways.pop(number, None)
        self._inner.taken(number)

    def pop(self) -> Waiting | None:
        """See `Frontier.pop`; None when all that waits is to skip."""
        while (link := self._inner.pop()) is not None:
            if (chosen := self._allowed(link.number)) is not None:
                self._ways.pop(link.number, None)
                return chosen
            self._aside[link.number] = link
        for number in list(self._aside):
            if (chosen := self._allowed(number)) is not None:
                self.taken(number)
                return chosen
        return None

    def request(self, link: Waiting) -> Waiting:
        """Hand out a record that was asked for, whatever the verdict, by a way it was found by if any."""
        ways = self._ways.get(link.number)
        chosen = next(iter(ways.values())) if ways else link
        self.taken(link.number)
        return chosen

    def _allowed(self, number: int) -> Waiting | None:
        """Return a way by which a record is not to skip, None if there is none."""
        ways = list(self._ways.get(number, {}).values())
        if not self._ask:
            return ways[0] if ways else None
        skips = self._scorer.skips([(way.key, way.ticket) for way in ways])
        return next((way for way, skip in zip(ways, skips, strict=True) if not skip), None)
