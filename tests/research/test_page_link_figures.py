"""Figures of page link detection: intervals, labels put to links, folds by host."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkscore_research.pagination.command import as_json, run_page_links
from linkscore_research.pagination.measure import (
    Counts,
    labelled_pages,
    measure_by_type,
    measure_page_links,
    read_link_labels,
    wilson,
)
from linkscore_scoring.errors import InvalidInput
from support.warc_writing import http, members, record

PAGE_1 = b"""<base href="http://f.test/">
<a href="list?p=2">2</a> <a href="list?p=3">3</a> <a href="list?p=2">2</a>
<a href="x">A title</a> <a href="javascript:go(9)">9</a>"""
PAGE_2 = b'<base href="http://f.test/"><a href="list">1</a> <a href="list?p=3">3</a>'
LABELS = """page_url\thref\tlabel\tanchor_text
http://f.test/list\thttp://f.test/list?p=2\tPAGE\t2
http://f.test/list\thttp://f.test/list?p=3\tPAGE\t3
http://f.test/list\thttp://f.test/x\tNEXT\tA title
http://f.test/list\tjavascript:go(9)\tPAGE\t9
"""


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "f.warc.gz"
    pages = [("list", PAGE_1), ("list?p=2", PAGE_2), ("list", b"stored twice")]
    path.write_bytes(b"".join(members(*(record(f"http://f.test/{url}", http(body)) for url, body in pages))))
    return path


@pytest.fixture
def links(tmp_path: Path) -> Path:
    path = tmp_path / "links.tsv"
    path.write_text(LABELS)
    return path


def test_wilson_intervals_are_those_of_the_textbook():
    assert wilson(8, 10) == pytest.approx((0.8, 0.490157, 0.943319), abs=1e-6)
    assert wilson(0, 10)[1:] == pytest.approx((0.0, 0.277540), abs=1e-6)
    assert wilson(0, 0)[1:] == (0.0, 1.0)


def test_counts_give_precision_and_recall():
    counts = Counts(right=3, wrong=1, missed=2)
    assert (counts.precision[0], counts.recall[0]) == (0.75, 0.6)


def test_one_label_is_one_link_and_what_cannot_be_fetched_is_counted_apart(archive: Path, links: Path):
    first, second = labelled_pages(archive, links)
    assert first.labels == ["PAGE", "PAGE", "", "NEXT"]
    assert first.lost == 1
    assert second.labels == ["", ""]


def test_links_are_counted_by_label_and_fold(archive: Path, links: Path):
    figures = measure_page_links(labelled_pages(archive, links))
    counts = figures.rows["all links"]
    assert (counts.right, counts.wrong, counts.missed) == (2, 3, 1)
    assert figures.rows["NEXT"].missed == 1
    assert figures.rows["pages without page links"].wrong == 2
    assert (figures.pages, figures.hosts, figures.lost, figures.same_kind) == (2, 1, 1, 2)
    assert sum(row.right for name, row in figures.rows.items() if name.startswith("hosts")) == 2
    assert figures.stored["found"].right == 1


def test_the_command_prints_and_writes(
    archive: Path, links: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    figures = run_page_links(archive, links, tmp_path / "out.json")
    assert "all links" in capsys.readouterr().out
    assert '"right": 2' in (tmp_path / "out.json").read_text()
    assert as_json(figures)["rows"]["stored: found"]["right"] == 1


def test_page_types_tell_later_pages(archive: Path, tmp_path: Path):
    types = tmp_path / "types.tsv"
    types.write_text(
        "url\tpage_type\nhttp://f.test/list\tlist\nhttp://f.test/list?p=2\tlist_page\nhttp://f.test/x\titem\n"
    )
    counts = measure_by_type(archive, types)
    assert (counts["all"].right, counts["all"].wrong, counts["all"].missed) == (1, 0, 0)
    assert "list" in counts


def test_a_table_without_its_columns_is_refused(tmp_path: Path):
    path = tmp_path / "bad.tsv"
    path.write_text("url\tlabel\n")
    with pytest.raises(InvalidInput, match="anchor_text, href, page_url missing"):
        read_link_labels(path)
