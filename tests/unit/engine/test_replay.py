"""The same events give the same crawl, byte by byte, whatever happens between them."""

from __future__ import annotations

import pytest

from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import ModelActivated, decode
from linkscore_scoring.site.learning import run
from linkscore_scoring.state import packed, unpacked
from linkscore_scoring.testing.crawl import page_of
from support.recorded_crawls import fetched, model, recorded, replayed


@pytest.fixture(scope="module")
def history() -> tuple[CrawlModel, list[bytes]]:
    return recorded()


def test_a_model_from_the_log_equals_the_live_one(history: tuple[CrawlModel, list[bytes]]) -> None:
    events = list(map(decode, history[1]))
    at, event = next((at, event) for at, event in enumerate(events) if isinstance(event, ModelActivated))
    [job] = replayed(history[1][:at]).take_jobs()
    assert event.built_from_seq == job.built_from_seq
    assert packed(run(job).to_state()) == packed(event.learned)


def test_a_crawl_read_back_on_the_way_comes_to_the_same_state() -> None:
    """Of pages with many links that are left: what is dropped of them now and then is the same."""
    menu = [(f"http://h/waits/{tag}", f"html/body/{tag}/a") for tag in ("ul", "ol", "dl", "nav", "p", "td")]
    whole, read_back = model(), model()
    for n in range(1, 601):
        found = page_of(f"http://h/{n}", links=[*menu, (f"http://h/{n + 1}", "html/body/main/a")])
        for crawl in (whole, read_back):
            crawl.apply(n, fetched(f"http://h/{n}", found))
            crawl.take_jobs()
        if n % 50 == 0:
            state = packed(read_back.to_state())
            read_back = model()
            read_back.load_state(unpacked(state))
            assert packed(whole.to_state()) == state
