"""Sites divided over two policies, and what the first fetches of each brought."""

from __future__ import annotations

from typing import Any

import pytest

from linkscore_scoring.engine.config import PolicyChoice
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.policies.experiment import Experiment, ExperimentParams
from linkscore_scoring.policies.registry import builtin
from linkscore_scoring.testing.crawl import SimulatedCrawl, crawl_model
from linkscore_scoring.testing.site import GeneratedSite
from support.boards import Board

# Policies that need no parameters and are no experiment themselves.
ALONE = sorted(set(builtin()) - {"experiment", "source_target", "tpm"})


def salt_for(number: int, site: str, policies: str) -> str:
    """Return a salt under which a site has the policy of this number."""
    salts = (f"s{n}" for n in range(100))
    return next(s for s in salts if ExperimentParams(policies=policies, salt=s).number_of(site) == number)


def crawl(name: str, **params: Any) -> SimulatedCrawl:
    return SimulatedCrawl(crawl_model(PolicyChoice(name, params)), GeneratedSite(seed=3))


def board(horizon: int = 3, **params: Any) -> Board:
    return Board("experiment", policies="harvest+depth_first", horizon=horizon, **params)


def first_of(board: Board) -> Any:
    served = board.shard.served
    assert isinstance(served, Experiment)
    return served.first


@pytest.mark.parametrize("name", ALONE)
@pytest.mark.parametrize("number", [0, 1])
def test_a_site_is_crawled_as_under_its_policy_alone(name: str, number: int) -> None:
    other = "depth_first" if name != "depth_first" else "breadth_first"
    policies = "+".join((name, other) if number == 0 else (other, name))
    salt = salt_for(number, "site.example", policies)
    divided = crawl("experiment", policies=policies, salt=salt).fetch(40)
    alone = crawl(name).fetch(40)
    assert divided.fetched == alone.fetched


def test_the_policy_of_a_site_depends_on_name_and_salt_alone() -> None:
    sites = [f"s{n}.example" for n in range(2_000)]
    numbers = [ExperimentParams(share=0.3).number_of(site) for site in sites]
    assert numbers == [ExperimentParams(share=0.3, horizon=7).number_of(site) for site in sites]
    assert numbers != [ExperimentParams(share=0.3, salt="again").number_of(site) for site in sites]
    assert 0.27 < sum(numbers) / len(sites) < 0.33


def test_a_larger_share_takes_no_site_away() -> None:
    sites = [f"s{n}.example" for n in range(500)]
    for salt in ("", "x"):
        low, high = (ExperimentParams(share=share, salt=salt) for share in (0.1, 0.4))
        assert all(high.number_of(site) >= low.number_of(site) for site in sites)


def test_the_first_fetches_count_and_no_later_ones() -> None:
    it = board()
    for path in ("/", "/a", "/b", "/c"):
        it.page(path)
    for path in ("/a", "/c"):
        it.feedback(path, 1.0)
    assert (first_of(it).count, first_of(it).mean) == (3, pytest.approx(1 / 3))


def test_feedback_may_come_late_and_be_corrected() -> None:
    it = board()
    for path in ("/", "/a", "/b", "/c", "/d"):
        it.page(path)
    it.feedback("/b", 1.0)
    it.feedback("/b", 0.5)
    assert first_of(it).mean == pytest.approx(0.5 / 3)


def test_a_site_that_was_fetched_from_before_does_not_count() -> None:
    """The experiment began on a crawl that was under way: these are not the first fetches of the site."""
    it = board()
    it.page("/")
    late = Experiment(it.shard.served.params)
    for path in ("/a", "/b", "/c"):
        late.observe(it.page(path).observation, it.shard.model)
    assert late.first.count == 0
    assert first_of(it).count == 3


def test_failed_fetches_count_and_repeated_ones_do_not() -> None:
    it = board()
    it.page("/")
    it.page("/")
    it.fail("/gone")
    assert first_of(it).count == 2


def test_text_counts_in_place_of_feedback_where_it_is_asked_for() -> None:
    it = board(by_text=True)
    it.page("/", texts=[("a text of its own", 900)])
    it.feedback("/", 0.0)
    assert first_of(it).mean > 0.5


def test_a_site_goes_on_as_before_after_a_restart() -> None:
    it = board()
    it.page("/")
    it.page("/a")
    it.feedback("/a", 1.0)
    again = Experiment(it.shard.served.params)
    again.load_state(it.shard.served.to_state())
    assert again.to_state() == it.shard.served.to_state()
    assert again.policy_trust() == it.shard.policy_trust()[-1:]


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"policies": "harvest"}, "policies"),
        ({"policies": "harvest+harvest"}, "policies"),
        ({"policies": "harvest+auto+opic"}, "policies"),
        ({"policies": "harvest+no_such"}, "policies"),
        ({"policies": "harvest+tpm"}, "policies"),
        ({"policies": "harvest+experiment"}, "policies"),
        ({"policies": ""}, "policies"),
        ({"share": 0.0}, "share"),
        ({"share": float("nan")}, "share"),
        ({"horizon": 0}, "horizon"),
        ({"horizon": 1_001}, "horizon"),
        ({"salt": "x" * 65}, "salt"),
    ],
)
def test_bad_parameters_are_named(params: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        PolicyChoice("experiment", params).checked()
    assert {problem.field for problem in caught.value.problems} == {field}
