"""`linkscore data`: a store is checked as a whole, backed up, and its crawls move to other stores."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.events import ConfigChanged, FeedbackGiven, encode
from linkscore_server.store import NewEvent, open_store
from support.command_line import run


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with one crawl."""
    folder = tmp_path / "data"
    with closing(open_store(str(folder))) as store:
        store.secret()
        first = NewEvent("", "", encode(ConfigChanged(CrawlConfig("c").to_state())))
        told = [FeedbackGiven(str(n), "a.org", f"http://a.org/{n}", b"", n % 2, 1e9) for n in range(40)]
        events = [first, *(NewEvent("a.org", f"feedback {one.event_id}", encode(one)) for one in told)]
        store.create("c").commit(events).result()
    return folder


def _change(folder: Path, sql: str) -> None:
    with closing(open_store(str(folder))) as store:
        store.writer.call(lambda session: session.commit([(sql, [()])])).result()


def test_a_sound_store_has_no_problem(data: Path) -> None:
    for flags in ((), ("--replay",)):
        got = run("data", "check", data, *flags)
        assert (got.exit_code, got.output) == (0, f"{data}: 1 crawls, 0 problems\n")


def test_damage_is_named_by_crawl_and_event(data: Path) -> None:
    _change(data, "UPDATE event SET id = 'x' WHERE seq = 7")

    got = run("data", "check", data)

    assert got.exit_code == 1
    assert "crawl 'c': event 7: damaged" in got.output
    assert "1 crawls, 1 problems" in got.output


def test_a_folder_without_a_store_is_said_to_be_one_and_stays_as_it_is(tmp_path: Path) -> None:
    got = run("data", "check", tmp_path)

    assert got.exit_code == 2
    assert "has no store of linkscore" in got.output
    assert list(tmp_path.iterdir()) == []


def test_a_crawl_moves_to_another_folder(data: Path, tmp_path: Path) -> None:
    file, other = tmp_path / "c.linkscore", tmp_path / "other"

    assert "crawl c (41 events)" in run("data", "export", "c", file, "--data-dir", data).output
    got = run("data", "import", file, "--data-dir", other)

    assert (got.exit_code, got.output) == (0, f"{other}: imported crawl c (41 events)\n")
    assert run("data", "check", "--replay", other).exit_code == 0
    again = run("data", "import", file, "--data-dir", other)
    assert again.exit_code == 1
    assert "delete it first" in again.output


def test_a_backup_is_restored_and_nothing_is_overwritten(data: Path, tmp_path: Path) -> None:
    file, other = tmp_path / "backup", tmp_path / "other"

    assert run("data", "backup", file, "--data-dir", data).exit_code == 0
    assert run("data", "backup", file, "--data-dir", data).exit_code == 1
    assert run("data", "restore", file, "--data-dir", other).exit_code == 0

    assert run("data", "check", "--replay", other).output == f"{other}: 1 crawls, 0 problems\n"
    assert run("data", "restore", file, "--data-dir", data).exit_code == 1
