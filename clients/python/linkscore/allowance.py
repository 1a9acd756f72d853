"""What the budget of a crawl still allows, as the answers to its pages say."""

from __future__ import annotations

from urllib.parse import unquote

from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2

_STOPS = {
    common_pb2.DECISION_STOP_YIELD: "yield",
    common_pb2.DECISION_STOP_COVERED: "covered",
    common_pb2.DECISION_STOP_BUDGET: "budget",
}


class Allowance:
    """Whether a crawler may begin fetches. Of a crawl without a budget everything may.

    Attributes
    ----------
    left
        Fetches left when the last page was answered; None without such a bound.
    spent
        Whether the budget of the crawl itself is spent.
    why
        Why the crawl or the last site that stopped does, one sentence; empty while nothing has.
    asks_again
        Whether links are to be asked about once more before they are fetched.
    """

    def __init__(self) -> None:
        self.left: int | None = None
        self.spent = False
        self.why = ""
        self.asks_again = False
        self._stop = ""
        self._stopped: dict[str, str] = {}

    def take(self, result: scoring_pb2.PageResult) -> None:
        """Take over what the answer to a page says."""
        if not result.HasField("standing"):
            return
        said = result.standing
        self.asks_again = True
        self.left = said.fetches_left if said.HasField("fetches_left") else None
        self.spent = said.spent
        site, stop = unquote(result.site.rpartition("/")[2]), _STOPS.get(said.site_decision, "")
        if stop:
            self._stopped[site] = stop
        else:
            self._stopped.pop(site, None)
        self._stop = _STOPS.get(said.decision, "") if said.spent else stop
        self.why = said.reason or said.site_reason or (self.why if self._stopped else "")

    def is_full(self, pending: int) -> bool:
        """Say whether no fetch may begin while so many are pending: in flight, or not answered yet."""
        return self.spent or (self.left is not None and pending >= self.left)

    def holds(self, bucket: str) -> bool:
        """Say whether the links of a bucket are not to be fetched: its site has stopped."""
        return self.spent or bucket.partition("/")[0] in self._stopped

    @property
    def holds_any(self) -> bool:
        """Whether links of any bucket are held."""
        return self.spent or bool(self._stopped)

    @property
    def reason(self) -> str:
        """Why the crawl ends, as one word for a crawler: ``linkscore_budget``, ``_covered`` or ``_yield``."""
        latest = next(reversed(self._stopped.values()), "")
        return f"linkscore_{self._stop or latest or 'budget'}"
