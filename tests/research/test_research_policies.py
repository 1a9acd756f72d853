"""Policies and clusterers of research: found by name, and a figure of each paper worked by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from linkscore_research.clusterers.eps import scan
from linkscore_research.policies.irobot.arborescence import maximum_arborescence
from linkscore_research.policies.tag_path_bandit.tag_path_groups import TagPathGroups, vector_of
from linkscore_research.policies.tpm.rtdm import Tree, distance, similarity
from linkscore_scoring.clustering.cosine_linkage import CLUSTERERS
from linkscore_scoring.policies.registry import builtin, policy_class
from linkscore_scoring.testing.conformance import Subject, check_state_round_trip_gives_the_same_future
from linkscore_scoring.testing.crawl import GeneratedSite, trie_of
from support.command_line import run
from support.link_graph.webs import Web
from support.replay_sites import shop

POLICIES = ("tpm", "irobot", "tag_path_bandit", "rank_mass", "fractional_pagerank")
EXAMPLE = {"example_url": GeneratedSite(0).example}


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_of_research_is_found_and_goes_on_after_a_restart(name: str) -> None:
    assert name not in builtin()
    subject = Subject(policy_class(name), EXAMPLE if name == "tpm" else {})
    assert check_state_round_trip_gives_the_same_future(subject) is None


def test_a_site_is_replayed_under_them_by_name(tmp_path: Path) -> None:
    warc, labels = shop(tmp_path)
    options = [
        "--labels",
        labels,
        "--relevant",
        "item",
        "--seeds",
        1,
        "--workers",
        1,
        "--clusterer",
        "dbscan",
    ]
    got = run("replay", warc, *options, "--policy", "irobot", "--policy", "rank_mass:damping=0.5")
    assert got.exit_code == 0, got.output
    assert "irobot" in got.output
    assert "rank_mass" in got.output


def test_rank_mass_hands_half_on_and_covers_the_rest() -> None:
    """Cho and Schonfeld 2007, damping 1/2: a page keeps half of its mass, its links share the rest."""
    web = Web("rank_mass", damping=0.5)
    web.fetch("a", "b", "c")
    web.fetch("b", "c", "d")
    assert web.policy.covered == 5 / 8
    assert web.values("abcd") == [0, 0, 5 / 32, 1 / 32]


def test_fractional_pagerank_flows_to_unfetched_pages_only() -> None:
    """Alam 2012: b has a quarter, and hands half of it to three links of which a is fetched."""
    web = Web("fractional_pagerank", damping=0.5)
    web.fetch("a", "b", "c")
    web.fetch("b", "a", "c", "c", "b")
    assert web.values("abc") == [1, 1 / 4, 5 / 16]


def test_trees_differ_by_inserted_nodes() -> None:
    """Vidal 2006, RTDM: an inserted leaf costs one, of trees of 6 and 7 nodes."""
    row = Tree("tr", (Tree("td", ()), Tree("td", ())))
    page = Tree("", (Tree("h1", ()), Tree("table", (row,))))
    more = Tree("", (Tree("h1", ()), Tree("img", ()), Tree("table", (row,))))
    assert distance(page, more) == 1
    assert similarity(page, more) == pytest.approx(1 - 1 / (6 + 7))


def test_every_kind_of_pages_is_reached_by_its_heaviest_arc() -> None:
    """Cai 2008, the spanning tree of a sitemap."""
    weights = {(0, 1): 1.0, (0, 2): 5.0, (1, 2): 2.0, (2, 1): 0.5, (2, 3): 1.0}
    assert maximum_arborescence(0, weights) == {1: 0, 2: 0, 3: 2}


def test_a_tag_path_joins_the_nearest_group() -> None:
    """Gauquier 2026: 5 of 6 and 7 two-grams in common, cosine 5 / sqrt(42) = .772."""
    paths = "html/body/div/p/a[]", "html/body/div/p/em/a[]"
    assert float(vector_of(paths[0]) @ vector_of(paths[1])) > 0
    for least, groups in ((0.75, 1), (0.78, 2)):
        found = TagPathGroups(similarity=least)
        assert len({found.join(n, path) for n, path in enumerate(paths)}) == groups


def test_eps_is_the_first_sparse_bin_past_half_of_the_pages() -> None:
    """Xu 2018, section 4.2, of 40 pages: bins of .1 hold 21 0 1 1 1 1 1 1 6 7."""
    distances = np.array([0.0] * 21 + [0.25, 0.35, 0.45, 0.55, 0.65, 0.75] + [0.85] * 6 + [1.0] * 7)
    assert scan(distances, bins=10, min_pts=4) == pytest.approx(0.1)


@pytest.mark.parametrize("name", ["dbscan", "irobot_regions"])
def test_a_clusterer_of_research_tells_two_templates_apart(name: str) -> None:
    post = ["html/body/div.post/p/text()", "html/body/div.post/a", "html/body/nav/a"]
    table = [*["html/body/ul.list/li/a"] * 8, *["html/body/ul.list/li/img"] * 8, "html/body/h2/text()"]
    tries = [trie_of(table if n % 2 else post) for n in range(20)]
    found = CLUSTERERS[name]().fit(tries)
    assert len(found.labels) == 20
    assert [found.model.nearest(trie) for trie in tries[:2]] == found.labels[:2].tolist()
