"""The same events give the same crawl, byte by byte, whatever happens between them."""

from __future__ import annotations

import pytest

from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import ModelActivated, decode
from linkscore_scoring.site.learning import run
from linkscore_scoring.state import packed
from support.recorded_crawls import recorded, replayed


@pytest.fixture(scope="module")
def history() -> tuple[CrawlModel, list[bytes]]:
    return recorded()


def test_a_model_from_the_log_equals_the_live_one(history: tuple[CrawlModel, list[bytes]]) -> None:
    events = list(map(decode, history[1]))
    at, event = next((at, event) for at, event in enumerate(events) if isinstance(event, ModelActivated))
    [job] = replayed(history[1][:at]).take_jobs()
    assert event.built_from_seq == job.built_from_seq
    assert packed(run(job).to_state()) == packed(event.learned)
