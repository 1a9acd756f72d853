"""What the pipelines said becomes at most one event for each verdict on a page."""

from __future__ import annotations

import pytest

from linkscore.scrapy import feedback
from linkscore.scrapy.feedback import FeedbackBatch
from linkscore.scrapy.pages import FetchedPage


@pytest.fixture
def batch() -> FeedbackBatch:
    return FeedbackBatch()


def counts(batch: FeedbackBatch) -> list[tuple[str, int]]:
    return [(event.url, event.item_count) for event in batch.take()[1]]


def test_items_of_a_page_are_one_event(batch: FeedbackBatch) -> None:
    visit = FetchedPage("http://h/a", ticket=b"t")
    for _ in range(3):
        batch.scraped(visit)
    batch.dropped(visit)
    (event,) = batch.take()[1]
    assert (event.url, event.ticket, event.item_count) == ("http://h/a", b"t", 3)
    assert event.event_id == f"{visit.event_id}:items"
    assert not batch


def test_a_page_whose_items_are_dropped_is_not_wanted(batch: FeedbackBatch) -> None:
    batch.dropped(FetchedPage("http://h/a"))
    assert counts(batch) == [("http://h/a", 0)]


def test_a_verdict_is_reported_once_and_a_better_one_again(batch: FeedbackBatch) -> None:
    visit = FetchedPage("http://h/a")
    batch.dropped(visit)
    assert counts(batch) == [("http://h/a", 0)]
    batch.dropped(visit)
    assert counts(batch) == []
    batch.scraped(visit)
    assert counts(batch) == [("http://h/a", 1)]
    batch.scraped(visit)
    assert counts(batch) == []


def test_empty_pages_say_nothing_before_the_first_item(batch: FeedbackBatch) -> None:
    batch.empty(FetchedPage("http://h/a"))
    assert not batch
    batch.scraped(FetchedPage("http://h/b"))
    batch.empty(FetchedPage("http://h/c"))
    assert counts(batch) == [("http://h/b", 1), ("http://h/c", 0)]


def test_what_was_not_taken_by_the_server_is_sent_again_under_its_id(batch: FeedbackBatch) -> None:
    batch.scraped(FetchedPage("http://h/a"))
    visits, first = batch.take()
    batch.put_back(visits)
    assert batch.take()[1] == first


def test_a_server_that_stays_away_costs_no_memory(batch: FeedbackBatch, monkeypatch) -> None:
    monkeypatch.setattr(feedback, "MAX_PENDING", 3)
    for i in range(5):
        batch.scraped(FetchedPage(f"http://h/{i}"))
    assert [url for url, _ in counts(batch)] == ["http://h/2", "http://h/3", "http://h/4"]
