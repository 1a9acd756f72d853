"""Pages like the examples, by layout and by shape of the URL; layouts as vectors, by hand."""

from __future__ import annotations

from math import log, sqrt

import pytest

from linkscore_scoring.policies.harvest.told import Layouts, Likeness, cosine
from linkscore_scoring.policies.harvest.tunables import Tunables
from linkscore_scoring.testing.crawl import trie_of
from linkscore_scoring.types import ExamplePage
from linkscore_scoring.urls.pattern_tree import UrlPatterns

POST = trie_of(["html/body/main[post]/text()", "html/body/nav/a"])
LIST = trie_of(["html/body/main[list]/a", "html/body/nav/a"])
POST_LEAVES = ["html/body/main[post]/text()"]
LIST_LEAVES = ["html/body/main[list]/a"]
ROOT = "http://h"


def example(path: str = "/post/1", trie: object = POST) -> ExamplePage:
    return ExamplePage(ROOT + path, ROOT + path, "post", trie if trie is not None else trie_of([]))  # type: ignore[arg-type]


def shown(*examples: ExamplePage, least_cosine: float = 0.4) -> Likeness:
    likeness = Likeness(Tunables(least_cosine=least_cosine))
    likeness.set_examples(examples)
    for _ in range(2):
        for trie in (POST, LIST):
            likeness.see(0, "", trie, {})
    likeness.fit([LIST, LIST], UrlPatterns())
    return likeness


@pytest.mark.parametrize(
    ("given", "other", "label"),
    [
        (["/law?t=1"], "/law?p=2", 0.0),
        (["/law/1", "/law/2"], "/tax/de/vat/1", 0.0),
        (["/law/1", "/law/2", "/law/uk/1"], "/tax/de/vat/1", 1 / 3),
        (["/law/1", "/law/uk/1"], "/tax/de/vat/1", 1.0),
    ],
)
def test_another_shape_of_url_counts_as_far_as_examples_have_shapes_of_their_own(
    given: list[str], other: str, label: float
) -> None:
    likeness, patterns = shown(*map(example, given)), UrlPatterns()
    found = [likeness.label(ROOT + path, POST, patterns)[0] for path in (given[0] + "0", other)]
    assert found == pytest.approx([1.0, label])
    assert likeness.label(ROOT + other, LIST, patterns)[0] == pytest.approx(0.0, abs=1e-3)


def fitted(*pages: list[str]) -> Layouts:
    layouts = Layouts()
    tries = [trie_of(page) for page in pages]
    for trie in tries:
        layouts.see(trie)
    layouts.fit(tries)
    return layouts


def test_weights_are_ln_tf_times_ln_rarity_on_length_one() -> None:
    """Four pages show the footer, two the post: ln 2 x ln 2 against ln 3 x ln 3 for a post shown twice.

    Each on the path with the classes above it, and on that without.
    """
    footer = "html/body/footer/text()"
    layouts = fitted(
        [*POST_LEAVES, footer], [*POST_LEAVES, footer], [*LIST_LEAVES, footer], [*LIST_LEAVES, footer]
    )
    weights = sorted(layouts.vector(trie_of([*POST_LEAVES, *POST_LEAVES, footer])).values())
    common, rare = log(2) * log(4 / 4 + 1), log(3) * log(4 / 2 + 1)
    norm = sqrt(2 * (common**2 + rare**2))
    assert weights == pytest.approx([common / norm] * 2 + [rare / norm] * 2)


def test_a_class_of_the_body_does_not_rename_a_page() -> None:
    one, other = ([leaf.replace("body", f"body[{name}]") for leaf in POST_LEAVES] for name in ("ann", "bob"))
    layouts = fitted(one, one, other, other)
    assert cosine(layouts.vector(trie_of(one)), layouts.vector(trie_of(other))) > 0.2


def test_classes_of_one_page_alone_do_not_count() -> None:
    layouts = fitted(POST_LEAVES, POST_LEAVES, LIST_LEAVES)
    unique = trie_of(["html/body/main[post special]/text()"])
    assert cosine(layouts.vector(unique), layouts.vector(trie_of(POST_LEAVES))) == pytest.approx(1.0)


def test_what_an_author_marks_up_does_not_count_but_a_class_does() -> None:
    layouts = fitted(POST_LEAVES, POST_LEAVES)
    marked = trie_of(["html/body/main[post]/ul/li/strong/text()"])
    assert cosine(layouts.vector(marked), layouts.vector(trie_of(POST_LEAVES))) == pytest.approx(1.0)
    layouts = fitted(POST_LEAVES, POST_LEAVES, *[["html/body/main[post]/ul[nav]/li/text()"]] * 2)
    listed = trie_of(["html/body/main[post]/ul[nav]/li/text()"])
    assert cosine(layouts.vector(listed), layouts.vector(trie_of(POST_LEAVES))) == 0.0
