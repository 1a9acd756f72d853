"""Text of a page's own is the reward; arms, hubs, excerpts and feedback; fetches under way; bounds."""

from __future__ import annotations

import pytest

from linkscore_scoring.policies.harvest import Harvest, Tunables
from linkscore_scoring.policies.harvest.tables import Worked
from linkscore_scoring.site.learning import LearningConfig, SiteBounds
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import FeedbackObservation, LinkBatch, PageObservation
from support.boards import Board
from support.harvested import harvest_of, worth_of

LIST = "html/body/ul/li/a"
NEXT = "html/body/div/a[next]"
UNKNOWN = [(99, 9)]
"""An arm nobody knows."""


def mean(board: Board, arm: tuple[int, int] = UNKNOWN[0]) -> float:
    """Return the mean reward of an arm; of one nobody knows that of the site."""
    found = harvest_of(board).expected_rewards([arm], board.shard.model)
    return float(found[0])


def terms(board: Board, path: str) -> dict[str, float]:
    return {term.name: float(term.value) for term in board.explain(path)[0].explanation.terms}


@pytest.mark.parametrize(("chars", "reward"), [(0, 0.0), (400, 0.5), (1_200, 0.75), (3_600, 0.9)])
def test_the_reward_is_x_by_x_plus_400(chars: int, reward: float) -> None:
    board = Board("harvest")
    board.page("/", texts=[("text", chars)] if chars else [])
    assert worth_of(board, "/").reward == pytest.approx(reward)


def test_a_failed_page_earns_nothing_and_is_a_pull() -> None:
    board = Board("harvest")
    board.fail("/")
    found = worth_of(board, "/")
    assert (found.reward, found.weight) == (0.0, 1.0)
    assert mean(board) == pytest.approx(2 * 0.3 / 3)


def test_a_copy_earns_nothing_and_its_original_keeps_its_text() -> None:
    board = Board("harvest")
    board.page("/a", texts=[("text", 1_200)])
    board.page("/copy", texts=[("text", 1_200)])
    assert (worth_of(board, "/a").reward, worth_of(board, "/copy").reward) == (0.75, 0.0)


def test_a_list_of_excerpts_loses_what_its_articles_take() -> None:
    """400 characters in two excerpts; an article takes 200: 200 are left, less 200 x 1/3 feared for."""
    board = Board("harvest")
    board.page("/", [("/a", LIST), ("/b", LIST)], texts=[("one", 200), ("two", 200)])
    assert worth_of(board, "/").reward == pytest.approx(400 / 800)
    board.page("/a", texts=[("one", 200), ("more", 800)])
    x = 200 - 200 / 3
    assert worth_of(board, "/").reward == pytest.approx(x / (x + 400))
    board.page("/b", texts=[("two", 200), ("much", 800)])
    assert worth_of(board, "/").reward == 0.0


def test_a_link_to_a_copy_takes_no_more_than_its_share_of_other_pages() -> None:
    """The printed page takes all 1,200 characters, a share is 300: another page fears for 4 x 300 x 1/3."""
    board = Board("harvest")
    for path in ("/a", "/b"):
        links = [(f"{path}/{n}", LIST) for n in range(4)]
        board.page(path, links, texts=[(f"text of {path}", 1_200)])
    board.page("/a/0", texts=[("text of /a", 1_200), ("comments", 1_200)])
    assert worth_of(board, "/a").reward == 0.0
    assert worth_of(board, "/b").reward == pytest.approx(800 / 1_200)


def test_text_between_untried_links_is_little_known_and_not_little_worth() -> None:
    """A doubt of 2 / (2 + 1/3), by the page itself; and three links more that were followed."""
    policy, site = Harvest(Harvest.Params()), SiteModel("h", LearningConfig(), SiteBounds())
    links = LinkBatch(
        [f"http://h/{n}" for n in range(4)], list(range(4)), [5] * 4, [0] * 4, [1] * 4, [1] * 4, [""] * 4
    )
    policy.observe(page_at(10, own_chars=1_200, links=links, blocks_before=[1, 2, 3, 4]), site)
    worked = Worked(policy.tables)
    assert [worked.page_reward[0], worked.weight[0]] == pytest.approx([0.75, 1 - 2 / (2 + 1 / 3)])
    for n in range(3):
        policy.observe(page_at(n, contexts=[(10, 5)]), site)
    worked = Worked(policy.tables)
    assert [worked.page_reward[0], worked.weight[0]] == pytest.approx([0.75, 1 - 2 / (5 + 1 / 3)])


