"""Layouts are measured where they are asked for, and go through the log."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkscore_lab.replay.prepare import SiteSource, prepare_site
from linkscore_scoring.engine.events import PageFetched, decode, encode
from linkscore_scoring.features.html import extract
from linkscore_scoring.features.types import Limits
from linkscore_server.services.pages import PageParser, ParseOptions
from support.replay_sites import shop
from support.small_site import HOST, page

BODY = b"<ul><li><a href=/a>one</a> text<li><a href=/b>two</a> text<li><a href=/c>three</a> text</ul>"


@pytest.mark.parametrize("layout", [False, True])
def test_a_page_is_the_same_after_bytes_with_layout_or_without(layout: bool) -> None:
    page = extract(BODY, url="http://a.test/", layout=layout)
    assert (page.layout is not None) == layout
    event = PageFetched("", "a.test", page.url, page.key, 200, "", b"", 0.0, page)
    assert decode(encode(event)) == event


def test_a_page_has_its_layout_if_that_is_asked_for() -> None:
    parser = PageParser(Limits(), lambda: 1e9)
    options = (ParseOptions(layout=layout) for layout in (False, True))
    plain, read = (parser.event(page(0), lambda _: HOST, one).features for one in options)
    assert plain.layout is None
    assert len(read.layout.groups) == len(read.links) == 13


def test_pages_of_an_archive_have_their_layout_if_that_is_asked_for(tmp_path: Path) -> None:
    warc, _ = shop(tmp_path)
    for layout in (False, True):
        with prepare_site([SiteSource([warc])], workers=1, layout=layout) as site:
            events = [site.event(n) for n in site.reachable()]
            assert {event.features.layout is not None for event in events} == {layout}
