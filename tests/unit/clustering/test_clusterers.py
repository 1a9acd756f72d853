"""Every clusterer of the registry: two templates, degenerate samples, bounds."""

from __future__ import annotations

import numpy as np
import pytest

from linkscore_scoring.clustering.base import MAX_PAGES, OUTLIER, SamplePage, renumbered
from linkscore_scoring.clustering.cosine_linkage import CLUSTERERS, DEFAULT, clusterer_named
from linkscore_scoring.errors import CorruptState, InvalidParams, LimitExceeded
from linkscore_scoring.features.types import PathTrie

DENSE = ("cosine_linkage", "dbscan")
"""Clusterers that ask for four pages a cluster."""


def sampled(*tries: PathTrie) -> list[SamplePage]:
    """Return pages nobody links to."""
    return [SamplePage(f"/{i}", trie) for i, trie in enumerate(tries)]


@pytest.fixture
def clusterer():
    return CLUSTERERS[DEFAULT]()


def test_two_templates_are_two_clusters_in_order_of_first_page(clusterer, two_templates) -> None:
    labels = clusterer.fit(two_templates).labels
    assert labels.tolist() == [0, 1] * 10


def test_new_pages_join_their_template(clusterer, two_templates, page) -> None:
    model = clusterer.fit(two_templates).model
    leaves = [*["html/body/ul.list/li/a"] * 4, "html/body/ul.list/li/img", "html/body/h2/text()"]
    fresh = SamplePage("/list-99", page(*leaves), in_links=two_templates[1].in_links)
    assert model.classify([two_templates[0], fresh]).tolist() == [0, 1]
    assert (model.distances([two_templates[0], fresh]) < 0.5).all()


def test_page_without_known_paths_is_an_outlier(clusterer, two_templates, page) -> None:
    model = clusterer.fit(two_templates).model
    assert model.classify(sampled(page("html/frameset/frame/img"), PathTrie())).tolist() == [OUTLIER] * 2


def test_empty_pages_never_form_a_cluster(clusterer, two_templates) -> None:
    labels = clusterer.fit([*two_templates, *sampled(*[PathTrie()] * 10)]).labels
    assert labels.tolist() == [0, 1] * 10 + [OUTLIER] * 10


def test_only_empty_pages_are_all_outliers(clusterer) -> None:
    assert clusterer.fit(sampled(*[PathTrie()] * 6)).labels.tolist() == [OUTLIER] * 6


def test_identical_pages_are_one_cluster(clusterer, page) -> None:
    assert clusterer.fit(sampled(*[page("html/body/p/text()")] * 8)).labels.tolist() == [0] * 8


@pytest.mark.parametrize("n", [1, 2, 3])
def test_very_few_pages_are_one_cluster(clusterer, page, n) -> None:
    clustering = clusterer.fit(sampled(*[page("html/body/p/text()")] * n))
    assert clustering.labels.tolist() == [0] * n
    if n == 1 or clusterer.name in DENSE:
        assert clustering.notes == ["no_clusters"]


def test_no_pages_give_an_empty_model(clusterer, page) -> None:
    clustering = clusterer.fit([])
    assert clustering.labels.tolist() == []
    fresh = sampled(page("html/p/text()"))
    assert clustering.model.classify(fresh).tolist() == [OUTLIER]
    assert clustering.model.distances(fresh).tolist() == [0.0]


def test_sample_beyond_the_bound_is_refused(clusterer) -> None:
    with pytest.raises(LimitExceeded, match="2000"):
        clusterer.fit(sampled(*[PathTrie()] * (MAX_PAGES + 1)))


def test_state_of_something_else_is_refused(clusterer) -> None:
    with pytest.raises(CorruptState):
        type(clusterer).load({"cut": 1})


def test_default_separates_templates_that_differ_in_classes_only(page) -> None:
    tries = [page(f"html/body.{kind}/div/p/text()") for kind in ["tag", "author"] * 6]
    assert clusterer_named(DEFAULT)().fit(sampled(*tries)).labels.tolist() == [0, 1] * 6


def test_small_groups_are_outliers(two_templates, page) -> None:
    odd = [page("html/body/table.t/tr/td/text()", "html/body/table.t/tr/td/a")] * 3
    labels = clusterer_named("cosine_linkage")(min_df=2).fit([*two_templates, *sampled(*odd)]).labels
    assert labels[-3:].tolist() == [OUTLIER] * 3


def test_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InvalidParams, match="must be one of cosine_linkage"):
        clusterer_named("kmeans")


def test_labels_are_renumbered_by_first_page() -> None:
    assert renumbered(np.array([7, -1, 2, 7])).tolist() == [0, -1, 1, 0]
