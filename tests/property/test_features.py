"""Features of any input: no unexpected error, and the answers of the libraries they are faster than."""

from __future__ import annotations

import re
from html import unescape

from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from linkscore_scoring.errors import InvalidPage
from linkscore_scoring.features.html import Extractor, extract
from linkscore_scoring.features.types import Limits, PageFeatures
from linkscore_scoring.features.walk import SKIPPED_TAGS, cut_tags, unescaped

URL = "http://example.org/dir/page.html"
URL_CHARS = "ab1A./?&=%;:@+-_~#!$'()*,[]|\\ é\t2Ff"
PIECES = [
    "<p>", "</p>", "<div class='a b1'>", "</div>", "<a href='x'>", "<a href=\"/y?b=1&amp;a=2\">", "</a>",
    "text ", "<img alt=q>", "<br>", "&lt;", "&amp;", "<script>", "</script>", "<table><tr><td>",
    "</table>", "<", ">",
    "'", '"', "é", "\x00", "\n", "<!--", "-->", "<base href=/z/>", "<head>", "</head>", "<body>", "</html>",
    "<p <", "<x<y>", "<![CDATA[", "<?pi", "<svg:a>", "/>", "</",
]  # fmt: skip

hosts = st.sampled_from(
    ["a.test", "A.test", "a.test:80", "a.test:8080", "u@a.test", "[::1]", "a-b.c1.test", "a..b", ""]
)
tails = st.text(alphabet=URL_CHARS, max_size=25)
urls = st.builds("{}://{}/{}".format, st.sampled_from(["http", "https", "HTTP", "ftp"]), hosts, tails)
markups = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


def problem_field(body: bytes, url: str, content_type: str) -> str:
    """Return the field that makes a page unusable, empty if it is usable."""
    try:
        extract(body, url=url, content_type=content_type)
    except InvalidPage as error:
        return error.problems[0].field
    return ""


@given(
    st.lists(st.sampled_from([*PIECES, "&#1;", "&#xD800;", "&#38;", "lt;", "&nbsp", "\x02", "&#", "\ufffd"]))
)
def test_escapes_of_a_parsed_page_are_undone_as_html_says(pieces: list[str]) -> None:
    root = Extractor()._parse("".join(pieces).encode(), PageFeatures(URL, URL))
    if root is None:
        return
    etree.strip_elements(root, *SKIPPED_TAGS, with_tail=False)
    for piece in cut_tags(etree.tostring(root, encoding="unicode"), Limits())[0]:
        for escaped in (piece.split(">")[1], *re.findall('="([^"]*)"', piece)):
            assert unescaped(escaped) == unescape(escaped)


@given(
    st.binary(max_size=300),
    st.sampled_from(["", "text/html", "text/html; charset=utf-16", "text/html;charset=x"]),
)
def test_no_bytes_make_extraction_fail(body: bytes, content_type: str) -> None:
    assert problem_field(body, URL, content_type) in {"", "body"}


@given(markups)
def test_columns_of_any_page_fit_together(markup: str) -> None:
    found = extract(markup.encode(), url=URL, content_type="text/html")
    paths, links = found.paths, found.links
    assert len(paths.parents) == len(paths.tags) == len(paths.classes) == len(paths.leaves)
    assert all(-1 <= parent < node for node, parent in enumerate(paths.parents))
    assert len(set(zip(paths.parents, paths.tags, paths.classes, strict=True))) == len(paths.tags)
    assert (
        len(links.urls) == len(links.keys) == len(links.anchors) == len(links.link_paths) == len(links.rels)
    )
    assert all(0 <= link_path < len(links.link_path_table) for link_path in links.link_paths)
    assert len(found.block_hashes) == len(found.block_chars)
