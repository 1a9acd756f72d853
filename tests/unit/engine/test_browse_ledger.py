"""The ledger of browse logs: a batch counts once, the memory of ids is bounded, state comes back."""

from __future__ import annotations

import pytest

from linkscore_scoring.engine import crawl
from linkscore_scoring.engine.crawl import BrowseLedger
from linkscore_scoring.engine.events import BrowseBatchImported


def imported(batch_id: str) -> BrowseBatchImported:
    return BrowseBatchImported(batch_id, {20_000: 5}, {"": 5, "bot": 2})


def test_the_oldest_ids_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crawl, "MAX_BATCH_IDS", 2)
    ledger = BrowseLedger()
    for name in "abc":
        ledger.take(imported(name))
    assert list(ledger.batches) == ["b", "c"]
    assert ledger.outcomes[""] == 15
