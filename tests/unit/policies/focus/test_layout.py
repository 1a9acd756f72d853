"""Signals of small pages, by hand; they are the same whatever was read before, and go through the log."""

from __future__ import annotations

from math import log1p

import pytest

from linkscore_scoring.engine.events import PageFetched, decode, encode
from linkscore_scoring.features.html import Extractor, extract
from linkscore_scoring.features.layout import SIGNALS

URL = "http://a.test/page"
LONG = "Words that go on for longer than a line of text would, so that this counts as long text."  # 88


def signals(body: str, url: str = URL) -> dict[str, float]:
    page = extract(
        f"<body>{body}</body>".encode(), url=url, content_type="text/html; charset=utf-8", layout=True
    )
    assert page.layout is not None
    return dict(zip(SIGNALS, page.layout, strict=True))


INDEX = (
    "<h1>Board</h1><ul>"
    "<li><div><a href=/t/3>The third thread</a></div><p>Ann 2024-01-03</p></li>"
    "<li><div><a href=/t/2>The second one</a></div><p>Bob 2024-01-02</p></li>"
    "<li><div><a href=/t/1>The first thread</a></div><p>yesterday</p></li></ul>"
)
THREAD = (
    "<h1>The third thread</h1>"
    f"<div class=post id=p1><a href=/user/1>Ann</a> <a href='#p1'>2024-01-03</a><div>{LONG}</div></div>"
    f"<div class=post id=p2><a href=/user/2>Bob</a> <a href='#p2'>4 January 2024</a><div>{LONG}</div></div>"
)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            INDEX,
            {
                "time_with_headline": 3 / 4,
                "time_with_text": 0,
                "unlinked_headings": log1p(1),
            },
        ),
        (
            THREAD,
            {
                "time_with_headline": 0,
                "time_with_text": 2 / 3,
                "time_with_inner": 2 / 3,
            },
        ),
        (f"<h1>Title of this page</h1><p>{LONG}</p>", {"unlinked_headings": log1p(1)}),
        (INDEX, {"unlinked_headings": log1p(1), "linked_heading_share": 0}),
        ("<p>3 replies</p><a href=/r>Reply</a>", {"actions": log1p(1), "counts": log1p(1)}),
        (f"<nav><a href=/1>Reply</a></nav><p>{LONG * 9}</p>", {"actions": 0}),
        (f"<div class=sidebar><p><a href=/x>Reply</a>{LONG}</p></div>", {"actions": log1p(1)}),
    ],
)
def test_signals_by_hand(body: str, said: dict[str, float]) -> None:
    found = signals(body)
    assert {name: found[name] for name in said} == said


@pytest.mark.parametrize("layout", [False, True])
def test_a_page_is_the_same_after_bytes_with_layout_or_without(layout: bool) -> None:
    page = extract(INDEX.encode(), url=URL, layout=layout)
    assert (page.layout is not None) == layout
    event = PageFetched("", "a.test", page.url, page.key, 200, "", b"", 0.0, page)
    assert decode(encode(event)) == event


def test_any_page_has_all_signals_and_what_was_read_before_changes_nothing() -> None:
    assert not any(signals("<div></div>").values())
    bodies = [INDEX.encode(), b"<p>text</p>", b"<div>" * 5_000 + b'<a href="/x">x</a>', THREAD.encode()]
    extractor = Extractor()
    once = [extractor.extract(body, url=URL, layout=True) for body in bodies]
    assert [extractor.extract(body, url=URL, layout=True) for body in bodies] == once


DATES = ("2024-01-03", "3. Februar 2024", "Jan 3rd, 2024", "12:30", "an hour ago", "vor 3 Tagen")


@pytest.mark.parametrize("text", [*DATES, "2024", "3 replies", "the page of today's paper" * 6])
def test_times_are_told_from_other_texts(text: str) -> None:
    said = signals(f"<div><p>{LONG}</p><span>{text}</span></div>")["time_with_text"]
    assert said == 0.5 * (text in DATES)
