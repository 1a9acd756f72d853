"""Mass of personalised PageRank: a lower bound, and pages that pass mass on again."""

from __future__ import annotations

import pytest

from linkscore_scoring.errors import InvalidParams
from linkscore_scoring.policies.base import make_params
from linkscore_scoring.policies.link_graph import rank_mass
from support.link_graph.webs import Web, rescored


def test_a_page_fetched_is_covered_and_hands_half_on() -> None:
    web = Web("rank_mass", damping=0.5)
    web.fetch("a", "b", "c")
    assert web.policy.covered == 1 / 2
    assert web.values("abc") == [0, 1 / 8, 1 / 8]
    web.fetch("b", "c", "d")
    assert web.policy.covered == 5 / 8
    assert web.values("abcd") == [0, 0, 5 / 32, 1 / 32]
    web.fetch("c", "a", "d", "d", "c")
    assert web.policy.covered == 25 / 32
    assert web.values("abcd") == [5 / 128, 0, 0, 9 / 128], "d waits with more than a, so a does not pass on"


def test_a_page_fetched_before_passes_on_once_it_has_the_most() -> None:
    web = Web("rank_mass", damping=0.5)
    web.fetch("a", "b", "c", "e")
    assert rescored(web.fetch("b", "a")) == []
    assert web.values("ace") == pytest.approx([1 / 24, 1 / 12, 1 / 12])
    outcome = web.fetch("c", "a")
    assert web.values("abce") == pytest.approx([0, 1 / 72, 1 / 72, 1 / 12 + 1 / 72])
    assert rescored(outcome) == ["e"]
    assert outcome.rescored.scores.tolist() == web.scores("e")


def test_a_loop_ends_at_the_floor_with_everything_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_mass, "STEPS_A_PAGE", 100)
    web = Web("rank_mass", damping=0.5)
    web.fetch("a", "b")
    web.fetch("b", "a")
    assert web.policy.coverage() == pytest.approx(1, abs=4 * rank_mass.FLOOR)
    assert max(web.values("ab")) < rank_mass.FLOOR


def test_no_more_pages_pass_on_at_a_time_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_mass, "STEPS_A_PAGE", 2)
    web = Web("rank_mass", damping=0.5)
    web.fetch("a", "b")
    web.fetch("b", "a")
    assert web.policy.covered == 1 / 2 + 1 / 4 + 1 / 8 + 1 / 16
    web.fetch("s", "t")
    assert web.policy.covered == pytest.approx(1 - 1 / 16 + 1 / 2), "t waits with 1/4, more than a or b"


def test_mass_of_pages_without_links_and_of_failed_ones_is_lost() -> None:
    web = Web("rank_mass", damping=0.5)
    web.fetch("a", "b", "c")
    web.fail("b")
    web.fetch("c")
    assert web.policy.covered == 1 / 2 + 1 / 8
    assert web.values("abc") == [0, 0, 0]


def test_coverage_is_shared_among_the_seeds() -> None:
    web = Web("rank_mass", damping=0.5)
    web.fetch("a")
    web.fetch("s")
    assert web.policy.coverage() == 1 / 2


def test_mass_follows_a_redirect() -> None:
    web = Web("rank_mass", damping=0.5)
    web.fetch("a", "b", "x")
    web.fetch("x", "d", asked="b")
    assert web.value("d") == 1 / 8, "half of the two eighths of b and x"


def test_a_page_fetched_again_changes_nothing() -> None:
    web = Web("rank_mass", damping=0.5)
    web.fetch("a", "b", "c")
    web.fetch("a", "b", "d")
    assert (web.policy.covered, web.values("abcd")) == (1 / 2, [0, 1 / 8, 1 / 8, 0])


def test_the_graph_is_bounded() -> None:
    web = Web("rank_mass", max_urls=32)
    for n in range(40):
        web.fetch(f"p{n}", f"p{n + 1}", "p0", *(f"x{n}.{i}" for i in range(3)))
        assert len(web.policy.nodes) <= 32
    assert web.value("p40") > 0


def test_a_url_that_is_never_fetched_does_not_keep_mass_from_passing_on() -> None:
    web = Web("rank_mass", damping=0.5)
    web.fetch("a", "login", "b", "c")
    for page, link in ("bc", "cd", "de"):
        web.fetch(page, link, "a", "login")
    fetched = [1 / 2, 1 / 12, 1 / 12 + 1 / 72, 7 / 432]
    passed_on = 1 / 72 + 7 / 432 + 7 / 2592
    assert web.value("login") > passed_on, "a has less than login, but more than d had"
    assert web.policy.covered == pytest.approx(sum(fetched) + passed_on)
    assert web.value("e") == pytest.approx(7 / 2592)


def test_damping_of_one_is_refused() -> None:
    with pytest.raises(InvalidParams, match="damping: must be in"):
        make_params(rank_mass.RankMass, {"damping": 1.0})
