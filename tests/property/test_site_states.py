"""States of site models: through bytes and back, the future is the same."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from linkscore_research.clusterers.knn import NearestNeighbours
from linkscore_scoring.clustering.identity import ClusterIdentities
from linkscore_scoring.clustering.tfidf import Vectorizer, fit_vectorizer
from linkscore_scoring.site.learning import SamplingPlan
from linkscore_scoring.site.navigation import NavigationParams, NavigationTable
from linkscore_scoring.state import from_state, pack_array, packed, plain, unpack_array, unpacked
from linkscore_scoring.urls.pattern_tree import UrlPatternParams, UrlPatterns

names = st.sampled_from("abcdefgh")
bags = st.lists(st.dictionaries(names, st.integers(1, 9), max_size=6), max_size=8)
observations = st.lists(
    st.tuples(st.integers(-1, 3), st.integers(-(2**63), 2**63 - 1), st.integers(0, 3), st.integers(-1, 5)),
    max_size=40,
)
targets = st.integers(0, 30)
words = st.text("abcde0", max_size=3)
urls = st.lists(
    st.builds(
        lambda path, query: f"http://h/{'/'.join(path)}?{'&'.join(query)}",
        st.lists(words, max_size=4),
        st.lists(st.builds("{}={}".format, words, words), max_size=3),
    ),
    max_size=60,
)


def through_bytes(state: Any) -> Any:
    return unpacked(packed(state))


@given(st.lists(st.lists(st.floats(allow_nan=False), min_size=3, max_size=3), max_size=5))
def test_arrays_come_back(rows: list[list[float]]) -> None:
    array = np.array(rows, dtype=np.float64).reshape(-1, 3)
    assert np.array_equal(unpack_array(through_bytes(pack_array(array))), array)


@given(bags)
def test_vectorizer_weighs_alike_and_rows_are_shares(sample: list[dict[str, int]]) -> None:
    vectorizer = fit_vectorizer(sample, min_df=1)
    again = from_state(Vectorizer, through_bytes(plain(vectorizer)))
    matrix = vectorizer.transform(sample)
    assert np.array_equal(again.transform(sample), matrix)
    assert all(np.isclose(total, 1.0) or total == 0.0 for total in matrix.sum(axis=1))


@given(st.integers(1, 12), st.integers(0, 10_000))
def test_neighbours_classify_alike(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = NearestNeighbours(rng.random((n, 3)).round(1), rng.integers(-1, 3, n))
    again = from_state(NearestNeighbours, through_bytes(plain(model)))
    queries = rng.random((7, 3))
    assert again.classify(queries).tolist() == model.classify(queries).tolist()


@given(observations, observations)
@settings(max_examples=50)
def test_navigation_table_has_the_same_future(past: list[Any], future: list[Any]) -> None:
    params = NavigationParams(max_rows=30)
    table = NavigationTable(params)
    for source, link_path, bare, destination in past:
        table.observe_links(source, [link_path], [2])
        table.observe_destination(source, link_path, bare, destination)
    again = NavigationTable(params)
    again.load_state(through_bytes(table.to_state()))
    for source, link_path, bare, destination in future:
        table.observe_destination(source, link_path, bare, destination)
        again.observe_destination(source, link_path, bare, destination)
    assert packed(again.to_state()) == packed(table.to_state())
    rows = past + future
    asked = [[row[i] for row in rows] for i in range(3)]
    p = table.probabilities(*asked, [-1, 0, 1, 2, 3, 4, 5])
    assert np.array_equal(p, again.probabilities(*asked, [-1, 0, 1, 2, 3, 4, 5]))
    assert (p.sum(axis=1) <= 1.0 + 1e-9).all()


@given(urls, urls)
@settings(max_examples=80)
def test_url_patterns_keep_future_and_old_ids(past: list[str], future: list[str]) -> None:
    params = UrlPatternParams(max_values=3, max_nodes=60)
    tree = UrlPatterns(params)
    given_out = [tree.insert(url) for url in past]
    again = UrlPatterns.from_state(through_bytes(tree.to_state()), params)
    assert [tree.insert(url) for url in future] == [again.insert(url) for url in future]
    assert again.to_state() == tree.to_state()
    assert len(tree) <= params.max_nodes
    for number in given_out:
        assert tree.count(number) > 0
        assert tree.resolve(tree.resolve(number)) == tree.resolve(number)


@given(urls)
@settings(max_examples=200)
def test_ids_given_out_stay_on_the_way_to_their_url(inserted: list[str]) -> None:
    tree = UrlPatterns(UrlPatternParams(max_values=2, min_count=10**9))
    given_out = [(url, tree.insert(url)) for url in inserted]
    for url, number in given_out:
        assert tree.resolve(number) == tree.levels(url)[-1]


@given(urls)
def test_counts_of_children_never_exceed_their_parent(inserted: list[str]) -> None:
    tree = UrlPatterns(UrlPatternParams(max_values=3))
    for url in inserted:
        tree.insert(url)
    for url in inserted:
        counts = [tree.count(number) for number in tree.levels(url)]
        assert counts == sorted(counts, reverse=True)
        assert counts[0] == len(inserted)


@given(st.lists(st.dictionaries(st.integers(0, 4), st.lists(targets, max_size=5), max_size=4), max_size=8))
def test_sampling_plan_has_the_same_future(pages: list[dict[int, list[int]]]) -> None:
    plan, rng = SamplingPlan(), np.random.default_rng(5)
    for number, links in enumerate(pages):
        plan.add_page(1_000 + number, links, rng)
    again = SamplingPlan()
    again.load_state(through_bytes(plan.to_state()))
    for copy in (plan, again):
        copy.add_page(2_000, {9: [3_001, 3_002]}, np.random.default_rng(6))
    assert again.plan(99) == plan.plan(99)


@given(st.lists(st.lists(st.integers(-1, 3), min_size=6, max_size=6), min_size=1, max_size=6))
def test_cluster_ids_are_one_to_one_and_never_reused(rounds: list[list[int]]) -> None:
    identities, old, retired = ClusterIdentities(), dict[str, int](), set[int]()
    for labels in rounds:
        ids = identities.carry_over(old, list("pqrstu"), labels)
        identities = from_state(ClusterIdentities, through_bytes(plain(identities)))
        assert len(set(ids.values())) == len(ids)
        assert not retired & set(ids.values())
        retired |= set(old.values()) - set(ids.values()) - {-1}
        old = {page: ids.get(label, -1) for page, label in zip("pqrstu", labels, strict=True)}
