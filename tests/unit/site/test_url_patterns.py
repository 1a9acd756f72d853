"""The URL pattern tree: slots, generalising, ids that stay meaningful, bounds."""

from __future__ import annotations

import pytest

from linkscore_scoring.site.url_patterns import ROOT, UrlPatternParams, UrlPatterns
from linkscore_scoring.site.url_tokens import url_tokens, wildcard_of


def _tree(*urls: str, **params: int) -> UrlPatterns:
    tree = UrlPatterns(UrlPatternParams(**params))
    for url in urls:
        tree.insert(url)
    return tree


def _slugs(n: int, at: str = "http://a.org/tag/") -> list[str]:
    return [f"{at}{chr(97 + i % 26)}{'z' * (i // 26)}x" for i in range(n)]


def test_slots_of_a_url_go_from_host_to_sorted_query_values() -> None:
    assert url_tokens("http://A.org/x/12/?q=z&p=3") == ["a.org", "/x", "/#", "/", "?p&q", "p=#", "q=z"]


def test_deep_paths_and_broken_urls_still_have_slots() -> None:
    assert url_tokens("http://a.org" + "/d" * 40)[-1] == "/**"
    assert url_tokens("http://[broken/9") == ["http://[broken/#"]


@pytest.mark.parametrize(
    ("token", "wildcard"),
    [("/post", "/*"), ("/post.html", "/*.html"), ("q=z", "q=*"), ("?p&q", "?*"), ("a.org", "*")],
)
def test_wildcards_keep_the_kind_of_slot(token, wildcard) -> None:
    assert wildcard_of(token) == wildcard


def test_few_values_stay_literal() -> None:
    tree = _tree("http://a.org/tag/kde", "http://a.org/tag/qt")
    assert tree.pattern("http://a.org/tag/kde") == "a.org/tag/kde"


def test_numbers_are_one_pattern_from_the_start() -> None:
    tree = _tree("http://a.org/topic.php?t=1&f=2")
    assert tree.pattern("http://a.org/topic.php?f=77&t=78") == "a.org/topic.php?f&t f=# t=#"


def test_slot_with_many_values_becomes_a_wildcard() -> None:
    tree = _tree(*_slugs(9))
    assert tree.pattern("http://a.org/tag/never-seen") == "a.org/tag/*"
    assert tree.count(tree.levels("http://a.org/tag/never-seen")[-1]) == 9


def test_frequent_values_stay_literal_in_a_variable_slot() -> None:
    tree = _tree(*[f"http://a.org/tag/{i}" for i in range(20)], *_slugs(30, "http://a.org/"))
    assert tree.pattern("http://a.org/tag/5") == "a.org/tag/#"
    assert tree.pattern("http://a.org/some-post") == "a.org/*"


def test_section_met_late_gets_its_own_pattern() -> None:
    tree = _tree(*_slugs(30, "http://a.org/"), *[f"http://a.org/user/{i}" for i in range(30)])
    assert tree.pattern("http://a.org/user/5") == "a.org/user/#"


def test_levels_go_from_the_root_to_the_finest_pattern() -> None:
    tree = _tree("http://a.org/x/1")
    levels = tree.levels("http://a.org/x/2")
    assert [tree.text(i) for i in levels] == ["", "a.org", "a.org/x", "a.org/x/#"]
    assert [tree.count(i) for i in levels] == [1, 1, 1, 1]


def test_old_ids_resolve_to_the_pattern_that_covers_them_now() -> None:
    tree = UrlPatterns()
    ids = {url: tree.insert(url) for url in _slugs(12)}
    for url, old in ids.items():
        assert tree.resolve(old) == tree.levels(url)[-1]
        assert tree.text(old) == "a.org/tag/*"


def test_subtrees_are_merged_with_their_counts() -> None:
    tree = UrlPatterns()
    ids = [tree.insert(f"{url}/page/{i}") for i, url in enumerate(_slugs(9, "http://a.org/"))]
    assert {tree.text(i) for i in ids} == {"a.org/*/page/#"}
    assert tree.count(ids[0]) == 9


def test_many_key_sets_become_one_pattern_without_values() -> None:
    tree = _tree(*[f"http://a.org/s?k{chr(97 + i)}=v&z=1" for i in range(12)])
    assert tree.pattern("http://a.org/s?other=9") == "a.org/s?*"
    assert tree.text(tree.insert("http://a.org/s?more=1")) == "a.org/s?*"


def test_unknown_urls_match_as_far_as_they_are_known() -> None:
    tree = _tree("http://a.org/x/1")
    assert tree.pattern("http://a.org/y") == "a.org"
    assert tree.pattern("http://b.org/") == ""
    assert tree.resolve(12345) == ROOT


def test_full_tree_stops_growing_and_still_answers() -> None:
    tree = _tree(
        *[f"http://a.org/{chr(97 + i)}/{chr(97 + j)}" for i in range(8) for j in range(8)], max_nodes=20
    )
    assert len(tree) <= 20
    assert tree.pattern("http://a.org/h/h") == "a.org"
