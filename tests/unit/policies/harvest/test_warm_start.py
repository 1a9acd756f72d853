"""What other sites taught: matched by tag path and URL shape, and trusted as far as it holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt

import pytest

from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.errors import NoRules
from linkscore_scoring.policies.experience import ANYTHING, Experience, LinkGroup
from linkscore_scoring.policies.harvest.starts import Starts, experience_of, shapes_of
from linkscore_scoring.policies.harvest.tables import ANY, Source, Tables, Worked
from linkscore_scoring.testing.crawl import SimulatedCrawl
from linkscore_scoring.testing.site import GeneratedSite
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


def test_the_site_as_a_whole_has_the_shape_of_anything() -> None:
    assert shapes_of(UrlPatterns(), ANY) == [ANYTHING]


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
    tables.find({tables.row((pattern, LINK_PATH)): 1})
    if others:
        tables.find({tables.row((pattern, 5)): others})
    starts = tables.starts = Starts(patterns)
    starts.set_experience(experiences)
    found = starts(tables, Worked(tables))
    assert found is not None
    return starts.trust_in(tables), found[:, tables.row((pattern, LINK_PATH))].tolist(), tables, patterns


def known(reward: float, fetches: float = 100.0) -> Experience:
    return Experience.of([LinkGroup(shape("http://b/post/2"), LINK_PATH, fetches, reward, hub=0.5)])


def test_what_is_known_counts_as_eight_pulls_at_most() -> None:
    trust, counts, _, _ = started(known(0.75))
    assert trust == [1.0]  # all arms found are known, and nothing says otherwise
    assert counts == [8.0, 6.0, 4.0]


def test_several_experiences_share_the_eight_pulls() -> None:
    assert started(known(1.0), known(0.5))[1] == [8.0, 6.0, 4.0]


def test_trust_is_the_share_of_what_is_known_here() -> None:
    assert started(known(1.0), others=9)[0] == [pytest.approx(1.0 / (1.0 + sqrt(9.0)))]


def test_trust_falls_with_what_it_says_wrongly_and_the_mean_of_the_site_rightly() -> None:
    # scale = max(.6, 2 / (2 + 4)); 4 pulls wrong by .6: D = 1.44; the mean of the site is right: D0 = 0
    assert started(known(1.0), pulls=4)[0] == [pytest.approx((1.0 / (1.0 + 1.44)) ** 2)]


def test_labels_elsewhere_and_text_here_agree_if_they_differ_by_scale_alone() -> None:
    # scale = (2 + 5.6) / (2 + 8) = .76: D = 8 x .06^2
    assert started(known(1.0), reward=0.7, pulls=8)[0] == [pytest.approx((1.0 / (1.0 + 0.0288)) ** 2)]


def test_what_it_says_against_links_is_trusted_less_once_it_erred() -> None:
    trust, counts, _, _ = started(known(0.0), reward=1.0, pulls=4)
    assert trust == [pytest.approx(0.2**2)]
    assert counts == pytest.approx([8.0 * 0.2**4, 0.0, 8.0 * 0.2**4 * 0.5])


def test_one_arm_is_evidence_of_eight_pulls_at_most() -> None:
    assert started(known(1.0), pulls=500)[0] == [pytest.approx((1.0 / (1.0 + 8 * 0.36)) ** 2)]


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
    return CrawlQueries(made.model).experience(next(iter(made.model.sites)))


def test_a_board_is_crawled_better_by_what_another_board_taught() -> None:
    cold = crawl(GeneratedSite(seed=2)).fetch(30)
    warm = crawl(GeneratedSite(seed=2), [learned_on(1)]).fetch(30)
    assert warm.wanted_share() > cold.wanted_share()


def trust_after(fetches: int, learned: Experience) -> float:
    """Return how far an experience is trusted on another board, as the policy says it of itself."""
    made = crawl(GeneratedSite(seed=2), [learned]).fetch(fetches)
    (shard,) = made.model.sites.in_memory
    return float(shard.served.describe(shard.model).removeprefix("experience of other sites is trusted by "))


def test_what_misleads_is_not_trusted_after_some_tens_of_fetches() -> None:
    learned = learned_on(1)
    wrong = Experience.of(replace(group, reward=1.0 - group.reward) for group in learned.groups)
    assert trust_after(40, wrong) < 0.2 < 0.4 < trust_after(40, learned)


@pytest.mark.parametrize("policy", ["harvest", "focus"])
def test_scores_are_the_same_after_a_restart(policy: str) -> None:
    made = crawl(GeneratedSite(seed=2), [learned_on(1)], policy).fetch(25)
    again = CrawlModel(made.model.config, ticket_key=b"k")
    again.crawl_wide.load_state(made.model.crawl_wide.to_state())
    again.sites.load_state(made.model.sites.to_state())
    urls = [url for url, _ in made.frontier()][:50]
    tickets = [ticket for _, ticket in made.frontier()][:50]
    scored = [
        CrawlQueries(model).score_links(urls, urls, tickets, [""] * len(urls)).scores.tolist()
        for model in (made.model, again)
    ]
    assert scored[0] == scored[1]
    assert len(set(scored[0])) > 1


def test_a_policy_made_of_harvest_hands_out_what_harvest_learned() -> None:
    assert learned_on(1, policy="focus").groups


def test_what_learned_nothing_has_no_experience() -> None:
    made = crawl(GeneratedSite(seed=1), policy="breadth_first").fetch(5)
    with pytest.raises(NoRules, match="breadth_first has learned nothing yet"):
        CrawlQueries(made.model).experience(next(iter(made.model.sites)))
