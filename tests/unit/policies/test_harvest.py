"""Text of a page's own is the reward; arms, hubs, excerpts and feedback."""

from __future__ import annotations

from math import log, sqrt

import pytest

from linkscore_scoring.hashing import hash64
from linkscore_scoring.policies.harvest import Harvest
from linkscore_scoring.policies.harvest.arms import SITE, nodes_of
from linkscore_scoring.policies.harvest.own_text import PageWorth
from linkscore_scoring.site.learning import LearningConfig, SiteBounds
from linkscore_scoring.site.model import SiteModel
from support.boards import Board

LIST = "html/body/ul/li/a"
NEXT = "html/body/div/a[next]"


def harvest(board: Board) -> Harvest:
    policy = board.shard.served
    assert isinstance(policy, Harvest)
    return policy


def reward_of(board: Board, path: str) -> float:
    page = harvest(board).rewards.ledger.page(hash64(f"http://h{path}"))
    assert page is not None
    return page.reward


@pytest.mark.parametrize(("chars", "reward"), [(0, 0.0), (400, 0.5), (1_200, 0.75), (3_600, 0.9)])
def test_the_reward_is_x_by_x_plus_400(chars: int, reward: float) -> None:
    board = Board("harvest")
    board.page("/", texts=[("text", chars)] if chars else [])
    assert reward_of(board, "/") == pytest.approx(reward)


def test_a_failed_page_earns_nothing() -> None:
    board = Board("harvest")
    board.fail("/")
    assert reward_of(board, "/") == 0.0


def test_a_copy_earns_nothing_and_its_original_keeps_its_text() -> None:
    board = Board("harvest")
    board.page("/a", texts=[("text", 1_200)])
    board.page("/copy", texts=[("text", 1_200)])
    assert (reward_of(board, "/a"), reward_of(board, "/copy")) == (0.75, 0.0)


def test_a_list_of_excerpts_loses_what_its_articles_take() -> None:
    """400 characters in two excerpts; an article takes 200: 200 are left, less 200 x 1/3 feared for."""
    board = Board("harvest")
    board.page("/", [("/a", LIST), ("/b", LIST)], texts=[("one", 200), ("two", 200)])
    assert reward_of(board, "/") == pytest.approx(400 / 800)
    board.page("/a", texts=[("one", 200), ("more", 800)])
    x = 200 - 200 / 3
    assert reward_of(board, "/") == pytest.approx(x / (x + 400))
    board.page("/b", texts=[("two", 200), ("much", 800)])
    assert reward_of(board, "/") == 0.0


def test_a_page_leads_to_what_its_unfetched_links_are_expected_to_earn() -> None:
    """Prior .3 for each of 4 links, of 20 that make a whole hub: 4 x .3 / 20, shrunk by two pseudo-pulls."""
    board = Board("harvest")
    board.page("/", [(f"/{n}", LIST) for n in range(4)])
    assert harvest(board).arms.arm_stats([(8, 9)])[0][1] == pytest.approx((4 * 0.3 / 20 + 2 * 0.3) / 3)


def test_a_list_is_worth_what_it_pays_per_fetch_with_its_links() -> None:
    """Mean .5, so .4 a link: 2 expected of 5 links, with the list six fetches. Never more than a link."""
    policy = Harvest(Harvest.Params(), seed=0)
    site = SiteModel("h", LearningConfig(), SiteBounds())
    assert policy._context(site).link_reward == 0.0, "nothing was fetched"
    policy.arms.credit([SITE], 0.5, 0.0)
    a_link = policy._context(site).link_reward
    assert policy._paid_by_list(0.0, 0.1, a_link) == pytest.approx(2.0 / 6.0)
    paid = [policy._paid_by_list(0.0, hub, a_link) for hub in (0.0, 0.1, 0.5, 1.0)]
    assert paid == sorted(paid)
    assert (paid[0], paid[-1] < 0.4) == (0.0, True)
    assert policy._paid_by_list(0.6, 1.0, a_link) < 0.0, "a good page is worth more than its links"


def test_a_list_waits_for_one_of_its_own_link_path_and_for_no_other() -> None:
    board = Board("harvest")
    for n in range(10):
        board.page(f"/good-{n}", texts=[(f"much {n}", 4_000)])
    policy, site = harvest(board), board.shard.model
    for _ in range(10):
        policy.arms.credit(nodes_of(1, 2), 0.0, 0.2)
    alone, beside, twice = (policy.in_flight(site) for _ in range(3))
    beside.begin("h1.9")
    twice.begin("h7.2")
    assert alone.value("h1.2") == policy.value(["h1.2"], site)[0]
    assert beside.value("h1.2") == pytest.approx(alone.value("h1.2"), rel=0.05)
    assert beside.value("h1.2") > 1.5 * twice.value("h1.2")


def test_feedback_replaces_the_reward_for_good() -> None:
    board = Board("harvest")
    board.page("/", texts=[("text", 1_200)])
    arms = harvest(board).arms
    assert arms.reward((8, 9)) == pytest.approx((0.75 + 0.6) / 3), "of an arm nobody knows: that of the site"
    board.feedback("/", 0.1)
    assert (reward_of(board, "/"), arms.reward((8, 9))) == (0.1, pytest.approx((0.1 + 0.6) / 3))
    board.feedback("/", 1.0)
    assert (reward_of(board, "/"), arms.reward((8, 9))) == (1.0, pytest.approx((1.0 + 0.6) / 3))
    assert arms.pulls_total == 1


