"""What is mined from a small board, and that it survives its state."""

from __future__ import annotations

import numpy as np
import pytest

from linkscore_scoring.browse_logs.behavior.mining import CUTS, BehaviorSettings, mine_behavior
from linkscore_scoring.browse_logs.behavior.model import BehaviorModel
from linkscore_scoring.browse_logs.behavior.rankings import worth_by
from linkscore_scoring.browse_logs.counts import BrowseCounts
from linkscore_scoring.browse_logs.mined import MinedSite
from linkscore_scoring.browse_logs.mining import mine_site
from linkscore_scoring.errors import CorruptState
from linkscore_scoring.hashing import hash64
from linkscore_scoring.state import from_state, plain
from support.browse_logs.records import board_log, counted


@pytest.fixture(scope="module")
def model() -> BehaviorModel:
    found = mine_behavior(board_log())
    assert found is not None
    return found


def demand(model: BehaviorModel, path: str) -> float:
    url = f"http://h{path}"
    return model.demand(model.place(url, hash64(url)))


def test_figures_of_patterns_are_sums_over_their_pages(model: BehaviorModel) -> None:
    lists = model.place("http://h/list?f=1", 0).node
    assert model.stats.sizes[lists] == 2
    assert model.stats.visits[lists] == 2 * 20 * 30
    assert model.stats.referrals[lists] == 8 * (30 + 29 + 28)
    assert model.stats.sizes[0] == 2 + 2 * 30 + 30
    assert model.stats.visits[0] == board_log().visits().sum()


def test_a_thread_to_come_is_worth_a_new_one_and_an_old_one_little(model: BehaviorModel) -> None:
    new, far, old = (demand(model, f"/show?t={n}") for n in (130, 190, 60))
    assert new > far > old
    assert new > 0.5
    assert old < 0.1


def test_pages_of_the_log_have_their_own_recent_visits(model: BehaviorModel) -> None:
    assert demand(model, "/list?f=1") == pytest.approx(20.0, rel=1e-6)
    assert demand(model, "/show?t=129") > demand(model, "/show?t=110") > 0.0


def test_lists_discover_and_profiles_do_not(model: BehaviorModel) -> None:
    gains = {path: model.gain(model.place(f"http://h{path}", 0)) for path in ("/list?f=3", "/who?u=3")}
    assert gains["/list?f=3"] > 10 * gains["/who?u=3"]


def test_rankings_are_the_figures_they_name(model: BehaviorModel) -> None:
    stats = model.stats
    np.testing.assert_allclose(worth_by("graph", stats), (stats.auth + stats.hub) / 2)
    np.testing.assert_allclose(worth_by("average_visits", stats), stats.visits / stats.sizes)
    np.testing.assert_allclose(worth_by("average_referrals", stats), stats.referrals / stats.sizes)
    for name, column in (("volume", stats.sizes), ("visits", stats.visits), ("referrals", stats.referrals)):
        np.testing.assert_array_equal(worth_by(name, stats), column)


def test_a_url_beyond_all_patterns_has_the_mean_of_the_node_it_reaches(model: BehaviorModel) -> None:
    place = model.place("http://h/other/page", 0)
    assert not place.covered
    assert 0.0 < model.demand(place) <= model.stats.newcomer.max()


def test_the_same_counts_give_the_same_model_and_it_survives_its_state(model: BehaviorModel) -> None:
    mined = mine_site(board_log())
    assert mined.behavior is not None
    assert plain(mined.behavior) == plain(model)
    again = from_state(MinedSite, plain(mined))
    assert again.behavior is not None
    assert plain(again.behavior) == plain(model)


def test_a_malformed_state_is_refused(model: BehaviorModel) -> None:
    state = plain(model)
    for broken in (
        {},
        {**state, "stats": {}},
        {**state, "tree": {"nodes": []}},
        {**state, "serials": {"x": {}}},
    ):
        with pytest.raises(CorruptState):
            from_state(BehaviorModel, broken)


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("by_drop", [False, True])
def test_every_cut_keeps_every_visit(cut: str, by_drop: bool) -> None:
    found = mine_behavior(board_log(), BehaviorSettings(cut=cut, by_drop=by_drop))
    assert found is not None
    assert sum(found.stats.visits[n] for n in found.leaves()) == board_log().visits().sum()


def test_no_visits_give_no_model() -> None:
    assert mine_behavior(BrowseCounts()) is None


def test_one_visit_is_enough() -> None:
    assert mine_behavior(counted([(0, "/", "")], 1)) is not None
