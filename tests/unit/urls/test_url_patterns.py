"""The URL pattern tree: slots, generalising, ids that stay meaningful, bounds."""

from __future__ import annotations

import pytest

from linkscore_scoring.urls.pattern_tree import ROOT, UrlPatternParams, UrlPatterns, url_tokens, wildcard_of


def _tree(*urls: str, **params: int) -> UrlPatterns:
    tree = UrlPatterns(UrlPatternParams(**params))
    for url in urls:
        tree.insert(url)
    return tree


def _slugs(n: int, at: str = "http://a.org/tag/") -> list[str]:
    return [f"{at}{chr(97 + i % 26)}{'z' * (i // 26)}x" for i in range(n)]


def test_slots_of_a_url_go_from_host_to_sorted_query_values() -> None:
    assert url_tokens("http://A.org/x/12/?q=z&p=3") == ["a.org", "/x", "/#", "/", "?p&q", "p=#", "q=z"]


def test_namespaces_of_wikis_are_slots_of_their_own() -> None:
    assert url_tokens("http://w.org/wiki/User%3AAnn9")[1:] == ["/wiki", "/User", ":Ann#"]
    assert url_tokens("http://w.org/at/12:30")[1:] == ["/at", "/#:#"]


def test_deep_paths_and_broken_urls_still_have_slots() -> None:
    assert url_tokens("http://a.org" + "/d" * 40)[-1] == "/**"
    assert url_tokens("http://[broken/9") == ["[broken", "/#"]
    assert url_tokens("no url 9") == ["no url #"]


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


def test_urls_found_together_have_the_pattern_that_they_form_together() -> None:
    urls = [*_slugs(9), "http://a.org/help", "http://a.org/list?sort=new"]
    together, one_by_one = _tree(), _tree(*urls)
    assert together.insert_all(urls) == [one_by_one.levels(url)[-1] for url in urls]
    assert len(set(together.insert_all(_slugs(3, "http://a.org/tag/q")))) == 1


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


def test_the_patterns_above_one_are_its_sections_without_the_host() -> None:
    tree = UrlPatterns()
    page = tree.insert("http://a.org/questions/hot?start=20")
    assert [tree.text(i) for i in tree.above(page)] == [
        "a.org/questions",
        "a.org/questions/hot",
        "a.org/questions/hot?start",
    ]
    assert tree.above(ROOT) == []


def test_two_urls_could_be_of_one_pattern_before_the_tree_knows_it() -> None:
    tree = UrlPatterns()
    assert tree.could_be_one("http://a.org/tag/kde", "http://a.org/tag/qt")
    assert tree.could_be_one("http://a.org/t?id=1", "http://a.org/t?id=2")
    assert not tree.could_be_one("http://a.org/t?id=1", "http://a.org/t?post=2")
    assert not tree.could_be_one("http://a.org/tag/kde", "http://a.org/tag/12")
    assert not tree.could_be_one("http://a.org/user/kde", "http://a.org/user/kde/wall")


def test_frequent_values_of_a_variable_slot_part_urls() -> None:
    tree = _tree(
        *[f"http://a.org/{name}" for name in _names(40)], *[f"http://a.org/cat/{n}x" for n in _names(40)]
    )
    assert tree.could_be_one("http://a.org/quick", "http://a.org/brown")
    assert not tree.could_be_one("http://a.org/cat/ax", "http://a.org/dog/ax")


def test_a_frequent_last_name_is_a_page_with_variants_and_no_section() -> None:
    names = _names(20)
    variants = [f"http://a.org/shop/{names[0]}?sort={key}" for key in ("price", "name", "date", "stock")]
    tree = _tree(*variants, *[f"http://a.org/shop/{name}" for name in names])
    assert tree.pattern(f"http://a.org/shop/{names[0]}") == f"a.org/shop/{names[0]}"
    assert tree.could_be_one(f"http://a.org/shop/{names[0]}", f"http://a.org/shop/{names[1]}")
    assert tree.could_be_one(f"http://a.org/shop/{names[0]}/", f"http://a.org/shop/{names[1]}/")
    assert tree.could_be_one(
        f"http://a.org/shop/{names[0]}?sort=date", f"http://a.org/shop/{names[1]}?sort=date"
    )
    assert not tree.could_be_one(f"http://a.org/shop/{names[0]}", f"http://a.org/shop/{names[1]}?sort=date")


def _names(n: int) -> list[str]:
    return [f"{chr(97 + i % 26)}{chr(97 + i // 26)}z" for i in range(n)]
