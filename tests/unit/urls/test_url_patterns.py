"""The URL pattern tree: slots, generalising, ids that stay meaningful, bounds."""

from __future__ import annotations

import pytest

from linkscore_scoring.urls.pattern_tree import ROOT, UrlPatternParams, UrlPatterns, url_tokens, wildcard_of


def _tree(*urls: str, **params: int) -> UrlPatterns:
    tree = UrlPatterns(UrlPatternParams(**params))
    for url in urls:
        tree.insert(url)
    return tree


def _pattern(tree: UrlPatterns, url: str) -> str:
    return tree.text(tree.finest(url))


def _slugs(n: int, at: str = "http://a.org/tag/") -> list[str]:
    return [f"{at}{chr(97 + i % 26)}{'z' * (i // 26)}x" for i in range(n)]


@pytest.mark.parametrize(
    ("url", "slots"),
    [
        ("http://A.org/x/12/?q=z&p=3", ["a.org", "/x", "/#", "/", "?p&q", "p=#", "q=z"]),
        ("http://w.org/wiki/User%3AAnn9", ["w.org", "/wiki", "/User", ":Ann#"]),
        ("http://h/3/group_io_9.html", ["h", "/#", "/group_", ":io_#.html"]),
        ("http://w.org/at/12:30", ["w.org", "/at", "/#:#"]),
        ("http://[broken/9", ["[broken", "/#"]),
        ("no url 9", ["no url #"]),
        ("https://H:80", ["h:80"]),
        ("http://h?q=1&p=x", ["h", "?p&q", "p=x", "q=#"]),
        ("http://h/a?b=/c?d", ["h", "/a", "?b", "b=/c?d"]),
        ("http://h/a#b?c", ["h", "/a"]),
        ("http://h" + "/d" * 40, ["h", *["/d"] * 12, "/**"]),
        ("http://h/evt/e/7/e7cbd87ba505.html", ["h", "/evt", "/*", "/*", "/e#cbd#ba#.html"]),
        ("http://h/2026/9/7/t/u", ["h", "/#", "/#", "/#", "/t", "/u"]),
    ],
)
def test_slots_go_from_host_to_sorted_query_values(url: str, slots: list[str]) -> None:
    assert url_tokens(url) == slots


@pytest.mark.parametrize(
    ("token", "wildcard"),
    [("/post", "/*"), ("/post.html", "/*.html"), ("q=z", "q=*"), ("?p&q", "?*"), ("a.org", "*")],
)
def test_wildcards_keep_the_kind_of_slot(token: str, wildcard: str) -> None:
    assert wildcard_of(token) == wildcard


SECTIONS = _slugs(30, "http://a.org/")
FULL = [f"http://a.org/{chr(97 + i)}/{chr(97 + j)}" for i in range(8) for j in range(8)]


@pytest.mark.parametrize(
    ("urls", "asked", "pattern"),
    [
        (["http://a.org/tag/kde", "http://a.org/tag/qt"], "/tag/kde", "a.org/tag/kde"),  # few stay literal
        (["http://a.org/topic.php?t=1&f=2"], "/topic.php?f=77&t=78", "a.org/topic.php?f&t f=# t=#"),
        (_slugs(9), "/tag/never-seen", "a.org/tag/*"),
        ([*[f"http://a.org/tag/{i}" for i in range(20)], *SECTIONS], "/tag/5", "a.org/tag/#"),  # frequent
        ([*SECTIONS, *[f"http://a.org/user/{i}" for i in range(30)]], "/user/5", "a.org/user/#"),  # met late
        ([f"http://a.org/s?k{chr(97 + i)}=v&z=1" for i in range(12)], "/s?other=9", "a.org/s?*"),
        ([f"{url}/page/{i}" for i, url in enumerate(SECTIONS[:9])], "/q/page/7", "a.org/*/page/#"),
        (["http://a.org/x/1"], "/y", "a.org"),
    ],
)
def test_a_url_has_the_finest_pattern_that_is_known(urls: list[str], asked: str, pattern: str) -> None:
    assert _pattern(_tree(*urls), f"http://a.org{asked}") == pattern


def test_a_full_tree_stops_growing_and_still_answers() -> None:
    tree = _tree(*FULL, max_nodes=20)
    assert (len(tree) <= 20, _pattern(tree, "http://a.org/h/h")) == (True, "a.org")
    assert (_pattern(tree, "http://b.org/"), tree.resolve(12345)) == ("", ROOT)


def test_urls_found_together_have_the_pattern_that_they_form_together() -> None:
    urls = [*_slugs(9), "http://a.org/help", "http://a.org/list?sort=new"]
    together, one_by_one = _tree(), _tree(*urls)
    assert together.insert_all(urls) == [one_by_one.finest(url) for url in urls]
    assert len(set(together.insert_all(_slugs(3, "http://a.org/tag/q")))) == 1


def test_old_ids_resolve_to_the_pattern_that_covers_them_now() -> None:
    tree = UrlPatterns()
    ids = {url: tree.insert(url) for url in _slugs(12)}
    for url, old in ids.items():
        assert tree.resolve(old) == tree.finest(url)
        assert tree.text(old) == "a.org/tag/*"


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
    assert _pattern(tree, f"http://a.org/shop/{names[0]}") == f"a.org/shop/{names[0]}"
    assert tree.could_be_one(f"http://a.org/shop/{names[0]}", f"http://a.org/shop/{names[1]}")
    assert tree.could_be_one(f"http://a.org/shop/{names[0]}/", f"http://a.org/shop/{names[1]}/")
    assert tree.could_be_one(
        f"http://a.org/shop/{names[0]}?sort=date", f"http://a.org/shop/{names[1]}?sort=date"
    )
    assert not tree.could_be_one(f"http://a.org/shop/{names[0]}", f"http://a.org/shop/{names[1]}?sort=date")


def _names(n: int) -> list[str]:
    return [f"{chr(97 + i % 26)}{chr(97 + i // 26)}z" for i in range(n)]
