"""Folders of pages: the list gives order, URLs and the entry; a bad row is counted with its line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from linkscore_lab.archives import open_archive
from linkscore_scoring.errors import InvalidInput


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "site"
    (root / "sub").mkdir(parents=True)
    (root / "a.html").write_bytes(b"<p>a")
    (root / "sub" / "b.php").write_bytes(b"<p>b")
    (root / "c.html").write_bytes(gzip.compress(b"<p>c"))
    (root / "feed.xml").write_bytes(b"<rss/>")
    (tmp_path / "secret.html").write_bytes(b"outside")
    return root


def write_list(folder: Path, text: str, name: str = "urls.tsv") -> Path:
    path = folder.parent / name
    path.write_text(text, encoding="utf-8")
    return path


def test_pages_come_in_the_order_of_the_list(folder: Path) -> None:
    rows = "path\turl\nsub/b.php\thttps://s.test/b\na.html\thttps://s.test/a\nc.html\thttps://s.test/c\n"
    archive = open_archive([folder], url_list=write_list(folder, rows))
    assert [(r.url, r.status, r.headers["Content-Type"], r.body) for r in archive.records()] == [
        ("https://s.test/b", 200, "text/html", b"<p>b"),
        ("https://s.test/a", 200, "text/html", b"<p>a"),
        ("https://s.test/c", 200, "text/html", b"<p>c"),
    ]
    assert (archive.name, archive.entry, archive.damage) == ("site", "https://s.test/b", [])


def test_a_csv_list_has_commas_and_may_have_more_columns(folder: Path) -> None:
    rows = 'title,url,path\n"A, B",https://s.test/a,a.html\n,https://s.test/f,feed.xml\n'
    archive = open_archive([folder], url_list=write_list(folder, rows, "urls.csv"))
    found = [(record.url[-1], record.headers["Content-Type"]) for record in archive.records()]
    assert found[0] == ("a", "text/html")
    assert found[1][1].endswith("/xml")


def test_a_bad_row_is_counted_with_its_line_and_the_others_come(folder: Path) -> None:
    bad = "none.html\thttps://s.test/n\na.html\tno-url\n../secret.html\thttps://s.test/s\n"
    rows = f"path\turl\na.html\thttps://s.test/a\n{bad}sub/b.php\thttps://s.test/b\n"
    archive = open_archive([folder], url_list=write_list(folder, rows))
    assert [record.url[-1] for record in archive.records()] == ["a", "b"]
    assert [(Path(d.file).name, d.offset) for d in archive.damage] == [
        ("urls.tsv", 3),
        ("urls.tsv", 4),
        ("urls.tsv", 5),
    ]
    assert [reason.split()[0] for _, _, reason in archive.damage] == ["none.html:", "url", "path"]


@pytest.mark.parametrize(
    ("rows", "rule"),
    [
        ("path\taddress\na.html\thttps://s.test/a\n", "column url missing"),
        ("", "column path, url missing"),
        ("path\turl\n", "needs a row with an http"),
    ],
)
def test_a_list_that_cannot_be_used_is_refused(folder: Path, rows: str, rule: str) -> None:
    with pytest.raises(InvalidInput, match=f"url_list: .*{rule}"):
        open_archive([folder], url_list=write_list(folder, rows))


def test_a_list_that_is_no_text_is_refused(folder: Path) -> None:
    path = folder.parent / "urls.tsv"
    path.write_bytes(b"path\turl\n\xff\xfe\n")
    with pytest.raises(InvalidInput, match=r"url_list: .*must be a UTF-8 table"):
        open_archive([folder], url_list=path)


def test_a_folder_needs_a_list_and_only_a_folder_has_one(folder: Path) -> None:
    urls = write_list(folder, "path\turl\na.html\thttps://s.test/a\n")
    with pytest.raises(InvalidInput, match=r"url_list: .*needs a list of its URLs"):
        open_archive([folder])
    with pytest.raises(InvalidInput, match=r"url_list: .*must come with a folder"):
        open_archive([folder / "a.html"], url_list=urls)
    with pytest.raises(InvalidInput, match="warc: a folder must be the only archive"):
        open_archive([folder, folder], url_list=urls)
