"""Feedback, examples and text: who decides, and how much each counts."""

from __future__ import annotations

import pytest
from boards_with_examples import POST, Board, example

from linkscore_scoring.hashing import hash64
from linkscore_scoring.policies.harvest import Harvest
from linkscore_scoring.policies.harvest.arms import SITE, HierarchicalArms
from linkscore_scoring.policies.harvest.excerpts import PageWorth, RewardSource
from linkscore_scoring.policies.harvest.rewards import PageRewards


def worth(board: Board, path: str) -> PageWorth:
    policy = board.shard.served
    assert isinstance(policy, Harvest)
    page = policy.rewards.ledger.page(hash64(f"http://h{path}"))
    assert page is not None
    return page


def test_without_labels_text_counts_in_full() -> None:
    board = Board()
    board.page("/", texts=[("text", 400)])
    assert (worth(board, "/").source, worth(board, "/").weight) == (RewardSource.TEXT, 1.0)


def test_a_page_judged_by_text_counts_less_once_pages_were_labelled() -> None:
    """Two pages labelled: 2 / (2 + 2)."""
    board = Board()
    for path in ("/a", "/b"):
        board.page(path)
        board.feedback(path, 1.0)
    board.page("/c", texts=[("text", 400)])
    assert worth(board, "/c").weight == pytest.approx(0.5)


def test_feedback_makes_it_a_whole_pull_of_the_reward_told() -> None:
    board = Board()
    for path in ("/a", "/b", "/c"):
        board.page(path, texts=[(path, 400)])
    policy = board.shard.served
    assert isinstance(policy, Harvest)
    for path in ("/a", "/b", "/c"):
        board.feedback(path, 1.0)
    assert policy.arms.pulls(SITE) == pytest.approx(3.0)
    assert policy.arms.reward(8, 9) == pytest.approx((3.0 + 2 * 0.3) / (3 + 2)), "of an arm nobody knows"


def test_with_examples_likeness_decides_and_feedback_overrules_it() -> None:
    board = Board(example("/post/1"))
    board.page("/post/2", leaves=POST)
    board.page("/list", leaves=["html/body/main[list]/a"], texts=[("rich", 4_000)])
    assert (worth(board, "/post/2").source, worth(board, "/post/2").reward) == (RewardSource.LIKENESS, 1.0)
    assert worth(board, "/list").reward < 0.5
    board.feedback("/list", 1.0)
    assert (worth(board, "/list").source, worth(board, "/list").reward) == (RewardSource.FEEDBACK, 1.0)


def test_pages_are_labelled_again_when_layouts_are_learned_anew() -> None:
    board = Board(example("/post/1"))
    board.page("/post/2", leaves=POST)
    worth(board, "/post/2").reward = 0.0
    for n in range(6):
        board.page(f"/list/{n}", leaves=["html/body/main[list]/a"])
    assert worth(board, "/post/2").reward == 1.0


def test_examples_of_another_site_say_nothing_here() -> None:
    board = Board(example("/post/1", host="other"))
    board.page("/post/2", leaves=POST)
    assert worth(board, "/post/2").source is RewardSource.TEXT


def test_text_that_may_be_excerpts_is_little_known_and_not_little_worth() -> None:
    """Links between its texts, none tried: a doubt of .9; after three that took nothing, 2/5."""
    rewards = PageRewards(HierarchicalArms())
    page = PageWorth(1_200, [SITE], between=[5])
    rewards.update_text_reward(page)
    rewards.arms.credit(page.nodes, page.reward, 0.0, page.weight)
    assert (page.reward, page.weight) == (0.75, pytest.approx(0.1))
    for _ in range(3):
        rewards.ledger.followed(1, 5, 0)
    rewards.revise(page)
    assert page.weight == rewards.arms.pulls(SITE) == pytest.approx(0.6)