def test_feedback_on_a_page_never_seen_counts_as_a_pull() -> None:
    board = Board("harvest")
    board.page("/")
    board.feedback("/unknown", 1.0)
    assert harvest(board).arms.pulls_total == 2


def test_a_refetch_is_no_second_pull() -> None:
    board = Board("harvest")
    board.page("/", texts=[("text", 400)])
    board.page("/", texts=[("text", 400)])
    assert harvest(board).arms.pulls_total == 1


def test_links_of_an_link_path_that_led_to_text_come_first() -> None:
    board = Board("harvest")
    links = [(f"/post-{n}", LIST) for n in range(6)] + [(f"/sort-{n}", NEXT) for n in range(6)]
    tickets = board.page("/", links).links.ticket_values
    for n in range(4):
        board.page(f"/post-{n}", texts=[(f"post {n}", 2_000)], ticket=tickets[0])
        board.page(f"/sort-{n}", ticket=tickets[1])
    post, sort = board.scores("/post-5", "/sort-5")
    assert post > 2 * sort


def test_the_value_before_any_fetch_is_the_prior_and_no_bonus() -> None:
    """reward .3 + .25 x hub .3 + .02 x sqrt(2 ln 1) = .375, squashed to .375 / 1.375."""
    board = Board("harvest")
    board.fail("/")
    fresh = Harvest(Harvest.Params(), seed=0)
    assert fresh.value(["h9.9"], board.shard.model).tolist() == [pytest.approx(0.375 / 1.375)]


def test_the_terms_of_the_reason_add_up_to_the_value() -> None:
    board = Board("harvest")
    board.page("/", [("/a", LIST), ("/b", NEXT)], texts=[("text", 500)])
    board.page("/a", texts=[("more", 900)])
    for why in board.explain("/b", "/c"):
        terms = {term.name: term.value for term in why.explanation.terms}
        value = sum(terms[name] for name in ("reward", "hub", "exploration", "curiosity"))
        assert why.score == pytest.approx(value / (1.0 + value))


def exploration(board: Board, path: str) -> float:
    terms = {term.name: term.value for term in board.explain(path)[0].explanation.terms}
    return terms["exploration"]


def test_an_untried_arm_has_the_bonus_of_ucb1_and_trust_by_the_links_that_wait_in_it() -> None:
    """Five links wait: half of both."""
    board = Board("harvest")
    board.page("/", [(f"/t{n}", LIST) for n in range(5)])
    board.page("/a")
    assert exploration(board, "/t0") == pytest.approx(0.5 * (0.02 * sqrt(2 * log(3)) + 0.2))


def test_an_untried_arm_without_links_is_not_worth_a_try() -> None:
    board = Board("harvest")
    board.page("/")
    assert exploration(board, "/x") == 0.0


def test_among_arms_of_like_reward_the_bulk_of_what_waits_comes_first() -> None:
    board = Board("harvest")
    links = [(f"/t{n}", LIST) for n in range(30)] + [("/one", NEXT)]
    board.page("/", links, texts=[("text", 900)])
    many, one = board.explain("/t0", "/one")
    terms = [{term.name: term.value for term in why.explanation.terms} for why in (many, one)]
    assert terms[0]["reward"] == pytest.approx(terms[1]["reward"] * (1 + 0.2 * 30 / 60) / (1 + 0.2 / 31))
    assert many.score > one.score


def test_links_keep_their_bucket_while_the_site_is_crawled() -> None:
    board = Board("harvest")
    links = [("/thread-1", LIST), ("/thread-2", LIST)]
    before = board.page("/", links).links.bucket_names
    for n in range(40):
        board.page(f"/thread-{n + 10}", [(f"/thread-{n + 11}", LIST)], texts=[(f"t{n}", 300)])
    names = [why.bucket for why in board.explain("/thread-1", "/thread-2")]
    assert set(names) == set(before)


def test_curiosity_is_for_links_between_texts_that_nobody_tried() -> None:
    """Reward and hub .375, curiosity .2 while three pages with text show such links."""
    board = Board("harvest")
    board.fail("/")
    policy, site = Harvest(Harvest.Params()), board.shard.model
    for key in range(3):
        policy.rewards.ledger.add(key, PageWorth(400, [], {}, [7]))
    assert policy.value(["h9.7"], site).tolist() == [pytest.approx(0.575 / 1.575)]
    for _ in range(3):
        policy.rewards.ledger.followed(1, 7, 0)
    assert policy.value(["h9.7"], site).tolist() == [pytest.approx(0.375 / 1.375)]


def test_what_is_kept_follows_the_bounds_of_the_site() -> None:
    board = Board("harvest")
    board.page("/")
    policy, bounds = harvest(board), board.shard.model.bounds
    assert policy.arms.max_arms == bounds.arms
    assert policy.rewards.ledger.max_link_paths == bounds.apaths
