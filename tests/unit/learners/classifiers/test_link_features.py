"""URL tokens, hashed features, neighbours."""

from __future__ import annotations

import numpy as np

from linkscore_scoring.learners.link_features import (
    NeighbourLabels,
    feature_names,
    link_features,
    url_words,
)
from linkscore_scoring.state import packed, unpacked


def test_tokens_of_a_url() -> None:
    assert url_words("http://h:8/Shop/12/a-red-hat.html?b=2&a=x") == [
        "n3",
        "0/Shop",
        "1/#",
        "2/a-red-hat.html",
        "#2",
        "-1",
        "shop",
        "red",
        "hat",
        "html",
        ".html",
        "ka",
        "kb",
        "=a=x",
        "=b=#",
        "&a&b",
    ]


def test_explanations_find_the_names_of_features() -> None:
    names = feature_names("http://h/a/17")
    X = link_features(["http://h/a/17"], np.array([[1.0, 0.0, 0.0, 2.0]]))
    assert {names[index] for index in X.indices.tolist()} >= {"bias", "host h", "url 1/#", "any good parents"}


def test_parents_and_siblings_are_counted() -> None:
    """Page 1 is good and links to 2 (good), 3 (bad) and 4; 3 also stands on 5."""
    neighbours = NeighbourLabels()
    neighbours.note(1, [], True)
    neighbours.note(2, [1], True)
    neighbours.note(3, [1, 5, 5], False)
    assert neighbours.counts([[1], [5], [1, 5], []]).tolist() == [
        [1, 0, 1, 1],
        [0, 0, 0, 1],
        [1, 0, 1, 2],
        [0, 0, 0, 0],
    ]


def test_relatives_are_bounded_and_survive_a_restart() -> None:
    neighbours = NeighbourLabels()
    neighbours.max_pages = 10
    for page in range(100):
        neighbours.note(page, [page + 1_000], page % 2 == 0)
    restored = NeighbourLabels()
    restored.load_state(unpacked(packed(neighbours.to_state())))
    assert neighbours.label(5) is None
    assert [restored.label(page) for page in (98, 99)] == [True, False]
    assert restored.counts([[1_099]]).tolist() == neighbours.counts([[1_099]]).tolist()
