"""Notices that pages changed: what they are worth is measured at the next fetch, repeats count once."""

from __future__ import annotations

import numpy as np

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import ChangesNotified, PageFetched, decode, encode
from linkscore_scoring.features.html import extract
from linkscore_scoring.revisits.signals import Signals, noticed
from linkscore_scoring.revisits.site import NOTED, REPEATED, UNKNOWN, SiteRevisits
from linkscore_scoring.revisits.values import DAY_S, Fetched, RevisitSettings
from linkscore_scoring.state import packed, unpacked

START = 1_000_000.0


def day(number: float) -> float:
    return START + number * DAY_S


def fetch(site: SiteRevisits, key: int, at: float, *, changed: bool = False) -> None:
    unseen = 50 + int(at) * 7 if changed else 0
    site.fetched(Fetched(key, f"http://a.org/{key}", day(at), own=500, unseen=unseen))


def watched(*, lies: bool, told: bool = True) -> SiteRevisits:
    """Return a site of two pages that change in 3 of 10 fetches; notices of changes, or of each other day."""
    site = SiteRevisits(RevisitSettings(objective="freshness"))
    for number in range(0, 80, 2):
        changes = number // 2 % 10 in (1, 4, 8)
        for key in (1, 2):
            if told and (number // 2 % 2 if lies else changes):
                site.notified(key, day(number - 1))
            fetch(site, key, number, changed=changes)
    return site


def gain_of(site: SiteRevisits) -> float:
    """Return how many times as much a fetch of a page is worth once a notice came."""
    before = {due.key: due.worth for due in site.rank(day(80), 2)}
    assert site.notified(2, day(79.5)) == NOTED
    after = {due.key: due.worth for due in site.rank(day(80), 2)}
    assert after[1] == before[1]
    return after[2] / before[2]


def test_an_honest_notice_brings_its_page_forward_and_one_that_lies_fades() -> None:
    assert gain_of(watched(lies=False)) > 5.0
    assert gain_of(watched(lies=True)) < 1.5
    assert gain_of(watched(lies=True, told=False)) == 1.0


def test_trust_that_was_earned_is_lost_again() -> None:
    site = watched(lies=False)
    trusted = site.notices.odds(moved=True)
    for number in range(80, 400, 2):
        site.notified(1, day(number - 1))
        fetch(site, 1, number)
    assert site.notices.odds(moved=True) < trusted / 5.0


def test_a_notice_never_makes_a_fetch_worth_less_and_counts_beside_a_date() -> None:
    lying, honest, fresh = Signals(), Signals(), np.array([0.5, 0.9])
    for _ in range(100):
        lying.learn(stale=0.5, moved=True, changed=False)
        honest.learn(stale=0.5, moved=True, changed=True)
    listed, moved = np.array([3.0, 0.5]), np.array([True, False])
    assert noticed(lying, fresh, listed, moved).tolist() == [3.0, 0.5]
    alone = noticed(honest, fresh, np.ones(2), ~np.ones(2, np.bool_))
    assert noticed(honest, fresh, listed, moved).tolist() == [max(3.0, alone[0]), 0.5 * alone[1]]


def test_a_notice_counts_once_until_the_next_fetch() -> None:
    site = watched(lies=False)
    assert [site.notified(1, day(at)) for at in (79, 79, 78.5, 79.5, 79)] == [
        NOTED,
        REPEATED,
        REPEATED,
        NOTED,
        REPEATED,
    ]
    fetch(site, 1, 80, changed=True)
    assert [site.notified(1, day(at)) for at in (79, 79.5, 80)] == [REPEATED] * 3
    assert site.notified(1, day(81)) == NOTED


def test_pages_that_nobody_knows_or_that_are_gone_are_unknown_and_leave_no_trace() -> None:
    site = SiteRevisits(RevisitSettings())
    fetch(site, 1, 0)
    site.gone(1, day(1))
    before = packed(site.to_state())
    assert [site.notified(key, day(2)) for key in (1, 77)] == [UNKNOWN, UNKNOWN]
    assert packed(site.to_state()) == before


def test_a_fetch_from_before_the_change_checks_nothing() -> None:
    site = watched(lies=False)
    trusted = site.notices.odds(moved=True)
    site.notified(1, day(84))
    fetch(site, 1, 82)  # ingested late
    assert site.notices.odds(moved=True) == trusted
    assert site.notified(1, day(84)) == REPEATED
    fetch(site, 1, 86)
    assert site.notices.odds(moved=True) < trusted


def test_asking_changes_nothing_and_a_state_gives_the_same_site() -> None:
    site = watched(lies=False)
    site.notified(1, day(79))
    plain = packed(site.to_state())
    assert site.news(2, day(79)) == NOTED
    assert [due.key for due in site.rank(day(81), 2)] == [1, 2]
    assert packed(site.to_state()) == plain
    again = SiteRevisits(site.settings)
    again.load_state(unpacked(plain))
    assert again.rank(day(81), 2) == site.rank(day(81), 2)
    for each in (site, again):
        fetch(each, 1, 82, changed=True)
    assert again.to_state() == site.to_state()


def crawl(*, revisits: bool) -> CrawlModel:
    config = CrawlConfig("c", revisit={} if revisits else None)
    return CrawlModel(config, ticket_key=b"k" * 32)


def page(number: int) -> PageFetched:
    url = f"http://a.org/{number}"
    features = extract(f"<p>This is what page {number} says</p>".encode(), url=url)
    return PageFetched(f"e{number}", "a.org", url, url, 200, "", b"", START, features)


def told(site: str, *urls: str) -> ChangesNotified:
    event = decode(encode(ChangesNotified(site, list(urls), day(1))))
    assert isinstance(event, ChangesNotified)
    return event


def test_the_event_tells_the_companion_of_its_site_by_urls() -> None:
    model = crawl(revisits=True)
    model.apply(1, page(1))
    assert model.apply(2, told("a.org", "http://a.org/1", "http://a.org/2")) == [NOTED, UNKNOWN]
    assert model.apply(3, told("a.org", "http://a.org/1")) == [REPEATED]


def test_sites_and_settings_that_are_not_there_take_no_notice() -> None:
    model = crawl(revisits=True)
    assert model.apply(1, told("b.org", "http://b.org/1")) == []
    assert "b.org" not in model.sites
    without = crawl(revisits=False)
    without.apply(1, page(1))
    before = without.to_state()
    assert without.apply(2, told("a.org", "http://a.org/1")) == []
    assert {**before, "counts": [2, 1, 0]} == without.to_state()
