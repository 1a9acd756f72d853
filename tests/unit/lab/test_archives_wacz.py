"""WACZ packages: the entry is what the list of pages says, records come from the WARC files inside."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from linkscore_lab.archives import open_archive
from linkscore_scoring.errors import InvalidInput
from support.warc_writing import members, page

PARTS = members(page("a"), page("b"), page("c"))
HEADER = {"format": "json-pages-1.0", "id": "pages", "title": "All Pages"}
LISTED = [{"url": "https://s.test/a"}, {"url": "https://s.test/b", "seed": True}, {"url": "https://s.test/c"}]


def wacz(
    path: Path,
    pages: list[dict[str, object]] | None,
    warcs: dict[str, bytes] | None = None,
    packing: int = zipfile.ZIP_STORED,
) -> Path:
    with zipfile.ZipFile(path, "w") as package:
        files = {"archive/data.warc.gz": b"".join(PARTS)} if warcs is None else warcs
        for name, data in files.items():
            package.writestr(name, data, packing)
        if pages is not None:
            lines = "".join(json.dumps(row) + "\n" for row in [HEADER, *pages])
            package.writestr("pages/pages.jsonl", lines, zipfile.ZIP_DEFLATED)
        package.writestr("datapackage.json", json.dumps({"profile": "data-package", "wacz_version": "1.1.1"}))
    return path


@pytest.mark.parametrize(
    ("pages", "entry"),
    [
        (LISTED, "b"),
        ([row for row in LISTED if "seed" not in row][::-1], "c"),
        ([{"id": "no url"}, {"url": "about:blank"}, {"url": "https://s.test/c"}], "c"),
        ([], "a"),
        (None, "a"),
    ],
    ids=["first seed", "first page", "rows without address", "empty list", "no list"],
)
def test_the_entry_is_the_first_seed_else_the_first_page_else_the_first_answer(
    tmp_path: Path, pages: list[dict[str, object]] | None, entry: str
) -> None:
    archive = open_archive([wacz(tmp_path / "site.wacz", pages)])
    assert (archive.name, archive.entry) == ("site", f"https://s.test/{entry}")


@pytest.mark.parametrize("packing", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED], ids=["stored", "deflated"])
def test_records_come_in_the_order_of_the_package(tmp_path: Path, packing: int) -> None:
    warcs = {"archive/z.warc.gz": PARTS[2], "archive/a.warc": page("a"), "archive/note.txt": b"no archive"}
    archive = open_archive([wacz(tmp_path / "site.wacz", LISTED, warcs, packing)])
    assert [record.url[-1] for record in archive.records()] == ["c", "a"]
    assert archive.damage == []


@pytest.mark.parametrize("packing", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED], ids=["stored", "deflated"])
def test_damage_names_the_file_inside_and_its_own_offset(tmp_path: Path, packing: int) -> None:
    warcs = {"archive/first.warc": page("a"), "archive/data.warc.gz": PARTS[0] + b"\x00" * 50 + PARTS[2]}
    archive = open_archive([wacz(tmp_path / "site.wacz", LISTED, warcs, packing)])
    assert [record.url[-1] for record in archive.records()] == ["a", "a", "c"]
    assert [(damage.file, damage.offset) for damage in archive.damage] == [
        (f"{tmp_path}/site.wacz/archive/data.warc.gz", len(PARTS[0]))
    ]


def test_bytes_changed_inside_the_package_cost_one_record(tmp_path: Path) -> None:
    path = wacz(tmp_path / "site.wacz", LISTED)
    data = bytearray(path.read_bytes())
    data[data.index(PARTS[1]) + len(PARTS[1]) // 2] ^= 0xFF
    path.write_bytes(data)
    archive = open_archive([path])
    assert [record.url[-1] for record in archive.records()] == ["a", "c"]
    assert [damage.offset for damage in archive.damage] == [len(PARTS[0])]


def test_a_package_and_a_file_are_one_site(tmp_path: Path) -> None:
    extra = tmp_path / "more.warc"
    extra.write_bytes(page("d"))
    archive = open_archive([wacz(tmp_path / "site.wacz", LISTED), extra])
    assert [record.url[-1] for record in archive.records()] == ["a", "b", "c", "d"]


def test_a_package_without_warc_files_is_refused(tmp_path: Path) -> None:
    path = wacz(tmp_path / "site.wacz", LISTED, {})
    with pytest.raises(InvalidInput, match=r"warc: .*must hold archive/\*\.warc\.gz"):
        open_archive([path])


def test_a_package_that_is_no_zip_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "site.wacz"
    path.write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(InvalidInput, match=r"warc: .*must be a WACZ package"):
        open_archive([path])
