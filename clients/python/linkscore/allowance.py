"""What the budget of a crawl still allows, as the answers to its pages say."""

from __future__ import annotations

from urllib.parse import unquote

from linkscore.messages import Budget, budget_spec, is_dropped
from linkscore.v1 import common_pb2
from linkscore.v1 import crawl_service_pb2 as crawl_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2

_STOPS = {
    common_pb2.DECISION_STOP_YIELD: "yield",
    common_pb2.DECISION_STOP_COVERED: "covered",
    common_pb2.DECISION_STOP_BUDGET: "budget",
}


class Allowance:
    """Whether a crawler may begin fetches. Of a crawl without a budget everything may.

    Until the first page is answered one fetch may begin at a time: a crawl that was there may have spent all.

    Parameters
    ----------
    budget
        What the crawl is given.

    Attributes
    ----------
    left
        Fetches left when the last page was answered, all of the budget before; None without such a bound.
    spent
        Whether the budget of the crawl itself is spent.
    why
        Why the crawl or the last site that stopped does, one sentence; empty while nothing has.
    asks_again
        Whether links are to be asked about once more before they are fetched: they may be in a trap by now,
        or some were to be dropped when they were found.
    """

    def __init__(self, budget: Budget | None = None) -> None:
        given = budget_spec(budget)
        self._seq = 0  # event of the answer that was taken over
        self.left = None if given is None else _most_fetches(given)
        self.spent = False
        self.why = ""
        self.asks_again = given is not None and given.HasField("max_trap_share")
        self._is_first = self.left is not None
        self._stop = ""
        self._stopped: dict[str, str] = {}

    def take(self, result: scoring_pb2.PageResult) -> None:
        """Take over what the answer to a page says.

        Answers that were asked for side by side come in any order: one that another overtook cannot raise
        what is left.
        """
        self._is_first = False
        is_latest = result.event_seq >= self._seq
        self._seq = max(self._seq, result.event_seq)
        self.asks_again |= any(map(is_dropped, set(result.links.skip_reasons)))
        if not result.HasField("standing"):
            return
        said = result.standing
        left = said.fetches_left if said.HasField("fetches_left") else None
        if not is_latest and self.left is not None:
            left = self.left if left is None else min(self.left, left)
        self.left = left
        if self.spent and not is_latest:
            return
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
        most = self.left if not self._is_first else 1
        return self.spent or (most is not None and pending >= most)

    def without_answer(self, uncounted: int) -> None:
        """Take note that the server counts so many fetches neither now nor soon: they are spent too."""
        self._is_first = self._is_first and not uncounted
        if not self.spent and self.left is not None and uncounted >= self.left:
            self.spent, self._stop = True, "budget"
            self.why = f"{uncounted:,} fetches that the server does not know are all that was left"

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


def _most_fetches(budget: crawl_pb2.Budget) -> int | None:
    """Return how many fetches a budget allows in all, None without such a bound."""
    most = [budget.max_fetches] if budget.HasField("max_fetches") else []
    if budget.HasField("max_cost") and budget.fetch_cost > 0:
        most.append(int(budget.max_cost // budget.fetch_cost))
    return min(most, default=None)
