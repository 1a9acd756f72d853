"""Links that a crawler found itself take their places from the page they were found on."""

import pytest

from linkscore_scoring.features.given_links import ExtractedLink, with_links
from linkscore_scoring.features.html import extract
from linkscore_scoring.features.types import Limits, Links

BODY = b"""<body><p>A text of more than twenty-five characters stands before the list.</p>
<ul class=list><li><a href="/t/1">First</a><li><a href="/t/2" rel="next">Second</a></ul>
<div><a href="/t/1#last">Last post</a> <a href="/q?b=2&amp;a=1">Query</a> <a href="/x/../y">Dots</a></div>"""
LIST, DIV = "html/body/ul/li/a[]", "html/body/div/a[]"


def given(*links: ExtractedLink, body: bytes = BODY) -> Links:
    page = extract(body, url="http://a.example/", content_type="text/html")
    return with_links(page, links, limits=Limits()).links


def paths(links: Links) -> list[str]:
    return [links.link_path_table[row] for row in links.link_paths]


def test_links_without_a_path_have_that_of_their_anchor_in_the_order_of_the_crawler() -> None:
    links = given(ExtractedLink("/q?b=2&a=1"), ExtractedLink("http://a.example/t/2"))
    assert links.urls == ["http://a.example/q?b=2&a=1", "http://a.example/t/2"]
    assert paths(links) == [DIV, LIST]
    assert links.anchors == ["Query", "Second"]
    assert links.rels == ["", "next"]
    assert links.blocks_before == [1, 1]


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("http://A.example:80/t/2", LIST),
        ("http://a.example/t/2#top", LIST),
        ("http://a.example/q?a=1&b=2", DIV),
        ("http://a.example/y", DIV),
        ("http://a.example/x/../t/2", LIST),
        ("http://a.example/nowhere", ""),
        ("https://a.example/t/2", ""),
    ],
)
def test_other_spellings_of_a_url_find_their_anchor(url: str, path: str) -> None:
    assert paths(given(ExtractedLink(url))) == [path]


def test_the_anchor_text_says_which_anchor_is_meant() -> None:
    links = given(ExtractedLink("/t/1", " Last\n post "), ExtractedLink("/t/1", "First"))
    assert paths(links) == [DIV, LIST]
    assert links.anchors == ["Last post", "First"]


def test_what_the_crawler_says_itself_stands() -> None:
    links = given(
        ExtractedLink("/t/1", "My text", "html/body/b/a", "nofollow"), ExtractedLink("/t/2", "Mine")
    )
    assert paths(links) == ["html/body/b/a", LIST]
    assert links.anchors == ["My text", "Mine"]
    assert links.rels == ["nofollow", "next"]


def test_rows_keep_step_with_links_that_name_no_page() -> None:
    links = given(ExtractedLink("mailto:a@b.c"), ExtractedLink("/t/2"), ExtractedLink("#top"))
    assert links.urls == ["", "http://a.example/t/2", ""]
    assert paths(links) == ["", LIST, ""]
    assert links.skipped == {"scheme": 1, "fragment": 1}
