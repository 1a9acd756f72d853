"""`linkscore data`: a folder is checked as a whole, and crawls move between folders with all they have."""

from __future__ import annotations

import random
import re
import shutil
from pathlib import Path
from typing import Any

import msgpack
import pytest

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import ConfigChanged, FeedbackGiven, decode, encode
from linkscore_server.browse_logs.visits.base import VisitQuery
from linkscore_server.browse_logs.visits.connection import in_memory
from linkscore_server.browse_logs.visits.kept import visits_of
from linkscore_server.storage.base import Snapshot
from linkscore_server.storage.files import FileStore
from support.command_line import run

QUERY = VisitQuery("a.org", 20_000, 1, 500)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with one crawl: events, a snapshot and visits."""
    return filled(tmp_path / "data", snapshots=[41])


@pytest.fixture
def cut_data(tmp_path: Path) -> Path:
    """A data folder with one crawl whose log was cut."""
    return filled(tmp_path / "cut-data", snapshots=[20, 30], segment_bytes=1_000, cuts=True)


def filled(folder: Path, *, snapshots: list[int], **options: Any) -> Path:
    store = FileStore(folder, **options)
    store.ticket_key()
    model, log = CrawlModel(CrawlConfig("c"), ticket_key=b"k" * 32), store.open("c")
    events = [ConfigChanged(CrawlConfig("c").to_state())]
    feedback = [FeedbackGiven(str(n), "a.org", f"http://a.org/{n}", b"", n % 2, 1e9) for n in range(40)]
    for seq, event in enumerate([*events, *feedback], start=1):
        log.append([encode(event)])
        model.apply(seq, event)
        if seq in snapshots:
            log.save(Snapshot(model.seq, msgpack.packb(model.to_state())))
    log.close()
    visits = visits_of(store, "c")
    visits.salt()
    with in_memory() as con:
        con.execute(
            "CREATE TABLE visits AS SELECT 'a.org' AS site, 'http://a.org/' AS url, '' AS referrer, "
            "20000 AS day, 1 AS second, i::UBIGINT AS client FROM range(50) AS t(i)"
        )
        visits.stage("batch", con)
    visits.publish("batch")
    store.close()
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def test_a_sound_folder_has_no_problem_and_stays_as_it_is(data: Path) -> None:
    before = contents(data)
    got = run("data", "check", data)
    assert (got.exit_code, got.output) == (0, f"{data}: 1 crawls, 0 problems\n")
    assert contents(data) == before


def test_a_check_with_replay_finds_a_snapshot_that_says_another_thing_than_the_log(data: Path) -> None:
    assert run("data", "check", "--replay", str(data)).exit_code == 0
    store = FileStore(data)
    log = store.open("c")
    model = CrawlModel(CrawlConfig("c"), ticket_key=b"k" * 32)
    for seq, raw in log.read():
        model.apply(seq, decode(raw))
    model.feedbacks += 1
    log.save(Snapshot(model.seq, msgpack.packb(model.to_state())))
    log.close()
    store.close()
    assert run("data", "check", str(data)).exit_code == 0
    result = run("data", "check", "--replay", str(data))
    assert result.exit_code == 1
    assert (
        "crawls/c: the snapshot and the log after it give another state than the log alone" in result.output
    )


def test_what_was_cut_from_a_log_is_told_by_check_export_and_import(cut_data: Path, tmp_path: Path) -> None:
    file, target = tmp_path / "c.tar.zst", tmp_path / "other"
    target.mkdir()
    for got in (
        run("data", "check", cut_data),
        run("data", "export", "c", file, "--data-dir", cut_data),
        run("data", "import", file, "--data-dir", target),
    ):
        assert got.exit_code == 0, got.output
        assert re.search(r"crawl c: events 1 to \d+ were cut from its log", got.output)
    assert contents(target / "crawls") == contents(cut_data / "crawls")


def test_a_cut_log_without_a_sound_snapshot_is_named_and_not_exported(cut_data: Path, tmp_path: Path) -> None:
    folder = cut_data / "crawls" / "c"
    (folder / "snapshot").unlink()
    assert run("data", "check", cut_data).exit_code == 0, "the one before holds what was cut"
    (folder / "snapshot.previous").unlink()
    for got in (
        run("data", "check", cut_data),
        run("data", "export", "c", tmp_path / "file", "--data-dir", cut_data),
    ):
        assert got.exit_code == 1
        assert re.search(rf"{folder}: events 1 to \d+ were cut .* no sound snapshot", got.output)


def damaged_files(data: Path) -> list[Path]:
    return [path for path in data.rglob("*") if path.is_file() and path.name != "LOCK"]


def test_damage_of_every_kind_of_file_is_named(data: Path) -> None:
    rng = random.Random(3)
    for path in damaged_files(data):
        raw = path.read_bytes()
        path.write_bytes(raw[: len(raw) // 2] if path.suffix != ".log" else raw[:60] + b"\0" + raw[61:])
        got = run("data", "check", data)
        assert got.exit_code == 1
        assert str(path) in got.output, got.output
        path.write_bytes(raw)
    (log,) = data.rglob("*.log")
    raw = log.read_bytes()
    for _ in range(20):
        at = rng.randrange(8, len(raw))
        log.write_bytes(raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :])
        assert f"{log} at offset" in run("data", "check", data).output
    log.write_bytes(raw)


def test_an_event_that_cannot_be_read_is_named_with_file_offset_and_format(data: Path) -> None:
    store = FileStore(data)
    log = store.open("c")
    log.append([msgpack.packb([2, ["of", "another", "version"]])])
    log.close()
    store.close()
    got = run("data", "check", data)
    assert "event 42 is not damaged" in got.output
    assert "another version of linkscore wrote it" in got.output
    assert "format 1" in got.output
    assert ".log at offset " in got.output


def test_a_crawl_moves_to_another_folder_with_all_it_has(data: Path, tmp_path: Path) -> None:
    file, target = tmp_path / "c.tar.zst", tmp_path / "other"
    target.mkdir()
    assert run("data", "export", "c", file, "--data-dir", data).exit_code == 0
    got = run("data", "import", file, "--data-dir", target)
    assert (got.exit_code, got.output) == (0, f"{target}: imported crawl c (41 events)\n")
    assert contents(target / "crawls") == contents(data / "crawls")
    assert run("data", "check", target).exit_code == 0
    (old,), (new,) = data.rglob("*.parquet"), target.rglob("*.parquet")
    assert int(old.stat().st_mtime) == int(new.stat().st_mtime), "by it days expire"
    store = FileStore(target)
    assert visits_of(store, "c").counts(QUERY, memory_mb=64).clicks.tolist() == [50]
    store.close()
    again = run("data", "import", file, "--data-dir", target)
    assert (again.exit_code, "has one of this name" in again.output) == (1, True)


def test_a_damaged_archive_leaves_nothing_behind(data: Path, tmp_path: Path) -> None:
    file, target, rng = tmp_path / "c.tar.zst", tmp_path / "other", random.Random(5)
    target.mkdir()
    run("data", "export", "c", file, "--data-dir", data)
    raw = file.read_bytes()
    for trial in range(30):
        at = rng.randrange(len(raw))
        cut = raw[:at] + bytes([raw[at] ^ (1 << trial % 8)]) + raw[at + 1 :] if trial % 2 else raw[:at]
        file.write_bytes(cut)
        got = run("data", "import", file, "--data-dir", target)
        if got.exit_code == 0:  # a bit of zstd that says nothing: all checksums fit
            assert contents(target / "crawls") == contents(data / "crawls")
            shutil.rmtree(target / "crawls" / "c")
            continue
        assert (got.exit_code, str(file) in got.output) == (1, True), got.output
        assert not any((target / "crawls").iterdir())
        assert not list(target.glob("deleted-*"))


def test_a_damaged_crawl_is_not_exported(data: Path, tmp_path: Path) -> None:
    (part,) = data.rglob("*.parquet")
    part.write_bytes(part.read_bytes()[:-1])
    got = run("data", "export", "c", tmp_path / "c.tar.zst", "--data-dir", data)
    assert (got.exit_code, part.name in got.output) == (1, True)
    assert not (tmp_path / "c.tar.zst").exists()


def test_a_folder_in_use_is_left_alone(data: Path) -> None:
    store = FileStore(data)
    got = run("data", "check", data)
    store.close()
    assert (got.exit_code, "in use by another linkscore server" in got.output) == (1, True)
