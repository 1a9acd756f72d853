"""The same events give the same crawl, byte by byte, whatever happens between them."""

from __future__ import annotations

import pytest

from linkscore_scoring.engine.config import PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import ModelActivated, decode
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.errors import CorruptState
from linkscore_scoring.site.learning import run
from linkscore_scoring.state import packed
from linkscore_scoring.testing.pages import page_of
from support.recorded_crawls import fetched, model, page, recorded, replayed, restored, state


@pytest.fixture(scope="module")
def history() -> tuple[CrawlModel, list[bytes]]:
    return recorded()


def test_a_replayed_log_gives_the_same_state(history: tuple[CrawlModel, list[bytes]]) -> None:
    crawl, log = history
    assert crawl.sites["site.example"].model.revision >= 1
    assert state(replayed(log)) == state(crawl)


@pytest.mark.parametrize("cut", [1, 10, 27, 40])
def test_a_snapshot_and_later_events_equal_no_interruption(
    history: tuple[CrawlModel, list[bytes]], cut: int
) -> None:
    crawl, log = history
    half = restored(state(replayed(log[:cut])))
    assert state(replayed(log[cut:], half, first=cut + 1)) == state(crawl)


def test_questions_between_events_change_nothing(history: tuple[CrawlModel, list[bytes]]) -> None:
    crawl, log = history
    asked = model()
    queries = CrawlQueries(asked)
    url = "http://site.example/asked"
    unseen = fetched(url, page_of(url, links=[(f"{url}/x", "html/a[never seen]")]), site="site.example")
    for seq, raw in enumerate(log, start=1):
        asked.apply(seq, decode(raw))
        for choice in (None, PolicyChoice("breadth_first"), PolicyChoice("source_ucc", {"alpha": 0.9})):
            queries.score_links([url], [url], [b""], [""], choice=choice, encode="scrapy")
            queries.rank_buckets(["site.example/x", "other/x"], choice)
            queries.explain([url], [url], [b""], [""], choice)
            queries.score_page(unseen, choice)
        queries.classify(unseen)
        queries.fetch_plan("site.example", 5)
    assert state(asked) == state(crawl)


def test_a_model_from_the_log_equals_the_live_one(history: tuple[CrawlModel, list[bytes]]) -> None:
    events = list(map(decode, history[1]))
    at, event = next((at, event) for at, event in enumerate(events) if isinstance(event, ModelActivated))
    [job] = replayed(history[1][:at]).take_jobs()
    assert event.built_from_seq == job.built_from_seq
    assert packed(run(job).to_state()) == packed(event.learned)


@pytest.mark.parametrize("field", ["config", "counts", "event_ids", "sites"])
def test_a_state_without_a_field_is_refused(field: str) -> None:
    crawl = model()
    crawl.apply(1, page("http://h/", "http://h/a"))
    broken = crawl.to_state()
    del broken[field]
    with pytest.raises(CorruptState, match=field):
        model().load_state(broken)
