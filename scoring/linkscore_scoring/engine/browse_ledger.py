"""What the log of a crawl knows of its browse logs: batches taken in, and what became of their records."""

from __future__ import annotations

from collections import Counter, OrderedDict
from typing import Any

from linkscore_scoring.engine.events import BrowseBatchImported
from linkscore_scoring.errors import reading_state

MAX_BATCH_IDS = 100_000
"""Batches remembered. One that comes again later changes the counters here, and nothing in what is mined."""


class BrowseLedger:
    """Batches by id, oldest first, and the records of all of them by outcome.

    Attributes
    ----------
    batches
        Digest of each batch of the last `MAX_BATCH_IDS` by its id.
    outcomes
        Records by what became of them: visits under the empty name, others under the rule that left them out.
    """

    def __init__(self) -> None:
        self.batches: OrderedDict[str, str] = OrderedDict()
        self.outcomes: Counter[str] = Counter()

    def take(self, event: BrowseBatchImported) -> bool:
        """Enter a batch; returns whether it is new, a repeat changes nothing."""
        if event.batch_id in self.batches:
            return False
        self.batches[event.batch_id] = event.digest
        if len(self.batches) > MAX_BATCH_IDS:
            self.batches.popitem(last=False)
        self.outcomes.update(event.counts)
        return True

    def to_state(self) -> dict[str, Any]:
        """Return the ledger as plain values."""
        return {"batches": [list(item) for item in self.batches.items()], "outcomes": dict(self.outcomes)}

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the ledger of `to_state`.

        Raises
        ------
        CorruptState
            If a field is missing or malformed.
        """
        with reading_state("browse ledger"):
            self.batches = OrderedDict((str(key), str(digest)) for key, digest in state["batches"])
            self.outcomes = Counter({str(name): int(count) for name, count in state["outcomes"].items()})
