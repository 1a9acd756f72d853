"""The ledger of browse logs: a batch counts once, the memory of ids is bounded, state comes back."""

from __future__ import annotations

import pytest

from linkscore_scoring.engine import crawl
from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import BrowseLedger, CrawlModel
from linkscore_scoring.engine.events import BrowseBatchImported


def imported(batch_id: str) -> BrowseBatchImported:
    return BrowseBatchImported(batch_id, {20_000: 5}, {"": 5, "bot": 2})


def test_a_batch_counts_once() -> None:
    model = CrawlModel(CrawlConfig("c"), ticket_key=b"k" * 32)
    assert [model.apply(n + 1, imported(name)) for n, name in enumerate("aba")] == [True, True, False]
    assert dict(model.ledger.outcomes) == {"": 10, "bot": 4}
    assert list(model.ledger.batches) == ["a", "b"]


def test_the_oldest_ids_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crawl, "MAX_BATCH_IDS", 2)
    ledger = BrowseLedger()
    for name in "abc":
        ledger.take(imported(name))
    assert list(ledger.batches) == ["b", "c"]
    assert ledger.outcomes[""] == 15
