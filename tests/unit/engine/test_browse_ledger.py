"""The ledger of browse logs: a batch counts once, the memory of ids is bounded, state comes back."""

from __future__ import annotations

import pytest

from linkscore_scoring.engine import crawl
from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import BrowseLedger, CrawlModel
from linkscore_scoring.engine.events import BrowseBatchImported, decode, encode
from linkscore_scoring.errors import CorruptState
from linkscore_scoring.state import packed


def imported(batch_id: str) -> BrowseBatchImported:
    return BrowseBatchImported(batch_id, {20_000: 5}, {"": 5, "bot": 2})


def test_a_batch_counts_once() -> None:
    model = CrawlModel(CrawlConfig("c"), ticket_key=b"k" * 32)
    assert [model.apply(n + 1, imported(name)) for n, name in enumerate("aba")] == [True, True, False]
    assert dict(model.ledger.outcomes) == {"": 10, "bot": 4}
    assert list(model.ledger.batches) == ["a", "b"]


def test_the_event_comes_back_from_its_bytes() -> None:
    assert decode(encode(imported("a"))) == imported("a")


def test_the_oldest_ids_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crawl, "MAX_BATCH_IDS", 2)
    ledger = BrowseLedger()
    for name in "abc":
        ledger.take(imported(name))
    assert list(ledger.batches) == ["b", "c"]
    assert ledger.outcomes[""] == 15


def test_the_state_of_a_crawl_has_its_ledger() -> None:
    model, again = (CrawlModel(CrawlConfig("c"), ticket_key=b"k" * 32) for _ in range(2))
    model.apply(1, imported("a"))
    again.load_state(model.to_state())
    assert again.to_state() == model.to_state()
    assert again.apply(2, imported("a")) is False


def test_a_malformed_ledger_is_refused() -> None:
    with pytest.raises(CorruptState, match="browse ledger"):
        BrowseLedger().load_state({"batches": [["a"]], "outcomes": {}})


def test_counts_beyond_64_bits_stay_countable() -> None:
    ledger = BrowseLedger()
    for name in "ab":
        ledger.take(BrowseBatchImported(name, {}, {"bot": 2**64 - 1}))
    assert ledger.outcomes["bot"] == crawl.MOST_RECORDS
    assert len(packed(ledger.to_state())) > 0