def page_at(key: int, links: LinkBatch | None = None, **fields: object) -> PageObservation:
    """Return a page by hand, all of whose links are new."""
    links = links or LinkBatch([], [], [], [], [], [], [])
    new = [True] * len(links)
    page = PageObservation(key, key, f"http://h/{key}", key, 0, 1, [], failed=False, refetch=False)
    for name, value in ({"links": links, "fresh": new, "first_here": list(new)} | fields).items():
        setattr(page, name, value)
    return page


def test_one_pull_shrinks_by_two_pseudo_pulls_on_each_level() -> None:
    """Reward .75: site (.75 + 2 x .3) / 3, then three levels more, each (.75 + 2 m) / 3."""
    board = Board("harvest")
    tickets = board.page("/", [("/a", LIST)]).links.ticket_values
    board = Board("harvest")
    board.page("/a", texts=[("text", 1_200)], ticket=tickets[0])
    site = (0.75 + 2 * 0.3) / 3
    path = (0.75 + 2 * site) / 3
    arm = (0.75 + 2 * (0.75 + 2 * path) / 3) / 3
    [known] = [node for node, row in harvest_of(board).tables.node_of.items() if min(node) >= 0 and row]
    assert mean(board) == pytest.approx(site)
    assert mean(board, (99, known[1])) == pytest.approx(path)
    assert mean(board, known) == pytest.approx(arm)


def test_a_page_leads_to_what_its_unfetched_links_are_expected_to_earn() -> None:
    """Prior .3, of no text 0.2 for each of 4 links, of 20 that make a whole hub."""
    board = Board("harvest")
    board.page("/", [(f"/{n}", LIST) for n in range(4)])
    worked = Worked(harvest_of(board).tables)
    assert worked.page_hub.tolist() == pytest.approx([4 * 0.2 / 20])


def test_a_list_is_worth_what_it_pays_per_fetch_with_its_links() -> None:
    """Twenty links a list: more than a quarter of a hub, and less than one of the links."""
    board = Board("harvest")
    lists = [(f"/list/{n}", NEXT) for n in range(9)]
    board.page("/", lists)
    for n in range(4):
        posts = [(f"/post/{n}{i:02}", LIST) for i in range(20)]
        board.page(f"/list/{n}", posts)
        for path, _ in posts[:5]:
            board.page(path, texts=[(path, 3_600)])
    found = terms(board, "/list/8")
    assert found["link_reward"] > 2 * found["mean_reward"]
    assert 0.25 < found["hub"] < found["link_reward"]
    assert board.scores("/list/8")[0] < board.scores("/post/019")[0]


def test_a_list_waits_for_one_of_its_own_link_path_and_for_no_other() -> None:
    board = Board("harvest")
    board.page("/", [(f"/list/{n}", NEXT) for n in range(9)])
    for n in range(4):
        board.page(f"/list/{n}", [(f"/post/{n}{i:02}", LIST) for i in range(20)])
        board.page(f"/post/{n}00", texts=[(f"post {n}", 3_600)])
    policy, site = harvest_of(board), board.shard.model
    listing, post = (why.bucket.rpartition("/")[2] for why in board.explain("/list/8", "/post/019"))
    alone, beside, own = (policy.in_flight(site) for _ in range(3))
    beside.begin(post)
    own.begin(listing)
    worth = [flying.values([listing])[0] for flying in (alone, beside, own)]
    assert worth[0] == pytest.approx(policy.value([listing], site)[0])
    assert worth[1] == pytest.approx(worth[0], rel=0.1)
    assert worth[1] > 1.1 * worth[2]


def test_pulls_under_way_count_for_little_where_much_is_known() -> None:
    lost = []
    for known in (1, 60):
        board = Board("harvest")
        board.page("/", [(f"/post/{n}", LIST) for n in range(99)])
        for n in range(known):
            board.page(f"/post/{n}", texts=[(f"post {n}", 1_200)])
        [why] = board.explain("/post/98")
        bucket = why.bucket.rpartition("/")[2]
        flying = harvest_of(board).in_flight(board.shard.model)
        before = flying.values([bucket])[0]
        flying.begin(bucket, 16)
        lost.append(1.0 - flying.values([bucket])[0] / before)
    assert lost[0] > 0.3 > 0.1 > lost[1]


def test_feedback_replaces_the_reward_for_good() -> None:
    board = Board("harvest")
    board.page("/", texts=[("text", 1_200)])
    assert mean(board) == pytest.approx((0.75 + 0.6) / 3)
    for reward in (0.1, 1.0):
        board.feedback("/", reward)
        assert worth_of(board, "/").reward == reward
        assert mean(board) == pytest.approx((reward + 0.6) / 3)


