"""Whatever a page links to, page links and their lists are told without a failure."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from linkscore_scoring.pagination.anchors import LAST, NO_PAGE_LINK
from linkscore_scoring.pagination.page_links import find_page_links
from linkscore_scoring.urls.session_ids import SessionIds

PARTS = st.sampled_from(
    [
        "/t",
        "/7",
        "-2",
        "/page",
        "/2",
        "?id=7",
        "&page=",
        "&start=",
        "15",
        "30",
        ";s=",
        "%C3%A9",
        "é",
        "[",
        ".html",
        "#",
        ",",
    ]
)
URLS = st.lists(PARTS, max_size=8).map(lambda parts: "http://f.org/" + "".join(parts))
ANCHORS = st.one_of(
    st.sampled_from(["1", "2", "3", "Next", "«", ">|", "", "Last 12", "21-40", "次のページ", "#3"]),
    st.text(max_size=12),
)
LINKS = st.lists(st.tuples(URLS, ANCHORS), max_size=25)


@given(URLS, LINKS)
def test_every_link_has_a_kind(page: str, links: list[tuple[str, str]]):
    urls, anchors = [url for url, _ in links], [anchor for _, anchor in links]
    kinds = find_page_links(page, urls, anchors)
    assert len(kinds) == len(links)
    assert all(NO_PAGE_LINK <= kind <= LAST for kind in kinds)


@given(URLS, st.lists(URLS, max_size=20), URLS)
def test_taking_session_ids_out_twice_changes_nothing_more(page: str, links: list[str], url: str):
    ids = SessionIds()
    ids.observe(page, links)
    assert ids.strip(ids.strip(url)) == ids.strip(url)
