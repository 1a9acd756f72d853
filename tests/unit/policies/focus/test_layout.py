"""Signals of pages are read where they are asked for, whatever was read before, and go through the log."""

from __future__ import annotations

import pytest

from linkscore_scoring.engine.events import PageFetched, decode, encode
from linkscore_scoring.features.html import Extractor, extract
from linkscore_scoring.features.layout.signals import SIGNALS

URL = "http://a.test/board"


def read(body: str) -> dict[str, float]:
    page = extract(body.encode(), url=URL, content_type="text/html; charset=utf-8", layout=True)
    assert page.layout is not None
    return dict(zip(SIGNALS, page.layout, strict=True))


def row(n: int, css: str = "row") -> str:
    return (
        f'<li class="{css}"><div class="title"><a href="/t/{n}">A long title of thread {n}</a></div>'
        f'<div class="by"><a class="user u{n}" href="/user/{n % 2}">user</a> 2024-01-{n:02}</div></li>'
    )


def board(*rows: str) -> str:
    menu = '<ul class="nav"><li><a href="/">Home</a></li></ul>'
    return f'<body>{menu}<ul class="list">{"".join(rows)}</ul></body>'


def n_records(found: dict[str, float]) -> int:
    return round(2.718281828459045 ** found["records"] - 1)


@pytest.mark.parametrize("layout", [False, True])
def test_a_page_is_the_same_after_bytes_with_layout_or_without(layout: bool) -> None:
    page = extract(board(row(1), row(2)).encode(), url=URL, layout=layout)
    assert (page.layout is not None) == layout
    event = PageFetched("", "a.test", page.url, page.key, 200, "", b"", 0.0, page)
    assert decode(encode(event)) == event


def test_marks_of_single_records_do_not_split_a_region() -> None:
    found = read(board(row(1, "row odd"), row(2, "row even sticky"), row(3, "row odd"), row(4, "row")))
    assert n_records(found) == 4
    assert found["has_time"] == 1.0


def test_sections_of_rows_are_one_region_and_their_rows_its_records() -> None:
    sections = "".join(
        f'<div class="cat"><h3>Category</h3><ul class="list">{row(2 * n)}{row(2 * n + 1)}</ul></div>'
        for n in range(1, 4)
    )
    assert n_records(read(f"<body>{sections}</body>")) == 6


def test_a_post_is_a_record_not_its_paragraphs() -> None:
    posts = "".join(
        f'<div class="post"><div class="head"><a href="/user/{n}">user</a> 2024-01-0{n}</div>'
        f'<div class="text"><p>{"Some words. " * 9}<p>{"More words. " * 9}</div></div>'
        for n in range(1, 4)
    )
    assert n_records(read(f"<body>{posts}</body>")) == 3


def test_a_list_in_a_sidebar_is_not_the_main_region() -> None:
    side = "".join(f"<li><a href=/s/{n}>a recent title</a> by somebody</li>" for n in range(4))
    rows = "".join(row(n) for n in range(1, 7))
    assert n_records(read(f'<body><ul>{rows}</ul><div class="sidebar"><ul>{side}</ul></div></body>')) == 6


def test_very_deep_and_very_wide_pages_are_read() -> None:
    read("<div>" * 5_000 + '<a href="/x">x</a>')
    assert n_records(read("<ul>" + "".join(row(n % 28 + 1) for n in range(3_000)) + "</ul>")) == 200


def test_a_page_without_anything_has_all_signals() -> None:
    assert not any(read("<div></div>").values())


def test_what_was_read_before_changes_nothing() -> None:
    extractor = Extractor()
    bodies = [board(row(1), row(2), row(3)).encode(), b"<p>text</p>", board(row(4)).encode()]
    once = [extractor.extract(body, url=URL, layout=True) for body in bodies]
    assert [extractor.extract(body, url=URL, layout=True) for body in bodies] == once