def test_feedback_on_addresses_that_nobody_linked_to_changes_nothing() -> None:
    board = Board("harvest")
    board.page("/", [("/post/1", LIST), ("/list/1", NEXT)], texts=[("text", 1_200)])
    before = board.scores("/post/1", "/list/1")
    for n in range(9):
        board.feedback(f"/post/{n}/", 1.0)
    assert board.scores("/post/1", "/list/1") == before


def test_a_refetch_is_no_second_pull() -> None:
    board = Board("harvest")
    board.page("/", texts=[("text", 400)])
    board.page("/", texts=[("text", 400)])
    assert harvest_of(board).tables.pulls == 1


def test_the_value_before_any_fetch_is_the_prior_and_no_bonus() -> None:
    """reward .3 + .25 x hub .3 + .02 x sqrt(2 ln 1) = .375, squashed to .375 / 1.375."""
    board = Board("harvest")
    board.fail("/")
    fresh = Harvest(Harvest.Params(), seed=0)
    assert fresh.value(["h9.9"], board.shard.model).tolist() == [pytest.approx(0.375 / 1.375)]


def test_links_keep_their_bucket_while_the_site_is_crawled() -> None:
    board = Board("harvest")
    links = [("/thread-1", LIST), ("/thread-2", LIST)]
    before = board.page("/", links).links.bucket_names
    for n in range(40):
        board.page(f"/thread-{n + 10}", [(f"/thread-{n + 11}", LIST)], texts=[(f"t{n}", 300)])
    names = [why.bucket for why in board.explain("/thread-1", "/thread-2")]
    assert set(names) == set(before)


def test_with_labels_a_hub_is_worth_its_links_and_never_more() -> None:
    board = Board("harvest")
    board.page("/", [(f"/list/{n}", NEXT) for n in range(9)])
    board.feedback("/", 0.0)
    for n in range(6):
        board.page(f"/list/{n}", [(f"/post/{n}{i:02}", LIST) for i in range(30)])
        board.feedback(f"/list/{n}", 0.0)
        for i in range(9):
            board.page(f"/post/{n}{i:02}")
            board.feedback(f"/post/{n}{i:02}", 1.0)
    assert terms(board, "/list/8")["fresh_links"] == pytest.approx(30, rel=0.25)
    list_, post = board.scores("/list/8", "/post/029")
    assert 0.4 < list_ < post


def crawled(tunables: Tunables, pages: int, bounds: SiteBounds) -> tuple[Harvest, SiteModel]:
    """Return a policy that saw pages, each with links of a pattern and a link path of its own."""
    policy, site = Harvest(Harvest.Params(), tunables=tunables), SiteModel("h", LearningConfig(), bounds)
    for n in range(pages):
        keys = [1_000 + 10 * n + i for i in range(4)]
        links = LinkBatch(
            [f"http://h/{key}" for key in keys], keys, [n + 50] * 4, [0] * 4, [1] * 4, [n + 50] * 4, [""] * 4
        )
        policy.observe(page_at(n + 1, links=links, own_chars=100 * (n % 7), contexts=[(n, n + 49)]), site)
    return policy, site


def test_pages_beyond_the_bound_keep_what_they_brought() -> None:
    (few, site), (all_, _) = (crawled(Tunables(pages=n), 60, SiteBounds()) for n in (20, 1_000))
    assert few.tables.pages.rows <= 20 < all_.tables.pages.rows == 60
    assert few.tables.pulls == all_.tables.pulls == 60
    assert few.tables.links["page"].max() < few.tables.pages.rows > few.tables.places["place"].max() >> 32
    means = [policy.expected_rewards([*UNKNOWN, (1, 108)], site).tolist() for policy in (few, all_)]
    assert means[0] == pytest.approx(means[1], rel=0.05)
    for n in range(30):  # of pages that nobody fetched
        few.feedback(FeedbackObservation(99, 5_000 + n, f"http://h/x/{n}", 0, [(n, n + 49)], 1.0), site)
    assert few.tables.pages.rows <= 20


def test_arms_beyond_the_bound_are_forgotten_and_the_site_stays() -> None:
    policy, site = crawled(Tunables(), 200, SiteBounds(arms=33))
    assert policy.tables.nodes.rows <= 99 + 9, "the last page may add a few"
    assert len(policy.tables.node_of) == policy.tables.nodes.rows
    assert Worked(policy.tables).n[1] == pytest.approx(200.0)
    assert 0.0 < policy.value(["h1.9"], site)[0] < 1.0
