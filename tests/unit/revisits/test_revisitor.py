"""Revisits within a crawl: the state comes from the log alone, and furniture is no change."""

from __future__ import annotations

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import FeedbackGiven, PageFetched, decode, encode
from linkscore_scoring.features.html import extract
from linkscore_scoring.state import packed, unpacked
from linkscore_scoring.types import Revisit

HOST, SITE = "http://a.org", "a.org"


def event(number: int, day: int, body: str = "", status: int = 200) -> PageFetched:
    url = f"{HOST}/page/{number}"
    features = extract(f"<html><body>{body}</body></html>".encode(), url=url) if body else None
    return PageFetched(f"{number}-{day}", SITE, url, url, status, "", b"", 1e9 + day * 86_400.0, features)


def body(number: int, version: int = 0, build: int = 0) -> str:
    own = f"<p>This is what page {number} says in its version {version}, and nobody else. {'x' * version}</p>"
    return f"<nav><p>Menu of the site, as it was built {build} times until now, for all</p></nav>{own}"


def crawl(**revisit: object) -> CrawlModel:
    config = CrawlConfig("c", revisit=revisit or None)
    config.check()
    return CrawlModel(config, ticket_key=b"k" * 32)


def log(days: int = 6) -> list[PageFetched | FeedbackGiven]:
    events: list[PageFetched | FeedbackGiven] = []
    for day in range(days):
        events += [event(number, day, body(number, version=day * (number % 2) * 5)) for number in range(4)]
        events.append(event(9, day, status=404) if day % 2 else event(9, day, body(9)))
        events.append(event(0, day + 100, status=304))
    events.append(FeedbackGiven("f", SITE, f"{HOST}/page/1", b"", 1.0, 1e9))
    return events


def test_state_in_the_middle_gives_the_same_crawl_as_the_whole_log() -> None:
    whole, first = crawl(fetches_per_day=3.0), crawl(fetches_per_day=3.0)
    events = [decode(encode(each)) for each in log()]
    for seq, each in enumerate(events, 1):
        whole.apply(seq, each)
    for seq, each in enumerate(events[:20], 1):
        first.apply(seq, each)
    again = crawl(fetches_per_day=3.0)
    again.load_state(unpacked(packed(first.to_state())))
    for seq, each in enumerate(events[20:], 21):
        again.apply(seq, each)
    assert packed(again.to_state()) == packed(whole.to_state())


def test_policies_learn_the_same_with_revisits_and_without() -> None:
    with_them, without = crawl(objective="both"), crawl()
    for seq, each in enumerate(log(), 1):
        if isinstance(each, PageFetched) and each.status_code == 304:
            continue  # a failed fetch to a crawl that knows no revisits
        with_them.apply(seq, each)
        without.apply(seq, each)
    policies = (model.sites[SITE].to_state()["policy"] for model in (with_them, without))
    assert next(policies) == next(policies)


def test_a_page_that_is_as_it_was_is_no_fetch_to_policies() -> None:
    model = crawl(objective="both")
    model.apply(1, event(1, 0, body(1)))
    before = model.sites[SITE].to_state()
    outcome = model.apply(2, event(1, 1, status=304))
    after = model.sites[SITE].to_state()
    assert isinstance(outcome.revisit, Revisit)  # type: ignore[union-attr]
    assert outcome.revisit.share == 0.0  # type: ignore[union-attr]
    assert before.pop("revisits") != after.pop("revisits")
    assert before == after


def test_furniture_that_every_build_changes_is_the_change_of_few_pages() -> None:
    model, changed = crawl(objective="both"), 0
    pages, builds = 60, 5
    for build in range(builds):
        for number in range(pages):
            outcome = model.apply(build * pages + number + 1, event(number, build, body(number, build=build)))
            revisit = outcome.revisit  # type: ignore[union-attr]
            changed += bool(revisit is not None and revisit.share)
    assert changed <= 0.02 * pages * (builds - 1)
