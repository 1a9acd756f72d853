"""One suite for every store of visits; files: nothing is half there after a crash, many become one."""

from __future__ import annotations

import errno
import os
import pickle
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from linkscore_scoring.browse_logs.counts import BrowseCounts
from linkscore_server.browse_logs.visits.base import SiteSpan, VisitQuery, VisitReader, VisitStore, token_of
from linkscore_server.browse_logs.visits.connection import in_memory, workspace
from linkscore_server.browse_logs.visits.files import FileVisits, name_of, number_of
from linkscore_server.browse_logs.visits.memory import MemoryVisits
from support.browse_logs.visit_logs import DAY, SITE

Visit = tuple[str, str, int, int, int]
A: Visit = (f"http://{SITE}/", "", DAY, 10, 1)
B: Visit = (f"http://{SITE}/b", f"http://{SITE}/", DAY, 20, 1)
C: Visit = (f"http://{SITE}/b", f"http://{SITE}/c", DAY + 1, 5, 2)
FOREVER = 1e12


def stage(store: VisitStore, batch_id: str, *visits: Visit) -> dict[int, int]:
    with in_memory() as con:
        con.execute(
            "CREATE TABLE visits (site TEXT, url TEXT, referrer TEXT, day INT, second INT, client UBIGINT)"
        )
        if visits:
            con.executemany(
                "INSERT INTO visits VALUES (?, ?, ?, ?, ?, ?)", [(SITE, *visit) for visit in visits]
            )
        return store.stage(batch_id, con)


def add(store: VisitStore, batch_id: str, *visits: Visit) -> None:
    stage(store, batch_id, *visits)
    store.publish(batch_id)


def counts(reader: VisitReader) -> BrowseCounts:
    return reader.counts(VisitQuery(SITE, DAY, 2, 500), memory_mb=256)


def clicks(reader: VisitReader) -> dict[tuple[str, int], int]:
    found = counts(reader)
    rows = zip(found.click_urls, found.click_days, found.clicks, strict=True)
    return {(found.urls[url], int(day)): int(n) for url, day, n in rows}


@pytest.fixture
def files(tmp_path: Path) -> FileVisits:
    return FileVisits(tmp_path / "browse", max_parts=3)


@pytest.fixture(params=["memory", "files"])
def store(request: pytest.FixtureRequest, files: FileVisits) -> VisitStore:
    return MemoryVisits() if request.param == "memory" else files


def test_the_salt_stays_the_same(store: VisitStore) -> None:
    assert len(store.salt()) == 32
    assert store.salt() == store.salt()


def test_readers_see_a_batch_once_it_is_published(store: VisitStore) -> None:
    assert stage(store, "1", A, B, C) == {DAY: 2, DAY + 1: 1}
    assert clicks(store.reader()) == {}
    store.publish("1")
    assert clicks(store.reader()) == {(A[0], 0): 1, (B[0], 0): 1, (B[0], 1): 1}
    store.publish("1")
    assert list(store.days()) == [DAY, DAY + 1]


def test_a_visit_in_two_batches_counts_once_with_its_first_referrer(store: VisitStore) -> None:
    add(store, "1", B)
    add(store, "2", (B[0], f"http://{SITE}/early", DAY, 19, 1))
    found = counts(store)
    assert found.urls == [f"http://{SITE}/b", f"http://{SITE}/early"]
    assert found.visits().tolist() == [1, 0]


def test_a_referrer_of_another_site_is_there_for_all_sites_and_outside_for_one(store: VisitStore) -> None:
    """Twice, and from a page that is visited too; the files are merged."""
    for n in range(5):
        add(store, f"{n}", (B[0], "b.org\thttp://b.org/list", DAY, 20 + n, n), A)
    whole = store.counts(VisitQuery("", DAY, 2, 500), memory_mb=256)
    assert whole.urls == [A[0], B[0], "http://b.org/list"]
    assert list(zip(whole.from_urls, whole.to_urls, whole.transits, strict=True)) == [(-1, 0, 1), (2, 1, 5)]
    own = counts(store)
    assert own.urls == [A[0], B[0]]
    assert list(zip(own.from_urls, own.to_urls, own.transits, strict=True)) == [(-1, 0, 1), (-1, 1, 5)]
    assert list(store.spans()) == [SITE]


def test_a_batch_without_visits_is_fine(store: VisitStore) -> None:
    add(store, "1")
    assert (store.spans(), dict(store.days())) == ({}, {})


def test_the_span_of_each_site(store: VisitStore) -> None:
    add(store, "1", A, B)
    add(store, "2", C)
    assert store.spans() == {SITE: SiteSpan(DAY, DAY + 1, 3)}


@pytest.mark.parametrize(("imported", "seen"), [(["1"], True), ([], False)])
def test_after_a_crash_a_staged_batch_is_there_if_the_log_has_it(
    store: VisitStore, imported: list[str], seen: bool
) -> None:
    stage(store, "1", A)
    store.recover(imported)
    assert bool(clicks(store)) == seen
    store.recover(["1"])
    assert bool(clicks(store)) == seen


def test_days_expire_by_the_arrival_of_their_last_visits(store: VisitStore) -> None:
    add(store, "1", A, C)
    assert store.expire(0.0) == []
    assert store.expire(FOREVER) == [DAY, DAY + 1]
    assert (clicks(store), dict(store.days())) == ({}, {})


