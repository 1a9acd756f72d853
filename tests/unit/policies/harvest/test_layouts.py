"""Layout vectors that are learned on line, by hand."""

from __future__ import annotations

from math import log, sqrt

import pytest

from linkscore_scoring.policies.harvest.layouts import Layouts, cosine
from linkscore_scoring.testing.pages import trie_of

POST = ["html/body/main[post]/text()"]
LIST = ["html/body/main[list]/a"]


def fitted(*pages: list[str]) -> Layouts:
    layouts = Layouts()
    tries = [trie_of(page) for page in pages]
    for trie in tries:
        layouts.see(trie)
    layouts.fit(tries)
    return layouts


def test_weights_are_ln_tf_times_ln_rarity_on_length_one() -> None:
    """Four pages show the footer, two the post: ln 2 x ln 2 against ln 3 x ln 3 for a post shown twice."""
    footer = "html/body/footer/text()"
    layouts = fitted([*POST, footer], [*POST, footer], [*LIST, footer], [*LIST, footer])
    weights = sorted(layouts.vector(trie_of([*POST, *POST, footer])).values())
    common, rare = log(2) * log(4 / 4 + 1), log(3) * log(4 / 2 + 1)
    norm = sqrt(common**2 + rare**2)
    assert weights == [pytest.approx(common / norm), pytest.approx(rare / norm)]


def test_templates_that_differ_in_a_class_share_nothing() -> None:
    layouts = fitted(POST, POST, LIST, LIST)
    assert cosine(layouts.vector(trie_of(POST)), layouts.vector(trie_of(LIST))) == 0.0


def test_classes_of_one_page_alone_do_not_count() -> None:
    layouts = fitted(POST, POST, LIST)
    unique = trie_of(["html/body/main[post special]/text()"])
    assert cosine(layouts.vector(unique), layouts.vector(trie_of(POST))) == pytest.approx(1.0)


def test_digits_of_classes_are_folded() -> None:
    layouts = fitted(["html/body[id-1]/text()"], ["html/body[id-2]/text()"])
    one, two = (layouts.vector(trie_of([f"html/body[id-{n}]/text()"])) for n in (3, 4))
    assert cosine(one, two) == pytest.approx(1.0)


def test_what_an_author_marks_up_does_not_count_but_a_class_does() -> None:
    layouts = fitted(POST, POST)
    marked = trie_of(["html/body/main[post]/ul/li/strong/text()"])
    assert cosine(layouts.vector(marked), layouts.vector(trie_of(POST))) == pytest.approx(1.0)
    layouts = fitted(POST, POST, *[["html/body/main[post]/ul[nav]/li/text()"]] * 2)
    listed = trie_of(["html/body/main[post]/ul[nav]/li/text()"])
    assert cosine(layouts.vector(listed), layouts.vector(trie_of(POST))) == 0.0


def test_layouts_restored_give_the_same_vectors() -> None:
    layouts, again = fitted(POST, POST, LIST), Layouts()
    again.load_state(layouts.to_state())
    assert again.vector(trie_of(POST)) == layouts.vector(trie_of(POST))
    assert again.to_state() == layouts.to_state()


def test_a_page_without_paths_is_like_nothing() -> None:
    layouts = fitted(POST)
    assert cosine(layouts.vector(trie_of([])), layouts.vector(trie_of(POST))) == 0.0
