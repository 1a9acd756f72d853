"""Signals of small pages, worked out by hand."""

from __future__ import annotations

from math import log1p

import pytest

from linkscore_scoring.features.html import extract
from linkscore_scoring.features.layout.signals import SIGNALS

URL = "http://a.test/page"
LONG = "Words that go on for longer than a line of text would, so that this counts as long text."  # 88


def signals(body: str, url: str = URL) -> dict[str, float]:
    page = extract(
        f"<body>{body}</body>".encode(), url=url, content_type="text/html; charset=utf-8", layout=True
    )
    assert page.layout is not None
    return dict(zip(SIGNALS, page.layout, strict=True))


INDEX = signals(
    "<h1>Board</h1><ul>"
    "<li><div><a href=/t/3>The third thread</a></div><p>Ann 2024-01-03</p></li>"
    "<li><div><a href=/t/2>The second one</a></div><p>Bob 2024-01-02</p></li>"
    "<li><div><a href=/t/1>The first thread</a></div><p>Ann 2024-01-01</p></li></ul>"
)
THREAD = signals(
    "<h1>The third thread</h1>"
    f"<div class=post id=p1><a href=/user/1>Ann</a> <a href='#p1'>2024-01-03</a><div>{LONG}</div></div>"
    f"<div class=post id=p2><a href=/user/2>Bob</a> <a href='#p2'>2024-01-04</a><div>{LONG}</div></div>"
)


def test_records_of_an_index_page_are_measured() -> None:
    assert INDEX["records"] == log1p(3)
    assert INDEX["anchor_length_avg"] == pytest.approx(log1p((16 + 14 + 16) / 3))
    assert INDEX["text_length_max"] == INDEX["text_length_avg"] == log1p(14)
    assert INDEX["text_length_sd"] == 0
    assert INDEX["record_links_avg"] == log1p(1)
    assert INDEX["leaves_avg"] == log1p(2 + 1)
    assert INDEX["height_avg"] == log1p(2)
    assert INDEX["width_avg"] == log1p(1 / 2)
    assert INDEX["tree_similarity"] == 1
    assert INDEX["anchor_ratio"] == pytest.approx(log1p(46 / 43))
    assert INDEX["has_link"] == INDEX["has_time"] == 1
    assert INDEX["has_user_link"] == 0


def test_lists_run_back_in_time_and_threads_forward() -> None:
    assert INDEX["time_order"] == -1
    assert THREAD["time_order"] == 1


def test_times_of_a_list_belong_to_headlines_those_of_a_thread_to_text() -> None:
    assert (INDEX["time_with_headline"], INDEX["time_with_text"]) == (3 / 4, 0)
    assert (THREAD["time_with_headline"], THREAD["time_with_text"]) == (0, 2 / 3)
    assert (INDEX["time_with_inner"], THREAD["time_with_inner"]) == (0, 2 / 3)


def test_headlines_are_links_to_other_pages_that_stand_alone() -> None:
    assert INDEX["headlines"] == log1p(3)
    assert THREAD["headlines"] == 0
    assert INDEX["column_links"] == log1p(3)
    assert INDEX["column_anchor"] == pytest.approx(log1p(46 / 3))


def test_text_below_a_linked_heading_is_an_excerpt() -> None:
    own = signals(f"<h1>Title of this page</h1><p>{LONG}</p>")
    excerpt = signals(f"<h2><a href=/other>Title of a page</a></h2><p>{LONG}</p>")
    assert own["heading_own_text"] == excerpt["heading_excerpts"] == log1p(88)
    assert own["heading_excerpts"] == excerpt["heading_own_text"] == 0
    assert (own["unlinked_headings"], excerpt["linked_heading_share"]) == (log1p(1), 1)


def test_people_are_known_by_urls_or_by_repeated_targets() -> None:
    assert THREAD["has_user_link"] == THREAD["people_records"] == 1
    rows = "".join(
        f"<li><a href=/t/{n}>Thread {n}</a> <a class=w href=/x/{n % 2}>Who</a></li>" for n in range(4)
    )
    assert signals(f"<ul>{rows}</ul>")["has_user_link"] == 1


def test_excerpts_end_in_an_ellipsis() -> None:
    cut = f"<p>{LONG[:-1]} … <a href=/more>Read more</a></p>"
    found = signals(
        f"<div><h2><a href=/a>First title</a></h2>{cut}</div><div><h2><a href=/b>Second</a></h2>{cut}</div>"
    )
    assert found["cut_share"] == 2 / 3
    assert found["cut_records"] == found["more_records"] == 1
    assert found["mores"] == log1p(2)


def test_menus_sidebars_and_options_are_no_content() -> None:
    around = (
        "<nav><a href=/1>One of the menu</a></nav><div class='page-sidebar'><a href=/2>Two of it</a></div>"
        "<select><option>An option that is long enough to count</option></select>"
    )
    bare, found = signals(f"<p>{LONG * 9}</p>"), signals(f"<p>{LONG * 9}</p>{around}")
    assert {name for name in SIGNALS if found[name] != bare[name]} <= {"mark_density"}


def test_an_element_with_most_of_the_text_is_content_whatever_its_name() -> None:
    assert signals(f"<div class=sidebar><p>{LONG}</p></div>")["plain_chars"] == log1p(88)
