"""Learned templates: statistics, persistent ids, digest, states."""

from __future__ import annotations

import numpy as np
import pytest

from linkscore_scoring.clustering.base import OUTLIER, SamplePage
from linkscore_scoring.clustering.cosine_linkage import CLUSTERERS
from linkscore_scoring.clustering.templates import TemplateModel, dsim, learn
from linkscore_scoring.errors import CorruptState
from linkscore_scoring.state import packed, unpacked


@pytest.fixture(params=sorted(CLUSTERERS))
def model(request, two_templates) -> TemplateModel:
    return learn(two_templates, CLUSTERERS[request.param]())


def test_clusters_are_described(model) -> None:
    assert [stats.size for stats in model.clusters] == [10, 10]
    assert all(stats.example in model.sample for stats in model.clusters)
    if model.clusterer in ("cosine_linkage", "dbscan"):
        assert all(stats.dsim > 0.0 for stats in model.clusters)


SPECIAL = {
    "cosine_linkage": "html/body/h1/text()",
    "crescenzi_mdl": "html/body/div/a",
    "dbscan": "html/body/h1/text()",
    "irobot_regions": "html/body/div.post",
    "uxclust": "html/body/ul/li/a[]",
}


def test_top_paths_name_what_is_special_about_posts(model) -> None:
    assert SPECIAL[model.clusterer] in model.clusters[0].top_paths
    assert SPECIAL[model.clusterer] not in model.clusters[1].top_paths


def test_persistent_ids_replace_labels_everywhere(model, two_templates) -> None:
    renamed = model.renamed({0: 40, 1: 7})
    assert renamed.ids() == [40, 7]
    assert renamed.classify(two_templates[:2]).tolist() == [40, 7]
    assert renamed.sample["/post-0"] == 40


def test_outliers_stay_outliers_under_any_ids(model, page) -> None:
    assert model.renamed({0: 40, 1: 7}).classify([SamplePage("/x", page("x/y/img"))]).tolist() == [OUTLIER]


def test_state_survives_bytes_and_classifies_alike(model, two_templates) -> None:
    state = unpacked(packed(model.to_state()))
    again = TemplateModel.from_state(state)
    assert packed(again.to_state()) == packed(model.to_state())
    assert again.classify(two_templates).tolist() == model.classify(two_templates).tolist()
    assert again.clusters == model.clusters


def test_learning_twice_gives_one_model_and_other_pages_another(model, two_templates) -> None:
    def learned(sample) -> bytes:
        return packed(learn(sample, CLUSTERERS[model.clusterer]()).to_state())

    assert learned(two_templates) == packed(model.to_state())
    assert learned(two_templates[:-4]) != packed(model.to_state())


@pytest.mark.parametrize("field", ["clusterer", "model", "clusters", "sample"])
def test_state_without_a_field_is_refused(model, field) -> None:
    state = model.to_state()
    del state[field]
    with pytest.raises(CorruptState):
        TemplateModel.from_state(state)


def test_state_of_an_unknown_clusterer_is_refused(model) -> None:
    with pytest.raises(CorruptState):
        TemplateModel.from_state({**model.to_state(), "clusterer": "kmeans"})


def test_dsim_is_the_mean_distance_to_the_centroid() -> None:
    vectors = np.array([[0.0, 0.0], [4.0, 0.0], [2.0, 3.0], [9.0, 9.0]])
    # centroid (2, 1): distances sqrt 5, sqrt 5, 2
    assert dsim(vectors, np.array([0, 0, 0, 1]), np.array([0])) == pytest.approx([(2 * 5**0.5 + 2) / 3])


def test_dsim_of_single_missing_or_equal_pages_is_zero() -> None:
    vectors = np.array([[1.0, 2.0], [3.0, 4.0], [3.0, 4.0]])
    assert dsim(vectors, np.array([0, 1, 1]), np.array([0, 1, 7])).tolist() == [0.0, 0.0, 0.0]
