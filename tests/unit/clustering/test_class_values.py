"""Families of page-level tokens: values of one variable go, kinds of templates stay."""

from __future__ import annotations

from linkscore_scoring.clustering.base import SamplePage
from linkscore_scoring.clustering.class_paths import class_values
from linkscore_scoring.clustering.cosine_linkage import CosineLinkage


def pages(parent: str, **counts: int) -> list[set[str]]:
    """Return pages of a kind, each with one token of its family."""
    return [{parent, f"{parent}-{name}"} for name, n in counts.items() for _ in range(n)]


def test_a_family_with_a_long_tail_names_things() -> None:
    sample = pages("category", support=10, general=6, rare=1, rarer=2, rarest=1)
    assert {"category-support", "category-general"} <= class_values(sample, 4)


def test_a_short_family_without_a_tail_names_kinds() -> None:
    assert class_values(pages("single", post=10, product=6, event=1, page=2), 4) == frozenset()


def test_tokens_that_come_together_are_no_values_of_one_variable() -> None:
    sample = [{"post", "post-open", f"post-{n % 6}x"} for n in range(12)] + [{"post"}] * 4
    assert class_values(sample, 4) == frozenset()


def test_what_all_pages_of_the_kind_carry_and_numbers_are_not_of_the_family() -> None:
    sample = [held | {"tag-archive", "tag-#"} for held in pages("tag", a=10, b=1, c=1, d=1)]
    assert class_values(sample, 4) == {"tag-a", "tag-b", "tag-c", "tag-d"}


def test_a_token_that_also_stands_alone_is_no_child() -> None:
    sample = [*pages("tag", a=10, b=1, c=1, d=1), {"tag-a"}]
    assert "tag-a" not in class_values(sample, 4)


def test_one_template_stays_one_cluster_whatever_it_shows(page) -> None:
    names = [*["news"] * 8, *["help"] * 8, "art", "law", "sea", "sky"]
    tries = [page(f"html/body.category.category-{name}/div/p/text()") for name in names]
    tries += [page("html/body.author/div/p/text()")] * 8
    labels = CosineLinkage().fit([SamplePage(f"/{i}", trie) for i, trie in enumerate(tries)]).labels
    assert labels.tolist() == [0] * 20 + [1] * 8
