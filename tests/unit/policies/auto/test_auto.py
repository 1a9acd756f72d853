"""The policy that earns most here."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from linkscore_scoring.engine.config import PolicyChoice
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.errors import InvalidParams
from linkscore_scoring.policies import capabilities
from linkscore_scoring.policies.auto import Auto, AutoParams
from linkscore_scoring.policies.base import Explanation, Policy, Scored, Scores, make_params
from linkscore_scoring.policies.registry import register
from linkscore_scoring.site.config import LearningConfig, SiteBounds
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.testing.crawl import SimulatedCrawl, crawl_model, visit
from linkscore_scoring.testing.site import GeneratedSite
from linkscore_scoring.types import LinkBatch, SeedWanted, UrlRule
from support.boards import Board

PLACE = "html/body/a"


class Piped(Policy):
    """A policy whose buckets hold the characters that `auto` needs itself."""

    name = "toy_piped"
    baseline = True

    def score(self, links: LinkBatch, site: SiteModel) -> Scored:
        return Scored(self.value(["*a|b%7C"] * len(links), site), ["*a|b%7C"] * len(links))

    def value(self, buckets: Sequence[str], site: SiteModel) -> Scores:
        return np.array([float(bucket == "*a|b%7C") for bucket in buckets])

    def explain(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        return [Explanation("piped", []) for _ in links.urls]


register(Piped)


def auto(board: Board) -> Auto:
    policy = board.shard.served
    assert isinstance(policy, Auto)
    return policy


def crawled(policies: str, pages: int, *, seed: int = 0) -> SimulatedCrawl:
    choice = PolicyChoice("auto", {"policies": policies})
    return SimulatedCrawl(crawl_model(choice, seed=seed), GeneratedSite(seed)).fetch(pages)


def site_model() -> SiteModel:
    return SiteModel("h", LearningConfig(), SiteBounds())


def active_policy_of(crawl: SimulatedCrawl) -> str:
    [shard] = crawl.model.sites.values()
    assert isinstance(shard.served, Auto)
    return shard.served.active.name


def test_a_bucket_holds_what_every_policy_thinks() -> None:
    """One page links to /a, then two to /b: 1/2 and 2/3 are 8 and 10 sixteenths."""
    board = Board("auto", policies="breadth_first+in_degree")
    assert board.page("/", [("/a", PLACE), ("/b", PLACE)]).links.bucket_names == ["h/*d1|8"]
    assert board.page("/a", [("/b", PLACE)]).links.bucket_names == ["h/*d2|10"]


def test_a_link_that_waits_is_worth_what_the_active_policy_thinks() -> None:
    board = Board("auto", policies="breadth_first+in_degree")
    board.page("/", [("/a", PLACE), ("/b", PLACE)])
    names = ["h/*d3|8", "h/*d1|12", "h/d1"]
    assert CrawlQueries(board.model).rank_buckets(names)[1].tolist() == [1 / 4, 1 / 2, 1 / 2]
    auto(board).trust.active = 1
    assert CrawlQueries(board.model).rank_buckets(names)[1].tolist() == [1 / 2, 3 / 4, 0.0]
    assert board.scores("/a", "/z") == [1 / 2, 0.0]


def test_another_active_policy_scores_on_the_scale_of_the_first() -> None:
    """/a was 1/2 to both, /b 1/3 to the first and 1/2 to the second, which is ln 2 above in log odds."""
    board = Board("auto", policies="breadth_first+in_degree")
    board.page("/", [("/a", PLACE)])
    board.page("/a", [("/b", PLACE)])
    policy = auto(board)
    policy.trust.active, policy._offset = 1, policy.links.log_odds_offset(1, 0)
    assert policy.links.scores().tolist() == [[1 / 2, 1 / 2]]
    assert CrawlQueries(board.model).rank_buckets(["h/*d9|8"])[1].tolist() == [1 / 2]
    board.page("/b", [("/c", PLACE)])
    # /b: 1/3 against 1/2 is ln 2 below; weights .98 and 1
    policy.trust.active, policy._offset = 1, policy.links.log_odds_offset(1, 0)
    odds = 2 ** (-1 / 1.98)
    assert CrawlQueries(board.model).rank_buckets(["h/*d9|8"])[1].tolist() == pytest.approx(
        [odds / (1 + odds)]
    )


def test_buckets_may_hold_any_character() -> None:
    board = Board("auto", policies="breadth_first+toy_piped")
    [name] = board.page("/", [("/a", PLACE)]).links.bucket_names
    auto(board).trust.active = 1
    assert CrawlQueries(board.model).rank_buckets([name])[1].tolist() == [1.0]


def test_every_link_is_judged_before_its_page_is_known() -> None:
    """/a was one click away and linked once; seeds, repetitions and policies without model are not judged."""
    board = Board("auto", policies="breadth_first+in_degree+source_ucc")
    board.page("/", [("/a", PLACE)])
    board.page("/a", [("/a", PLACE)], texts=[("own", 400)])
    board.page("/a")
    links = auto(board).links
    assert links.scores().tolist() == [[1 / 2, 1 / 2, -1.0]]
    assert links.rewards().tolist() == [0.5]
    board.feedback("/a", 0.9)
    assert links.rewards().tolist() == [0.9]


def test_a_better_policy_takes_over() -> None:
    crawl = crawled("uniform_random+harvest", 200)
    assert active_policy_of(crawl) == "harvest"
    random = SimulatedCrawl(crawl_model(PolicyChoice("uniform_random")), GeneratedSite(0)).fetch(200)
    assert crawl.wanted_share() > random.wanted_share() + 0.1


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_first_policy_is_followed_while_it_is_best(seed: int) -> None:
    """Random order has .3 of the wanted pages, so 5 points are one fetch in eight given away."""
    alone = SimulatedCrawl(crawl_model(PolicyChoice("harvest"), seed=seed), GeneratedSite(seed)).fetch(200)
    crawl = crawled("harvest+uniform_random+breadth_first", 200, seed=seed)
    assert crawl.wanted_share() > alone.wanted_share() - 0.05


def test_a_new_site_starts_from_what_another_showed() -> None:
    crawl = crawled("uniform_random+harvest", 200, seed=2)  # there harvest earned .06 more, the margin is .05
    visit(crawl.model, "http://new.example/", GeneratedSite(1).page("http://site.example/"))
    shard = crawl.model.sites["new.example"]
    assert isinstance(shard.served, Auto)
    assert shard.served.active.name == "harvest"


def test_policies_share_their_own_knowledge_of_the_crawl() -> None:
    crawl = crawled("harvest+anthelion", 3)
    visit(crawl.model, "http://new.example/", None)
    first, second = (shard.served for shard in crawl.model.sites.values())
    assert isinstance(first, Auto)
    assert isinstance(second, Auto)
    assert first.crawl_wide is second.crawl_wide
    assert first.parts[1].crawl_wide is second.parts[1].crawl_wide is not None
    with pytest.raises(TypeError, match="not its knowledge"):
        first.crawl_wide = first.parts[1].crawl_wide  # type: ignore[assignment]


def test_rewards_are_expected_as_by_the_active_policy_or_else_the_first_that_can_tell() -> None:
    board = Board("auto", policies="breadth_first+harvest")
    board.page("/", [("/a", PLACE)])
    policy, site = auto(board), board.shard.model
    known = policy.parts[1].expected_rewards([(0, 0)], site)
    assert known is not None
    assert policy.expected_rewards([(0, 0)], site) == known
    board = Board("auto", policies="breadth_first+in_degree")
    board.page("/")
    assert auto(board).expected_rewards([(0, 0)], board.shard.model) is None


def test_the_reason_names_the_active_policy_and_the_trust_in_each() -> None:
    board = Board("auto", policies="breadth_first+in_degree")
    board.page("/", [("/a", PLACE)])
    [why] = board.explain("/a")
    assert why.explanation.summary.startswith("breadth_first is active (trust 0.")
    names = [term.name for term in why.explanation.terms]
    assert names == ["trust(breadth_first)", "trust(in_degree)", "depth"]
    assert sum(term.value for term in why.explanation.terms[:2]) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("policies", "rule"),
    [
        ("harvest+no_such", "not registered"),
        ("harvest+", "not registered"),
        ("harvest+harvest", "different"),
        ("auto", "choose itself"),
        ("harvest+source_target", "source_target needs parameters"),
        ("harvest+opic+pagerank+in_degree+rank_mass+breadth_first+depth_first", "1 to 6"),
    ],
)
def test_what_cannot_be_chosen_from_is_named(policies: str, rule: str) -> None:
    with pytest.raises(InvalidParams, match=rule):
        make_params(Auto, {"policies": policies})


class Ruling(Piped):
    """A policy that knows a rule and a seed."""

    name = "toy_ruling"

    def rules(self, site: SiteModel) -> list[UrlRule]:
        return [UrlRule("thread", "^https://h/show")]

    def suggest_seeds(self, n: int, site: SiteModel) -> list[SeedWanted]:
        return [SeedWanted("https://h/", "entry", 1.0)][:n]


register(Ruling)


def test_what_one_of_its_policies_knows_of_urls_it_hands_out() -> None:
    policy, site = Auto(AutoParams(policies="harvest+breadth_first")), site_model()
    assert (policy.rules(site), policy.suggest_seeds(3, site)) == ([], [])
    policy = Auto(AutoParams(policies="harvest+toy_ruling"))
    assert policy.rules(site) == Ruling({}).rules(site)
    assert policy.suggest_seeds(3, site) == Ruling({}).suggest_seeds(3, site)


def test_the_first_policy_is_followed_while_none_is_able() -> None:
    """Without labels anthelion has learned nothing, and focus finds no forum."""
    crawl = crawled("anthelion+focus", 30)
    [shard] = crawl.model.sites.values()
    trust = {known.policy: known.trust for known in capabilities.policy_trust(shard.served)}
    assert trust == {"anthelion": 1.0, "focus": 0.0}


def test_layouts_are_extracted_if_one_of_its_policies_reads_them() -> None:
    names = ("harvest+opic", "harvest+focus")
    wanted = [
        capabilities.wants_layout(Auto, PolicyChoice("auto", {"policies": name}).checked()) for name in names
    ]
    assert wanted == [False, True]
