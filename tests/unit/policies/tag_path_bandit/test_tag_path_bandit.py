"""Groups of tag paths as arms, targets by URL, and the end of a site."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest

from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.policies.tag_path_bandit import TagPathBandit
from linkscore_scoring.policies.tag_path_bandit.tag_path_groups import TagPathGroups, vector_of
from linkscore_scoring.policies.tag_path_bandit.target_arms import TargetArms, YieldTrend
from linkscore_scoring.testing.subject import packed, unpacked
from support.boards import Board

LIST, MENU = "html/body/main/ul/li/a[entry]", "html/body/nav/a[menu]"


def knowledge(board: Board) -> TagPathBandit:
    assert isinstance(board.shard.served, TagPathBandit)
    return board.shard.served


def taught(**params: object) -> Board:
    """A board whose files are targets and whose lists are not; five labels of each."""
    board = Board("tag_path_bandit", **params)
    for n in range(5):
        files = [(f"/files/report-{n}-{k}.csv", "html/body/p/a[file]") for k in range(3)]
        board.page(f"/lists/{n}", [*files, (f"/lists/{n + 1}", LIST), (f"/about/{n}", MENU)])
        board.feedback(f"/lists/{n}", 0.0)
        board.feedback(f"/files/report-{n}-0.csv", 1.0)
    return board


def test_vectors_are_shares_of_two_grams() -> None:
    """^ a b$ of three steps: four 2-grams a quarter each; the class belongs to the last step."""
    vector = vector_of("html/p/a[x 12]")
    assert vector.sum() == pytest.approx(1.0)
    assert sorted(vector[vector > 0]) == [0.25] * 4
    assert (vector == vector_of("html/p/a[x 7]")).all()
    assert (vector != vector_of("html/p/a[y 7]")).any()


def test_a_path_joins_the_nearest_group_or_begins_one() -> None:
    """html/body/div/p/a against .../p/em/a: 2-grams ^html htmlbody bodydiv divp pa a$ and pem ema for pa:
    5 in common of 6 and 7, cosine 5 / sqrt(42) = .772; with .78 asked for they are two groups.
    """
    paths = "html/body/div/p/a[]", "html/body/div/p/em/a[]"
    for similarity, groups in ((0.75, 1), (0.78, 2)):
        found = TagPathGroups(similarity=similarity)
        assert len({found.join(n, path) for n, path in enumerate(paths)}) == groups
        assert float(vector_of(paths[0]) @ vector_of(paths[1])) > 0


def test_groups_are_bounded_and_survive_a_restart() -> None:
    groups = TagPathGroups(max_groups=10, max_paths=20)
    for n in range(60):
        groups.join(n, "/".join(f"e{chr(97 + n % 26)}{chr(97 + n // 26)}{k}x" for k in "abc"))
    assert len(groups) == 10
    assert (groups.group(39), groups.group(59) is None) == (None, False)
    restored = TagPathGroups(max_groups=10, max_paths=20)
    restored.load_state(unpacked(packed(groups.to_state())))
    assert packed(restored.to_state()) == packed(groups.to_state())
    assert restored.join(99, "html/body/a[]") == groups.join(99, "html/body/a[]")


def test_value_of_an_arm_is_mean_plus_bonus() -> None:
    """Arm 1: two pulls, 3 + 0 targets; 3 pulls in all, alpha 2: 1.5 + 2 sqrt(ln 4 / 2)."""
    arms = TargetArms()
    arms.pulled(1, 10, [100, 101, 102])
    arms.pulled(1, 11, [])
    arms.pulled(2, 12, [])
    assert arms.value(1, 2.0) == pytest.approx(1.5 + 2 * sqrt(log(4) / 2), rel=1e-5)
    assert arms.value(3, 2.0) > 1_000


def test_labels_correct_what_was_expected() -> None:
    """101 was no target after all; 200, not expected, was one and was found on page 12 of arm 2."""
    arms = TargetArms()
    arms.pulled(1, 10, [100, 101])
    arms.pulled(2, 12, [])
    arms.labelled(100, [10], target=True)
    arms.labelled(101, [10], target=False)
    arms.labelled(200, [12], target=True)
    arms.labelled(300, [99], target=True)
    assert (arms.mean(1), arms.mean(2)) == (1.0, 1.0)


def test_without_feedback_links_are_worth_what_their_group_is_and_nothing_is_a_target() -> None:
    board = Board("tag_path_bandit")
    outcome = board.page("/", [("/a.csv", LIST), ("/b", LIST), ("/c", MENU)])
    groups = [name.partition("/")[2].partition(".")[0] for name in outcome.links.bucket_names]
    assert sorted(set(groups)) == ["g0", "g1"]
    assert len(set(outcome.links.scores.tolist())) == 1


def test_links_that_look_like_targets_come_first() -> None:
    board = taught()
    target, other = board.scores("/files/report-9-9.csv", "/lists/77")
    assert target >= 0.75 > 0.5 >= other


def test_links_found_before_the_classifier_knew_anything_do_not_stay_behind() -> None:
    board = Board("tag_path_bandit")
    [early] = board.page("/", [("/files/report-0-7.csv", LIST)]).links.bucket_names
    [menu] = board.page("/x", [("/about/9", MENU)]).links.bucket_names
    before = CrawlQueries(board.model).rank_buckets([early, menu])[1]
    for n in range(5):
        board.feedback(f"/files/report-{n}-0.csv", 1.0)
        board.feedback(f"/about/{n}", 0.0)
    after = CrawlQueries(board.model).rank_buckets([early, menu])[1]
    assert before[0] == before[1]
    assert after[0] >= 0.75 > 0.5 >= after[1]


def test_a_group_behind_which_targets_were_found_beats_one_without() -> None:
    """No exploration; both groups are pulled three times."""
    board = taught(exploration=0.0)
    policy, site = knowledge(board), board.shard.model
    for n in range(6, 9):
        files = [(f"/files/report-{n}-{k}.csv", "html/body/p/a[file]") for k in range(3)]
        board.page("/lists/5" if n == 6 else f"/lists/{n}", [*files, (f"/lists/{n + 1}", LIST)])
        board.page(f"/about/{n - 6}", [])
    groups = {raw: policy.groups.join(site.link_paths.find(raw).id, raw) for raw in (LIST, MENU)}
    [lists, menu] = policy.value([f"g{groups[LIST]}.0", f"g{groups[MENU]}.0"], site)
    assert policy.arms.mean(groups[LIST]) > 1.0
    assert lists > menu == 0.0


def test_reasons_name_group_and_yield() -> None:
    board = taught()
    [target, other] = board.explain("/files/report-0-1.csv", "/lists/5")
    assert target.explanation.summary.startswith("looks like a target")
    assert "new targets each" in other.explanation.summary


def test_an_exhausted_site_is_told_and_targets_are_still_followed() -> None:
    board = taught(stop_yield=0.05, stop_window=20)
    for n in range(120):
        board.page(f"/about/x{n}", [])
        board.feedback(f"/about/x{n}", 0.0)
    links = board.page("/about/last", [("/files/report-77-1.csv", LIST), ("/about/y", MENU)]).links
    assert links.verdicts == [0, 2]
    assert knowledge(board).trend.expected(100) < 1.0


def test_nothing_is_skipped_by_default() -> None:
    board = taught(stop_window=5)
    for n in range(50):
        board.page(f"/about/x{n}", [])
    assert board.page("/about/last", [("/about/y", MENU)]).links.verdicts is None


def test_the_trend_is_an_exponential_mean() -> None:
    """Window 2: after target, nothing: (.5 x 1) / (.5 + 1)."""
    trend = YieldTrend(window=2)
    trend.fetched()
    trend.found()
    assert trend.rate == 1.0
    trend.fetched()
    assert trend.rate == pytest.approx(1 / 3)
    assert trend.expected(30) == pytest.approx(10.0)
    assert trend.is_exhausted(0.4)
    assert not trend.is_exhausted(0.0)


def test_a_restart_changes_nothing() -> None:
    straight = taught()
    restored = Board("tag_path_bandit")
    restored.model.load_state(unpacked(packed(straight.model.to_state())))
    for board in (straight, restored):
        board.page("/lists/9", [("/files/report-9-1.csv", "html/body/p/a[file]")])
        board.feedback("/files/report-9-1.csv", 1.0)
    paths = ("/lists/11", "/files/x.csv", "/about/3")
    np.testing.assert_array_equal(straight.scores(*paths), restored.scores(*paths))
    assert packed(straight.model.to_state()) == packed(restored.model.to_state())
