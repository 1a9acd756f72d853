"""The rarity filter of class-aware paths and the numbers it keeps."""

from __future__ import annotations

import numpy as np
import pytest

from linkscore_scoring.clustering.class_paths import (
    PathNodes,
    class_values,
    explained_share,
    fit_class_paths,
    readable,
    template_numbers,
)
from linkscore_scoring.clustering.cosine_linkage import CosineLinkage


def _printed(bag: dict[str, int]) -> dict[str, int]:
    return {readable(path): leaves for path, leaves in bag.items()}


def test_page_unique_tokens_are_dropped_and_frequent_ones_stay(page) -> None:
    names = "abcdef"
    tries = [page(f"html/body.post.page-{name}/text()") for name in names]
    _, bags = fit_class_paths(tries)
    assert all(_printed(bag) == {"html/body.post/text()": 1} for bag in bags)


def test_digit_runs_become_one_token(page) -> None:
    _, bags = fit_class_paths([page(f"html/body.postid-{i}/text()") for i in range(6)])
    assert _printed(bags[0]) == {"html/body.postid-#/text()": 1}


def test_rare_path_loses_its_rarest_token_until_it_is_frequent(page) -> None:
    tries = [page("html/div.x/text()", "html/p.y/img")] * 6 + [
        page("html/div.x.y/text()", "html/p.y/img")
    ] * 2
    _, bags = fit_class_paths(tries)
    # x and y are on 8 pages each: x goes first, by alphabet; html/div.y is on 2 pages only, so y goes too
    assert "html/div/text()" not in _printed(bags[0])
    assert _printed(bags[7]) == {"html/div/text()": 1, "html/p.y/img": 1}


def test_pages_of_a_rare_path_count_for_its_shorter_form(page) -> None:
    tries = [page("html/div.x/text()")] * 3 + [page("html/div.x.y/text()", "html/p.y/img")] * 3
    tries += [page("html/i.x/img")] * 2
    learned, bags = fit_class_paths(tries)
    assert "html/div.x/text()" in _printed(bags[0])
    assert "html/div.x/text()" in _printed(bags[3])
    assert PathNodes(learned.element, learned.settle).bag(tries[3]) == bags[3]


def test_new_page_is_filtered_like_the_sample(page) -> None:
    learned, _ = fit_class_paths([page("html/body.post/text()")] * 5)
    fresh = PathNodes(learned.element, learned.settle).bag(page("html/body.post.fresh-9/text()"))
    assert _printed(fresh) == {"html/body.post/text()": 1}


def test_numbers_that_explain_layout_are_kept(page) -> None:
    tries = [page("html/body.ns-1/ul/li/a", "html/body.ns-1/h1/text()")] * 6
    tries += [page("html/body.ns-2/p/text()", "html/body.ns-2/h1/text()")] * 6
    assert template_numbers(tries, 4) == {"ns-1", "ns-2"}


def test_numbers_of_things_are_folded(page) -> None:
    same_layout = [page(f"html/body.cat-{i % 2}/p/text()", "html/h1/text()") for i in range(12)]
    long_tail = [page(f"html/body.post-{i}/p/text()") for i in range(12)]
    several = [page("html/body/i.s-1/img", "html/body/i.s-2/img", *["html/p/a"] * (i % 2)) for i in range(12)]
    for tries in (same_layout, long_tail, several):
        assert template_numbers(tries, 4) == frozenset()


def test_explained_share_is_one_for_pure_groups_and_near_zero_for_random_ones() -> None:
    rows = np.array([[1.0, 0.0]] * 5 + [[0.0, 1.0]] * 5)
    assert explained_share(rows, [range(5), range(5, 10)]) == pytest.approx(1.0)
    assert explained_share(rows, [range(0, 10, 2), range(1, 10, 2)]) < 0.1
    assert explained_share(rows[:5], [range(2), range(2, 5)]) == 0.0


def pages(parent: str, **counts: int) -> list[set[str]]:
    """Return pages of a kind, each with one token of its family."""
    return [{parent, f"{parent}-{name}"} for name, n in counts.items() for _ in range(n)]


def test_a_family_with_a_long_tail_names_things() -> None:
    sample = pages("category", support=10, general=6, rare=1, rarer=2, rarest=1)
    assert {"category-support", "category-general"} <= class_values(sample, 4)


def test_a_short_family_without_a_tail_names_kinds() -> None:
    assert class_values(pages("single", post=10, product=6, event=1, page=2), 4) == frozenset()


def test_what_all_pages_of_the_kind_carry_and_numbers_are_not_of_the_family() -> None:
    sample = [held | {"tag-archive", "tag-#"} for held in pages("tag", a=10, b=1, c=1, d=1)]
    assert class_values(sample, 4) == {"tag-a", "tag-b", "tag-c", "tag-d"}


def test_one_template_stays_one_cluster_whatever_it_shows(page) -> None:
    names = [*["news"] * 8, *["help"] * 8, "art", "law", "sea", "sky"]
    tries = [page(f"html/body.category.category-{name}/div/p/text()") for name in names]
    tries += [page("html/body.author/div/p/text()")] * 8
    labels = CosineLinkage().fit(tries).labels
    assert labels.tolist() == [0] * 20 + [1] * 8
