"""`linkscore data`: a folder is checked, and a crawl goes to another one as a file."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from linkscore import Client
from support.command_line import run
from support.server_process import serving
from support.small_site import page


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with one crawl of 12 pages."""
    folder = tmp_path_factory.mktemp("data")
    with serving(folder) as process, Client(process.target) as client:
        client.create_crawl(crawl="c")
        client.ingest_pages(crawl="c", pages=[page(n) for n in range(12)])
        assert process.terminate() == 0
    return folder / "data"


def test_a_sound_folder_has_no_problems(data: Path) -> None:
    got = run("data", "check", data, "--replay")
    assert (got.exit_code, got.output) == (0, f"{data}: 1 crawls, 0 problems\n")


def test_a_crawl_goes_to_another_folder_as_a_file(data: Path, tmp_path: Path) -> None:
    assert run("data", "export", "c", tmp_path / "c.crawl", "--data-dir", data).exit_code == 0
    got = run("data", "import", tmp_path / "c.crawl", "--data-dir", tmp_path / "there")
    assert got.exit_code == 0, got.output
    checked = run("data", "check", tmp_path / "there", "--replay")
    assert (checked.exit_code, "1 crawls, 0 problems" in checked.output) == (0, True)
    again = run("data", "import", tmp_path / "c.crawl", "--data-dir", tmp_path / "there")
    assert (again.exit_code, "'c'" in again.output) == (1, True)


def test_a_damaged_event_is_named(data: Path, tmp_path: Path) -> None:
    run("data", "export", "c", tmp_path / "c.crawl", "--data-dir", data)
    run("data", "import", tmp_path / "c.crawl", "--data-dir", tmp_path / "bad")
    with closing(sqlite3.connect(tmp_path / "bad" / "linkscore.db")) as con, con:
        con.execute("UPDATE event SET body = substr(body, 1, 40) WHERE seq = 5")
    got = run("data", "check", tmp_path / "bad")
    assert got.exit_code == 1
    assert "crawl 'c': event 5: damaged" in got.output


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    got = run("data", "export", "c", tmp_path / "c.crawl", "--data-dir", tmp_path / "x")
    assert (got.exit_code, "does not exist" in got.output) == (2, True)