def test_a_reader_goes_to_another_process(store: VisitStore) -> None:
    add(store, "1", A)
    assert clicks(pickle.loads(pickle.dumps(store.reader()))) == clicks(store)


def test_the_files_of_a_day_are_merged_when_they_are_many(files: FileVisits, tmp_path: Path) -> None:
    for n in range(3):
        add(files, f"{n}", (A[0], "", DAY, 10 + n, 1), (A[0], "", DAY, 10, 5 + n))
    folder = tmp_path / "browse" / "days" / name_of(DAY)
    before, parts = clicks(files), sorted(folder.iterdir())
    for n, part in enumerate(parts):
        os.utime(part, (100.0 + n, 100.0 + n))
    add(files, "last", B)
    (merged,) = folder.iterdir()
    assert clicks(files) == before | {(B[0], 0): 1}
    assert files.spans()[SITE].visits == 5
    assert merged.stat().st_mtime > 1e9


def test_parts_left_beside_their_merged_file_change_nothing(files: FileVisits, tmp_path: Path) -> None:
    folder = tmp_path / "browse" / "days" / name_of(DAY)
    for n in range(3):
        add(files, f"{n}", (A[0], "", DAY, 10 + n, n))
    parts = {part: part.read_bytes() for part in folder.iterdir()}
    add(files, "3", B)
    before = counts(files)
    for part, data in parts.items():
        part.write_bytes(data)
    assert counts(files).clicks.tolist() == before.clicks.tolist()


@pytest.mark.parametrize(
    ("crash_at", "in_log", "seen"),
    [
        ("staged/", False, {(A[0], 0): 1}),  # the batch is not whole
        ("days/2024-10-04/", True, {(A[0], 0): 1, (B[0], 0): 1, (B[0], 1): 1}),  # no day of it is published
        ("days/2024-10-05/", True, {(A[0], 0): 1, (B[0], 0): 1, (B[0], 1): 1}),  # one of two is
    ],
)
def test_what_a_crash_leaves_is_cleared_up(
    crash_at: str,
    in_log: bool,
    seen: object,
    files: FileVisits,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    add(files, "old", A)
    crash_on_rename_to(crash_at, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        add(files, "new", B, C)
    monkeypatch.undo()
    files.recover(["old", "new"] if in_log else ["old"])
    assert clicks(files) == seen
    assert not list((tmp_path / "browse" / "staged").iterdir())
    assert not list((tmp_path / "browse").rglob("*.tmp"))


def test_a_merge_that_was_cut_short_changes_nothing(
    files: FileVisits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(3):
        add(files, f"{n}", (A[0], "", DAY, 10, n))
    crash_on_rename_to("merged-", monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        add(files, "3", B)
    monkeypatch.undo()
    files.recover(["0", "1", "2", "3"])
    assert clicks(files) == {(A[0], 0): 3, (B[0], 0): 1}
    assert not list((tmp_path / "browse").rglob("*.tmp"))


def crash_on_rename_to(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop the process, as it were, when a file is renamed to a path with `part` in it."""
    replace: Callable[[Path, Path], Path] = Path.replace

    def stopped(self: Path, target: Path) -> Path:
        if part in str(target):
            raise KeyboardInterrupt
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", stopped)


def test_work_a_crash_left_is_cleared_up_and_nothing_is_written_elsewhere(
    files: FileVisits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container may have no folder to write to but that of the data."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "read-only"))
    add(files, "1", A)
    assert clicks(files) == {(A[0], 0): 1}
    assert list(files.spans()) == [SITE]
    (tmp_path / "browse" / "browse-work-x").mkdir()
    files.recover(["1"])
    assert sorted(path.name for path in (tmp_path / "browse").iterdir()) == ["days", "staged"]


def test_a_store_without_a_batch_has_empty_counts(store: VisitStore) -> None:
    assert clicks(store) == {}


def test_days_have_their_date_as_name() -> None:
    assert (name_of(DAY), number_of("2024-10-04")) == ("2024-10-04", DAY)


def test_files_are_named_by_a_hash_whatever_the_batch_id(files: FileVisits, tmp_path: Path) -> None:
    add(files, "../../etc/passwd", A)
    (part,) = (tmp_path / "browse" / "days" / name_of(DAY)).iterdir()
    assert part.name.partition(".")[0] == token_of("../../etc/passwd")
    assert part.stat().st_mode & 0o077 == 0


def test_a_day_that_was_just_made_for_its_files_does_not_expire(tmp_path: Path) -> None:
    """A batch that is published makes the folder first, and the retention may be looked at then."""
    day = tmp_path / "days" / name_of(DAY)
    day.mkdir(parents=True)
    assert FileVisits(tmp_path).expire(day.stat().st_mtime - 1) == []
    assert day.exists()


def test_a_disk_that_is_full_for_duckdb_has_the_systems_number(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="browse logs") as caught, workspace(below=tmp_path):
        raise duckdb.IOException('IO Error: Could not write file "x": No space left on device')
    assert caught.value.errno == errno.ENOSPC
    with pytest.raises(duckdb.IOException), workspace(below=tmp_path):
        raise duckdb.IOException("IO Error: no such file")
