"""Visits are shown with their batch, count once, are deleted by day, survive a crash."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkscore_scoring.browse_logs.counts import BrowseCounts
from linkscore_scoring.errors import CorruptState
from linkscore_server.browse_logs.visits import VisitQuery, Visits
from support.browse_logs.batches import batch_of
from support.browse_logs.visit_logs import DAY, SITE

Visit = tuple[str, str, int, int, str]
A: Visit = (f"http://{SITE}/", "", DAY, 10, "1")
B: Visit = (f"http://{SITE}/b", f"http://{SITE}/", DAY, 20, "1")
C: Visit = (f"http://{SITE}/b", f"http://{SITE}/c", DAY + 1, 5, "2")
FOREVER = 1e12


def stage(store: Visits, batch_id: str, *visits: Visit) -> dict[int, int]:
    records = [
        (day * 86_400 + second, client, url, referrer) for url, referrer, day, second, client in visits
    ]
    return dict(store.stage(batch_of(batch_id, records)).days)


def add(store: Visits, batch_id: str, *visits: Visit) -> None:
    stage(store, batch_id, *visits)
    store.show(batch_id)


def counts(store: Visits) -> BrowseCounts:
    return store.counts(VisitQuery(SITE, DAY, 2, 500))


def clicks(store: Visits) -> dict[tuple[str, int], int]:
    found = counts(store)
    rows = zip(found.click_urls, found.click_days, found.clicks, strict=True)
    return {(found.urls[url], int(day)): int(n) for url, day, n in rows}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "browse" / "visits.duckdb"


@pytest.fixture
def store(path: Path) -> Visits:
    return Visits(path)


def test_a_visit_in_two_batches_counts_once_with_its_first_referrer(store: Visits) -> None:
    add(store, "1", B)
    add(store, "2", (B[0], f"http://{SITE}/early", DAY, 19, "1"))
    found = counts(store)
    assert found.urls == [f"http://{SITE}/b", f"http://{SITE}/early"]
    assert found.visits().tolist() == [1, 0]


def test_a_referrer_of_another_site_is_outside(store: Visits) -> None:
    for n in range(5):
        add(store, f"{n}", (B[0], "http://b.org/list", DAY, 20 + n, f"{n}"), A)
    for found in (store.counts(VisitQuery("", DAY, 2, 500)), counts(store)):
        assert found.urls == [A[0], B[0]]
        assert list(zip(found.from_urls, found.to_urls, found.transits, strict=True)) == [
            (-1, 0, 1),
            (-1, 1, 5),
        ]
    assert list(store.spans()) == [SITE]


def test_days_expire_by_the_arrival_of_their_last_visits(store: Visits) -> None:
    add(store, "1", A, C)
    assert store.expire(0.0) == []
    assert store.expire(FOREVER) == [DAY, DAY + 1]
    assert (clicks(store), store.spans()) == ({}, {})
    add(store, "2", B)
    assert clicks(store) == {(B[0], 0): 1}


def test_nothing_of_a_deleted_day_stays_on_the_disk(path: Path) -> None:
    store, secret = Visits(path), "http://forum.example/a-page-that-somebody-read"
    add(store, "1", (secret, "", DAY, 1, "1"))
    store.expire(FOREVER)
    assert not any(secret.encode() in file.read_bytes() for file in path.parent.iterdir())


def test_the_file_is_its_owners_and_nothing_is_written_elsewhere(
    path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A container may have no folder to write to but that of the data."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "read-only"))
    add(Visits(path), "../../etc/passwd", A)
    assert clicks(Visits(path)) == {(A[0], 0): 1}
    assert [file.name for file in path.parent.iterdir()] == ["visits.duckdb"]
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("part", [0.0, 0.5, 0.99])
def test_damage_is_named_and_never_counted(path: Path, part: float) -> None:
    store = Visits(path)
    add(store, "1", *((f"http://{SITE}/{n}", "", DAY, n, f"{n}") for n in range(1_000)))
    whole, raw = clicks(store), bytearray(path.read_bytes())
    at = int(part * len(raw))
    raw[at : at + 4_096] = bytes(255 - byte for byte in raw[at : at + 4_096])
    path.write_bytes(raw)
    problems = store.problems()
    if problems:
        assert str(path) in problems[0]
        with pytest.raises(CorruptState, match=r"visits\.duckdb: damaged"):
            clicks(store)
    else:  # a block that holds nothing
        assert clicks(store) == whole
