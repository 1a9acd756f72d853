"""The default clusterer and what it learns: templates told apart, described, kept; degenerate samples."""

from __future__ import annotations

import numpy as np
import pytest

from linkscore_scoring.clustering.base import OUTLIER
from linkscore_scoring.clustering.cosine_linkage import CosineLinkage
from linkscore_scoring.clustering.templates import TemplateModel, distances_to_mean, learn
from linkscore_scoring.features.types import PathTrie


def labels_of(*tries: PathTrie, **params: int) -> list[int]:
    return CosineLinkage(**params).fit(tries).labels.tolist()


@pytest.fixture
def model(two_templates) -> TemplateModel:
    return learn(list(two_templates), list(two_templates.values()), CosineLinkage())


def test_two_templates_are_two_clusters_and_new_pages_join_theirs(two_templates, page) -> None:
    empty, odd = [PathTrie()] * 10, [page("html/body/table.t/tr/td/text()", "html/body/table.t/tr/td/a")] * 3
    assert labels_of(*two_templates.values(), *empty) == [0, 1] * 10 + [OUTLIER] * 10
    assert labels_of(*two_templates.values(), *odd, min_df=2)[-3:] == [OUTLIER] * 3
    found = CosineLinkage().fit(list(two_templates.values())).model
    assert found.nearest(page(*["html/body/ul.list/li/a"] * 4, "html/body/h2/text()")) == 1
    assert [found.nearest(one) for one in (page("html/frameset/frame/img"), PathTrie())] == [OUTLIER] * 2


def test_templates_that_differ_in_classes_only_are_told_apart(page) -> None:
    tries = [page(f"html/body.{kind}/div/p/text()") for kind in ["tag", "author"] * 6]
    assert labels_of(*tries) == [0, 1] * 6


@pytest.mark.parametrize("n", [0, 1, 3, 8])
def test_few_pages_are_one_cluster_and_empty_ones_none(page, n: int) -> None:
    found = CosineLinkage().fit([page("html/body/p/text()")] * n)
    assert found.labels.tolist() == [0] * n
    assert labels_of(*[PathTrie()] * n) == [OUTLIER] * n
    if not n:
        assert found.model.nearest(page("html/p/text()")) == OUTLIER


def test_clusters_are_described_by_what_is_special_about_them(model) -> None:
    posts, lists = model.clusters
    assert (posts.size, lists.size) == (10, 10)
    assert posts.example in model.sample
    assert "html/body/h1/text()" in posts.top_paths
    assert "html/body/h1/text()" not in lists.top_paths


def test_dsim_is_the_mean_distance_to_the_centroid() -> None:
    members = np.array([[0.0, 0.0], [4.0, 0.0], [2.0, 3.0]])  # centroid (2, 1)
    assert distances_to_mean(members) == pytest.approx([5**0.5, 5**0.5, 2.0])
    assert distances_to_mean(members[:1]).tolist() == [0.0]
