"""Means shrunk down the chain site -> link path -> pattern -> arm, by hand."""

from __future__ import annotations

from math import log, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkscore_scoring.policies.harvest.arms import SITE, HierarchicalArms, Node, nodes_of
from linkscore_scoring.policies.harvest.tunables import Tunables


def test_links_wait_until_they_are_fetched_and_never_less_than_none() -> None:
    arms = HierarchicalArms()
    arms.found({(1, 2): 2})
    arms.found({(1, 2): 1})
    arms.fetched((1, 2))
    assert arms.waiting((1, 2)) == 2
    for _ in range(5):
        arms.fetched((1, 2))
    assert (arms.waiting((1, 2)), arms.waiting((7, 7))) == (0, 0)


def test_an_arm_nobody_knows_is_worth_the_prior() -> None:
    arms = HierarchicalArms()
    assert arms.arm_stats([(1, 2)])[0][:2] == (0.3, 0.3)


def test_an_arm_stands_on_site_link_path_pattern_and_itself() -> None:
    assert nodes_of(1, 2) == (SITE, (-1, 2), (1, -1), (1, 2))


def test_one_pull_shrinks_by_two_pseudo_pulls_on_each_level() -> None:
    """Reward 1: site (1 + 2 x .3) / 3, then three levels more, each (1 + 2 m) / 3."""
    arms = HierarchicalArms()
    arms.credit(nodes_of(1, 2), 1.0, 0.0)
    mean = 0.3
    for _ in range(4):
        mean = (1.0 + 2.0 * mean) / 3.0
    assert arms.reward((1, 2)) == pytest.approx(mean)
    assert arms.reward((8, 9)) == pytest.approx((1.0 + 0.6) / 3.0)


def test_a_new_arm_starts_from_its_parts() -> None:
    arms = HierarchicalArms()
    for _ in range(20):
        arms.credit(nodes_of(1, 2), 1.0, 0.0)
        arms.credit(nodes_of(3, 4), 0.0, 0.0)
    assert arms.reward((3, 4)) < arms.reward((8, 9)) < arms.reward((1, 9)) < arms.reward((1, 2))
    assert arms.reward((8, 9)) < arms.reward((8, 2))


def bonus(arms: HierarchicalArms, arm: Node) -> float:
    return arms.arm_stats([arm])[0][3]


def test_the_bonus_is_that_of_ucb1_with_pulls_pooled_from_parents() -> None:
    arms = HierarchicalArms(Tunables(pooled=0.3))
    for _ in range(10):
        arms.credit(nodes_of(1, 2), 0.5, 0.0)
    assert bonus(arms, (1, 2)) == pytest.approx(sqrt(2 * log(11) / 11))
    assert bonus(arms, (1, 3)) == pytest.approx(sqrt(2 * log(11) / (1 + 0.3 * 10)))
    assert bonus(arms, (8, 9)) == pytest.approx(sqrt(2 * log(11)))


def test_a_revised_reward_counts_as_if_it_had_been_so_at_once() -> None:
    one, two = HierarchicalArms(), HierarchicalArms()
    one.credit(nodes_of(1, 2), 0.2, 0.1)
    one.revise(nodes_of(1, 2), 0.5)
    two.credit(nodes_of(1, 2), 0.7, 0.1)
    assert one.reward((1, 2)) == pytest.approx(two.reward((1, 2)))
    assert one.pulls((1, 2)) == 1.0


def test_the_least_pulled_go_when_there_are_too_many_and_the_site_stays() -> None:
    arms = HierarchicalArms(Tunables(kept=33))
    for n in range(200):
        arms.credit(nodes_of(1, n), 1.0, 0.0)
        arms.credit(nodes_of(7, 7), 1.0, 0.0)
    assert len(arms) <= 100
    assert arms.pulls(SITE) == 400.0
    assert arms.pulls((7, 7)) == 200.0


def test_arms_restored_are_worth_the_same() -> None:
    arms, again = HierarchicalArms(), HierarchicalArms()
    for n in range(10):
        arms.credit(nodes_of(n % 3, n), n / 10, 0.5)
    again.load_state(arms.to_state())
    assert again.to_state() == arms.to_state()
    assert again.reward((1, 4)) == arms.reward((1, 4))


def known(pulls: int, reward: float) -> HierarchicalArms:
    """Return arms of one pattern and link path that were pulled so often."""
    arms = HierarchicalArms()
    for _ in range(pulls):
        arms.credit(nodes_of(1, 2), reward, 0.0)
    return arms


def in_flight(n: int, arm: tuple[int, int] = (1, 2)) -> dict[Node, int]:
    return dict.fromkeys(nodes_of(*arm), n)


def test_by_hand_of_one_pull_under_way_that_nobody_knows() -> None:
    """Three nodes of prior .3 and weight 2, each with one pull more of reward max(0, .3 - .32) = 0."""
    assert HierarchicalArms().arm_stats([(1, 2)], in_flight(1))[0][0] == pytest.approx(0.3 * (2 / 3) ** 3)


def test_pulls_under_way_count_for_little_where_much_is_known() -> None:
    for arms, least in ((known(1, 0.8), 0.4), (known(400, 0.8), 0.97)):
        lost = arms.arm_stats([(1, 2)], in_flight(16))[0][0] / arms.reward((1, 2))
        assert (lost > least) is (arms.pulls_total == 400)


def test_pulls_under_way_lower_arms_that_share_a_node_and_no_other() -> None:
    arms = known(3, 0.8)
    asked: list[Node] = [(1, 2), (1, 9), (5, 6)]
    (own, _, apart), (own_out, shared_out, apart_out) = (
        arms.arm_stats(asked),
        arms.arm_stats(asked, in_flight(4)),
    )
    assert own_out[0] < own[0]
    assert shared_out[0] < arms.reward((1, 9))
    assert apart_out == apart


def test_hub_yields_are_not_touched_by_pulls_under_way() -> None:
    arms = known(3, 0.8)
    assert arms.arm_stats([(1, 2)], in_flight(9))[0][1] == arms.arm_stats([(1, 2)])[0][1]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.floats(-1, 2), st.floats(0, 1)), max_size=20),
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=12),
    st.booleans(),
)
def test_the_stats_of_many_arms_are_those_of_each(
    pulls: list[tuple[int, int, float, float]], asked: list[Node], has_experience: bool
) -> None:
    arms = HierarchicalArms()
    arms.elsewhere = (lambda node: [2.0, 1.0, 0.5] if node[0] == 1 else None) if has_experience else None
    for pattern, link_path, reward, hub in pulls:
        arms.credit(nodes_of(pattern, link_path), reward, hub, weight=0.7)
    assert arms.arm_stats(asked) == [stats for arm in asked for stats in arms.arm_stats([arm])]
