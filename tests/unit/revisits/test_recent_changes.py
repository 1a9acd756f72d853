"""Pages that changed of late change more than is believed of them, and the site finds out how much more."""

from __future__ import annotations

import pytest

from linkscore_scoring.revisits.recent import RecentChanges
from linkscore_scoring.revisits.site import SiteRevisits
from linkscore_scoring.revisits.values import DAY_S, Fetched, RevisitSettings


def site_of(pages: int, *, is_edited: bool) -> SiteRevisits:
    """A site whose pages were fetched a day after they were found, and found changed or not."""
    site = SiteRevisits(RevisitSettings())
    for key in range(1, pages + 1):
        site.fetched(Fetched(key, f"http://a.test/{key}", 0.0, own=1000))
        unseen = 50 + 7 * key if is_edited else 0
        site.fetched(Fetched(key, "", DAY_S, own=1000, unseen=unseen))
    return site


def test_new_pages_are_believed_to_change_as_new_ones_were_found() -> None:
    rates = []
    for is_edited in (True, False):
        site = site_of(20, is_edited=is_edited)
        site.fetched(Fetched(99, "http://a.test/99", DAY_S, own=1000))
        row = site.pages.find(99)
        even = site._even(site.pages.row(row))
        rates.append(site.belief(row).mean / even.mean)
    assert rates[0] > 2.0
    assert 0.8 < rates[1] < 1.0


def test_many_pages_have_the_rates_of_each() -> None:
    site = site_of(20, is_edited=True)
    waiting = site._waiting(slice(None), site.pages.rows["last"] * 0.0)
    one = [site.belief(row).mean for row in range(20)]
    assert (waiting.shape / waiting.days).tolist() == pytest.approx(one)


def test_what_was_counted_is_kept_and_old_states_have_none() -> None:
    site = site_of(5, is_edited=True)
    state = site.to_state()
    again = SiteRevisits(RevisitSettings())
    again.load_state(state)
    assert again.to_state() == state
    assert "recent" not in SiteRevisits(RevisitSettings()).to_state()
    assert RecentChanges().factor(0.0, 0.0) == 1.0
