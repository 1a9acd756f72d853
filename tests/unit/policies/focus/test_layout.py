"""Records and link groups of pages written by hand."""

from __future__ import annotations

from linkscore_scoring.features.extracted import ExtractedLink, with_links
from linkscore_scoring.features.html import Extractor, extract
from linkscore_scoring.features.layout.regions import MAX_GROUPS
from linkscore_scoring.features.layout.signals import SIGNALS
from linkscore_scoring.features.types import Limits, PageFeatures, PageLayout

URL = "http://a.test/board"


def read(body: str, url: str = URL, limits: Limits | None = None) -> tuple[PageFeatures, PageLayout]:
    page = extract(
        body.encode(), url=url, content_type="text/html; charset=utf-8", limits=limits, layout=True
    )
    assert page.layout is not None
    return page, page.layout


def row(n: int, css: str = "row") -> str:
    return (
        f'<li class="{css}"><div class="title"><a href="/t/{n}">A long title of thread {n}</a></div>'
        f'<div class="by"><a class="user u{n}" href="/user/{n % 2}">user</a> 2024-01-{n:02}</div></li>'
    )


def board(*rows: str) -> str:
    menu = '<ul class="nav"><li><a href="/">Home</a></li></ul>'
    return f'<body>{menu}<ul class="list">{"".join(rows)}</ul></body>'


def named(layout: PageLayout) -> list[str]:
    return [layout.group_table[group] for group in layout.groups]


def test_nothing_is_extracted_unless_asked_for() -> None:
    assert extract(board(row(1), row(2)).encode(), url=URL).layout is None


def test_links_of_one_column_form_a_group_and_know_their_record() -> None:
    _, layout = read(board(row(1), row(2), row(3)))
    names = named(layout)
    assert layout.records == [-1, 0, 0, 1, 1, 2, 2]
    assert names[1] == names[3] == names[5] != names[2] == names[4] == names[6]
    assert names[1].endswith("ul/li.row|div.title/a|0")
    assert names[2].endswith("|div.by/a.u#.user|0")
    assert names[0] == "page|html/body/ul/li/a"


def test_marks_of_single_records_do_not_split_a_region() -> None:
    _, layout = read(board(row(1, "row odd"), row(2, "row even sticky"), row(3, "row odd"), row(4, "row")))
    assert layout.records == [-1, 0, 0, 1, 1, 2, 2, 3, 3]


def test_the_same_place_has_the_same_name_on_every_page_of_a_template() -> None:
    first = read(board(row(1), row(2), row(3)))[1]
    second = read(board(*(row(n, "row bg1" if n % 2 else "row bg2") for n in range(4, 12))), URL + "/2")[1]
    assert set(first.group_table) == set(second.group_table)


def test_links_of_equal_paths_in_a_record_are_told_by_their_order() -> None:
    cells = "".join(
        f"<tr><td><a href=/t/{n}>Title {n}</a></td><td><a href=/u/{n}>N</a></td></tr>" for n in range(3)
    )
    names = named(read(f"<table>{cells}</table>")[1])
    assert [name.rpartition("|")[2] for name in names] == ["0", "1"] * 3


def test_sections_of_rows_are_one_region_and_their_rows_its_records() -> None:
    sections = "".join(
        f'<div class="cat"><h3>Category</h3><ul class="list">{row(2 * n)}{row(2 * n + 1)}</ul></div>'
        for n in range(1, 4)
    )
    _, layout = read(f"<body>{sections}</body>")
    assert layout.records == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]


def test_a_post_is_a_record_not_its_paragraphs() -> None:
    posts = "".join(
        f'<div class="post"><div class="head"><a href="/user/{n}">user</a> 2024-01-0{n}</div>'
        f'<div class="text"><p>{"Some words. " * 9}<p>{"More words. " * 9}<a href="http://b.test/{n}">x</a></div></div>'
        for n in range(1, 4)
    )
    assert read(f"<body>{posts}</body>")[1].records == [0, 0, 1, 1, 2, 2]


def test_a_list_in_a_sidebar_is_a_region_but_not_the_main_one() -> None:
    side = "".join(f"<li><a href=/s/{n}>a recent title</a> by somebody</li>" for n in range(4))
    rows = "".join(row(n) for n in range(1, 7))
    page, layout = read(f'<body><ul>{rows}</ul><div class="sidebar"><ul>{side}</ul></div></body>')
    signals = dict(zip(SIGNALS, layout.signals, strict=True))
    assert signals["has_time"] == 1.0  # of the rows; the sidebar has no times
    assert layout.records == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 0, 1, 2, 3]
    assert len(page.links) == 16


def test_rows_keep_step_with_links_where_anchors_are_passed_over() -> None:
    body = '<a href="mailto:x">m</a><a name=q>n</a><a href="/one">1</a><a href="#f">f</a>'
    body += '<p><a href="/two">2</a></p>'
    page, layout = read(f"<body>{body}</body>")
    assert page.links.anchors == ["1", "2"]
    assert named(layout) == ["html/body/a||0", "page|html/body/p/a"]


def test_limits_cut_links_and_layout_alike() -> None:
    rows = board(*(row(n) for n in range(1, 30)))
    for limits in (Limits(links=7), Limits(elements=12)):
        page, layout = read(rows, limits=limits)
        assert 0 < len(page.links) == len(layout.groups) == len(layout.records) < 15


def test_groups_of_a_page_are_bounded() -> None:
    body = "".join(f'<a class="{"x" * n}" href="/{n}">link</a>' for n in range(1, MAX_GROUPS + 50))
    _, layout = read(f"<body>{body}</body>")
    assert len(layout.group_table) == MAX_GROUPS + 1
    assert layout.group_table[-1] == "other"


def test_very_deep_and_very_wide_pages_are_read() -> None:
    read("<div>" * 5_000 + '<a href="/x">x</a>')
    _, layout = read("<ul>" + "".join(row(n % 28 + 1) for n in range(3_000)) + "</ul>")
    assert max(layout.records) == 2_999


def test_a_page_without_anything_has_all_signals() -> None:
    _, layout = read("<div></div>")
    assert len(layout.signals) == len(SIGNALS)
    assert not any(layout.signals)


def test_what_was_read_before_changes_nothing() -> None:
    extractor = Extractor()
    bodies = [board(row(1), row(2), row(3)).encode(), b"<p>text</p>", board(row(4)).encode()]
    once = [extractor.extract(body, url=URL, layout=True) for body in bodies]
    assert [extractor.extract(body, url=URL, layout=True) for body in bodies] == once


def test_links_of_the_crawler_that_stand_on_the_page_keep_their_records() -> None:
    page, layout = read(board(row(1), row(2)))
    given = [ExtractedLink("/x"), *(ExtractedLink(url) for url in page.links.urls)]
    kept = with_links(page, given, limits=Limits()).layout
    assert kept is not None
    assert kept.records == [-1, *layout.records]
    assert named(kept) == ["", *named(layout)]
    assert kept.signals == layout.signals


def test_links_of_the_crawler_that_stand_nowhere_take_the_layout_away() -> None:
    page, _ = read(board(row(1), row(2)))
    assert with_links(page, [ExtractedLink("/x")], limits=Limits()).layout is None
