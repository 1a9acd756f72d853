"""Description lengths worked by hand, and classes that merge or do not."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from linkscore_scoring.clustering.base import OUTLIER
from linkscore_scoring.clustering.others.crescenzi_mdl import (
    CrescenziMdl,
    Partition,
    link_paths,
    mentions,
    schema_distances,
    schemas_of,
)
from linkscore_scoring.clustering.sample import SamplePage
from linkscore_scoring.features.types import PathTrie

NO_ARCS = np.zeros((0, 3), dtype=np.int64)


def partition(arcs: NDArray[np.int64] = NO_ARCS) -> Partition:
    """Three pages with paths 0 and 1, and one page with paths 0, 1 and 2, of four paths."""
    counts = np.array([[3, 3, 0, 0], [1, 1, 1, 0]], dtype=np.int16)
    return Partition(counts, np.array([3, 1]), arcs)


def both(of: Partition) -> float:
    return float(of.savings(np.array([0]), np.array([1]))[0])


def sampled(page, *groups: tuple[int, str]) -> list[SamplePage]:
    """Return so many pages for each string of link names."""
    tries: list[PathTrie] = [
        page(*(f"html/body/{name}/a" for name in names)) for n, names in groups for _ in range(n)
    ]
    return [SamplePage(f"/{i}", trie) for i, trie in enumerate(tries)]


def test_a_schema_holds_the_paths_that_are_cheaper_inside() -> None:
    counts, sizes = np.array([[4, 3, 2, 1, 0]], dtype=np.int16), np.array([4])
    assert schemas_of(counts, sizes).tolist() == [[True, True, False, False, False]]
    assert mentions(counts, sizes).tolist() == [1 + 2 + 2 + 1 + 0]


def test_length_is_paths_at_two_bits_and_class_names_at_one() -> None:
    assert partition().length() == (2 + 3) * 2 + 4 * 1


def test_merging_saves_what_the_length_loses() -> None:
    merged = partition().merged(np.array([0, 0]))
    assert merged.length() == 3 * 2
    assert both(partition()) == pytest.approx(14 - 6)


def test_arcs_that_become_one_are_saved_too() -> None:
    with_arcs = partition(np.array([[0, 0, 0], [1, 0, 0]]))
    assert with_arcs.length() == 14 + 2 * 2 + 2 * 1
    assert with_arcs.merged(np.array([0, 0])).length() == 6 + 2
    assert both(with_arcs) == pytest.approx(20 - 8)


def test_distance_is_the_share_of_paths_that_differ() -> None:
    schemas = np.array([[1, 1, 0], [1, 0, 1], [0, 0, 0], [0, 0, 0]], dtype=np.bool_)
    distances = schema_distances(schemas)
    assert distances[0, 1] == pytest.approx(2 / 3)
    assert (distances[0, 2], distances[2, 3]) == (1.0, 0.0)


def test_a_schema_is_the_paths_to_anchors_without_classes(page) -> None:
    trie = page("html/body/p/text()", "html/body/p.x/a", "html/body/p.y/a", "html/body/ul/li/a/text()")
    assert link_paths(trie) == {"html/body/p/a"}


def test_far_schemas_stay_apart(page) -> None:
    labels = CrescenziMdl().fit(sampled(page, (5, "abcd"), (5, "abce"))).labels
    assert labels.tolist() == [0] * 5 + [1] * 5


def test_a_small_template_near_a_large_one_is_swallowed(page) -> None:
    """The schemas differ in 2 of 11 paths, .18: joined at the paper's .2, apart at .1."""
    sample = sampled(page, (20, "abcdefghij"), (2, "abcdefghik"))
    assert CrescenziMdl().fit(sample).labels.tolist() == [0] * 22
    assert CrescenziMdl(threshold=0.1).fit(sample).labels.tolist() == [0] * 20 + [1] * 2


def test_two_large_templates_as_near_stay_apart(page) -> None:
    """Merged, all 40 deviations of one path and as many of the other would be written down."""
    sample = sampled(page, (40, "abcdefghij"), (40, "abcdefghik"))
    assert CrescenziMdl().fit(sample).labels.tolist() == [0] * 40 + [1] * 40


def test_a_new_page_joins_only_if_that_is_shorter_than_a_class_of_its_own(page) -> None:
    model = CrescenziMdl().fit(sampled(page, (5, "abcd"), (5, "wxyz"))).model
    near, far = sampled(page, (1, "abcq"), (1, "aqrs"))
    assert model.classify([near, far]).tolist() == [0, OUTLIER]
    assert model.distances([near])[0] == pytest.approx(2 / 5)


def test_a_page_unlike_all_others_is_an_outlier(page) -> None:
    assert CrescenziMdl().fit(sampled(page, (5, "abcd"), (1, "wxyz"))).labels.tolist() == [0] * 5 + [OUTLIER]
