"""Pages grouped by the links that lead to them; generic link paths group nothing."""

from __future__ import annotations

import pytest

from linkscore_scoring.clustering.base import OUTLIER
from linkscore_scoring.clustering.others.uxclust import UxClust
from linkscore_scoring.clustering.sample import SamplePage, with_in_links
from linkscore_scoring.features.bags import link_path_id
from linkscore_scoring.features.types import PathTrie
from linkscore_scoring.hashing import hash64

TITLE, USER, MENU = "html/body/ul/li/a[title]", "html/body/p/a[user]", "html/body/div/a[]"
LEAF = PathTrie([-1, 0], ["html", "text()"], ["", ""], [0, 1])


def site(pages: dict[str, list[tuple[str, str]]]) -> list[SamplePage]:
    """Return pages with links (link path, target) under their names."""
    made = [
        SamplePage(
            name, LEAF, [(link_path_id(a), link_path_id(a.partition("[")[0]), hash64(to)) for a, to in links]
        )
        for name, links in pages.items()
    ]
    return with_in_links(made, made)


def groups(pages: list[SamplePage], clusterer: UxClust) -> dict[str, int]:
    return {page.key: int(label) for page, label in zip(pages, clusterer.fit(pages).labels, strict=True)}


PAGES = site(
    {
        "list": [(TITLE, "post-1"), (TITLE, "post-2"), (USER, "ann"), (USER, "bob")],
        "post-1": [(MENU, "list")],
        "post-2": [],
        "ann": [],
        "bob": [],
        "alone": [],
    }
)


def test_targets_of_one_page_under_one_link_path_belong_together() -> None:
    found = groups(PAGES, UxClust(max_share=0.4))
    assert found == {
        "list": OUTLIER,
        "post-1": 0,
        "post-2": 0,
        "ann": 1,
        "bob": 1,
        "alone": OUTLIER,
    }


def test_an_link_path_to_more_than_the_share_of_the_site_joins_nothing() -> None:
    """Two of six URLs are 33 %: refused at the default of 30 %, and so nothing is left but one cluster."""
    clustering = UxClust().fit(PAGES)
    assert clustering.notes == ["no_clusters"]
    assert set(clustering.labels.tolist()) == {0}
    assert UxClust(max_share=2 / 6).fit(PAGES).notes == []


def test_only_the_generic_link_path_is_refused() -> None:
    menu = [(MENU, f"post-{n}") for n in range(1, 5)]
    pages = site(
        {
            "a": [(TITLE, "post-1"), (TITLE, "post-2"), *menu],
            "b": [(USER, "post-3"), (USER, "post-4")],
            **{f"post-{n}": [] for n in range(1, 5)},
            "c": [],
        }
    )
    found = groups(pages, UxClust())
    assert [found[f"post-{n}"] for n in range(1, 5)] == [0, 0, 1, 1]


def test_pages_known_only_as_targets_join_groups() -> None:
    pages = site(
        {
            "a": [(TITLE, "x"), (TITLE, "unseen")],
            "b": [(USER, "unseen"), (USER, "y")],
            **{name: [] for name in ("x", "y", "p", "q", "r")},
        }
    )
    found = groups(pages, UxClust())
    assert found["x"] == found["y"] != OUTLIER


def test_a_new_page_takes_the_cluster_its_link_paths_lead_to_most() -> None:
    model = UxClust(max_share=0.4).fit(PAGES).model
    ways = [
        (1, link_path_id(TITLE)),
        (2, link_path_id(TITLE)),
        (3, link_path_id(USER)),
        (4, link_path_id(MENU)),
    ]
    new = SamplePage("new", LEAF, in_links=ways)
    assert model.classify([new, SamplePage("unlinked", LEAF)]).tolist() == [0, OUTLIER]
    assert model.distances([new])[0] == pytest.approx(1 - 2 / 4)


def test_link_paths_are_named_where_a_page_shows_them(page) -> None:
    shown = SamplePage("list", page("html/body/ul/li/a.title"), PAGES[0].links)
    names = UxClust(max_share=0.4).fit([shown, *PAGES[1:]]).model.path_names()
    assert TITLE in names
    assert f"{link_path_id(USER):016x}" in names


def test_links_of_a_page_to_itself_say_nothing() -> None:
    [linked] = with_in_links([PAGES[1]], [SamplePage("post-1", LEAF, [(1, 1, hash64("post-1"))])])
    assert linked.in_links == PAGES[1].in_links
