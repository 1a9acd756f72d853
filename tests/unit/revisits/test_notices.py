"""Notices that pages changed: what they are worth is measured at the next fetch, repeats count once."""

from __future__ import annotations

import numpy as np

from linkscore_scoring.revisits.pages import DAY_S, Fetched, RevisitSettings
from linkscore_scoring.revisits.rates import Signals, noticed
from linkscore_scoring.revisits.site import NOTED, SiteRevisits

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


def test_a_notice_never_makes_a_fetch_worth_less_and_counts_beside_a_date() -> None:
    lying, honest, fresh = Signals(), Signals(), np.array([0.5, 0.9])
    for _ in range(100):
        lying.learn(stale=0.5, moved=True, changed=False)
        honest.learn(stale=0.5, moved=True, changed=True)
    listed, moved = np.array([3.0, 0.5]), np.array([True, False])
    assert noticed(lying, fresh, listed, moved).tolist() == [3.0, 0.5]
    alone = noticed(honest, fresh, np.ones(2), ~np.ones(2, np.bool_))
    assert noticed(honest, fresh, listed, moved).tolist() == [max(3.0, alone[0]), 0.5 * alone[1]]
