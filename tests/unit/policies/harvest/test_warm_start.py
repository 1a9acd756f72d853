"""What other sites taught: matched by tag path and URL shape, and trusted as far as it holds."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from linkscore_scoring.columns import Repeated
from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.policies.answers import ANYTHING, Experience, LinkGroup
from linkscore_scoring.policies.harvest.tables import Source, Tables, Worked
from linkscore_scoring.policies.harvest.told import Starts, experience_of, shapes_of
from linkscore_scoring.testing.crawl import GeneratedSite, SimulatedCrawl
from linkscore_scoring.urls.pattern_tree import UrlPatterns

LINK_PATH = 77


def shape(url: str, level: int = 0) -> int:
    patterns = UrlPatterns()
    return shapes_of(patterns, patterns.insert(url))[level]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://a/forum/viewtopic.php?t=1", "http://b.org/forum/viewtopic.php?t=22"),
        ("http://a/blog/my-first-post", "http://b/blog/another_post-2"),
        ("http://a/2024/05/x-y", "http://b/1999/12/a-b-c"),
        ("http://a/section3/p", "http://b/section12/p"),
    ],
)
def test_pages_of_one_kind_have_one_shape_on_all_sites(one: str, other: str) -> None:
    assert shape(one) == shape(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://a/forum/viewtopic.php?t=1", "http://a/forum/viewforum.php?t=1"),
        ("http://a/tag/x", "http://a/user/x"),
        ("http://a/q/1", "http://a/q/1?page=2"),
    ],
)
def test_pages_of_different_kinds_have_not(one: str, other: str) -> None:
    assert shape(one) != shape(other)


def test_a_word_that_comes_last_may_be_a_name() -> None:
    patterns = UrlPatterns()
    for name in ("linux", "kde", "qt", "gtk", "wayland", "gnome", "rust", "go", "perl", "lisp"):
        folded = patterns.insert(f"http://a/tag/{name}")
    assert shape("http://b/tag/java", level=1) == shapes_of(patterns, folded)[0]


def started(
    *experiences: Experience, reward: float = 0.0, pulls: int = 0, others: int = 0
) -> tuple[list[float], list[float], Tables, UrlPatterns]:
    """Return how far experiences are trusted on a site, and what the arm they are of starts with.

    Of that arm one link waits and some were followed; others are known of another tag path alone.
    """
    patterns, tables = UrlPatterns(), Tables()
    pattern = patterns.insert("http://a/post/1")
    for n in range(pulls):
        tables.add_page(n + 1, "", [(pattern, LINK_PATH)], source=Source.FEEDBACK, label=reward)
    waiting = [(pattern, LINK_PATH), *[(pattern, 5)] * others]
    tables.find(Repeated.of(waiting), [True] * len(waiting))
    starts = tables.starts = Starts()
    starts.set_experience(experiences, patterns)
    found = starts(tables, Worked(tables))
    return starts.trust_in(tables), found[:, tables.row((pattern, LINK_PATH))].tolist(), tables, patterns


def known(reward: float, fetches: float = 100.0) -> Experience:
    return Experience.of([LinkGroup(shape("http://b/post/2"), LINK_PATH, fetches, reward, hub=0.5)])


def test_experience_is_of_this_site_alone() -> None:
    _, _, tables, patterns = started(known(1.0), reward=0.5, pulls=3)
    found = {(group.shape, group.link_path): group for group in experience_of(tables, patterns).groups}
    own = shape("http://a/post/1")
    assert found[own, LINK_PATH] == LinkGroup(own, LINK_PATH, 3.0, 0.5, 0.0)
    assert {key for key in found if ANYTHING in key} == {
        (ANYTHING, ANYTHING),
        (ANYTHING, LINK_PATH),
        (own, ANYTHING),
    }


def crawl(
    site: GeneratedSite, experience: Sequence[Experience] = (), policy: str = "harvest"
) -> SimulatedCrawl:
    documents = tuple(learned.to_bytes() for learned in experience)
    config = CrawlConfig("check", PolicyChoice(policy), experience=documents)
    return SimulatedCrawl(CrawlModel(config, ticket_key=b"k"), site)


def learned_on(seed: int, *, policy: str = "harvest") -> Experience:
    """Return what a crawl of a board learned that was told which pages are wanted."""
    made = crawl(GeneratedSite(seed=seed), policy=policy)
    made.reports = True
    made.fetch(80)
    return made.model.shard(next(iter(made.model.sites))).experience()


def test_a_board_is_crawled_better_by_what_another_board_taught() -> None:
    cold = crawl(GeneratedSite(seed=2)).fetch(30)
    warm = crawl(GeneratedSite(seed=2), [learned_on(1)]).fetch(30)
    assert warm.wanted_share() > cold.wanted_share()


def trust_after(fetches: int, learned: Experience) -> float:
    """Return how far an experience is trusted on another board, as the policy says it of itself."""
    made = crawl(GeneratedSite(seed=2), [learned]).fetch(fetches)
    shard = made.model.sites[min(made.model.sites)]
    return float(shard.served.describe(shard.model).removeprefix("experience of other sites is trusted by "))


def test_what_misleads_is_not_trusted_after_some_tens_of_fetches() -> None:
    learned = learned_on(1)
    wrong = Experience.of(replace(group, reward=1.0 - group.reward) for group in learned.groups)
    assert trust_after(40, wrong) < 0.2 < 0.4 < trust_after(40, learned)


def test_a_policy_made_of_harvest_hands_out_what_harvest_learned() -> None:
    assert learned_on(1, policy="focus").groups
