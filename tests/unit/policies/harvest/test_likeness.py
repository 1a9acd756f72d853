"""Pages like the examples, by layout and by shape of the URL."""

from __future__ import annotations

import pytest

from linkscore_scoring.policies.harvest.likeness import Likeness
from linkscore_scoring.testing.pages import trie_of
from linkscore_scoring.types import ExamplePage
from linkscore_scoring.urls.pattern_tree import UrlPatterns

POST = trie_of(["html/body/main[post]/text()", "html/body/nav/a"])
LIST = trie_of(["html/body/main[list]/a", "html/body/nav/a"])
ROOT = "http://h"


def example(path: str = "/post/1", trie: object = POST) -> ExamplePage:
    return ExamplePage(ROOT + path, ROOT + path, "post", trie if trie is not None else trie_of([]))  # type: ignore[arg-type]


def shown(*examples: ExamplePage) -> Likeness:
    likeness = Likeness()
    likeness.show(examples)
    for _ in range(2):
        for trie in (POST, LIST):
            likeness.see("", trie)
    likeness.fit([LIST, LIST])
    return likeness


def test_a_page_of_the_layout_and_the_url_shape_is_alike() -> None:
    likeness = shown(example())
    assert likeness.label(ROOT + "/post/2", POST, UrlPatterns()) == 1.0


def test_a_page_of_another_layout_is_not_alike() -> None:
    assert shown(example()).label(ROOT + "/post/2", LIST, UrlPatterns()) < 0.5


def test_a_permalink_shares_the_layout_and_not_the_url_shape() -> None:
    likeness = shown(example("/post?t=1"))
    assert likeness.label(ROOT + "/post?t=2", POST, UrlPatterns()) == 1.0
    assert likeness.label(ROOT + "/post?p=2", POST, UrlPatterns()) == 0.0


def test_an_example_without_url_goes_by_layout_alone() -> None:
    likeness = shown(ExamplePage(paths=POST))
    assert likeness.label(ROOT + "/anything?x=y", POST, UrlPatterns()) == 1.0


def test_below_the_least_cosine_the_label_is_its_square() -> None:
    likeness = shown(example())
    likeness.nearest = lambda *_: 0.1  # type: ignore[method-assign]
    assert likeness.label("", POST, UrlPatterns()) == pytest.approx((0.1 / 0.4) ** 2)


def test_an_example_given_by_url_counts_once_the_page_was_fetched() -> None:
    likeness = shown(example(trie=None))
    assert likeness.label(ROOT + "/post/2", POST, UrlPatterns()) == 0.0
    assert likeness.see(ROOT + "/post/1", POST)
    likeness.fit([LIST, LIST])
    assert likeness.label(ROOT + "/post/2", POST, UrlPatterns()) == 1.0


def test_a_fit_is_due_when_the_pages_unlike_the_examples_have_doubled() -> None:
    likeness = shown(example())
    due = []
    for n in range(1, 9):
        likeness.labelled(alike=False)
        if likeness.see("", LIST):
            likeness.fit([LIST])
            due.append(n)
    assert due == [2, 4, 8]
    likeness.labelled(alike=True)
    assert not likeness.see("", POST)


def test_likeness_restored_labels_alike() -> None:
    likeness, again = shown(example(trie=None)), Likeness()
    likeness.see(ROOT + "/post/1", POST)
    likeness.fit([LIST, LIST])
    again.show([example(trie=None)])
    again.load_state(likeness.to_state())
    assert again.label(ROOT + "/post/2", POST, UrlPatterns()) == 1.0
    assert again.to_state() == likeness.to_state()
