"""Visits of a crawl that goes from one machine to another: the same as if it had always been on one."""

from __future__ import annotations

import os
import random
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from linkscore_server.browse_logs.visits.base import VisitQuery, VisitStore, token_of
from linkscore_server.browse_logs.visits.connection import in_memory
from linkscore_server.browse_logs.visits.files import FileVisits
from linkscore_server.browse_logs.visits.shared import FAILPOINTS, SharedVisits, drop_left, seen_in
from linkscore_server.browse_logs.visits.tables import digest_of
from linkscore_server.storage import failpoints
from linkscore_server.storage.base import LogAway, SharedFile, SharedFiles
from support.browse_logs.visit_logs import DAY, SITE

Visit = tuple[str, int, int, int]
"""Path, day, second, client."""
QUERY = VisitQuery("", DAY, 9, 500)
FOREVER = 1e12
PLACES = ("visits.drafted", *FAILPOINTS, "visits.published")


class Killed(BaseException):
    """The process was ended where a failpoint is."""


class FilesInMemory(SharedFiles):
    """Files that all machines of a test share; `is_away` refuses all."""

    def __init__(self, there: list[SharedFile], identity: str = "log") -> None:
        self.there, self.identity, self.is_away = there, identity, False

    def secret(self) -> bytes:
        return self.identity.encode().ljust(32)

    def add(self, files: Iterable[tuple[str, bytes]]) -> None:
        for name, body in files:
            if self.is_away:
                raise LogAway("away")
            self.there.append(SharedFile(len(self.there) + 1, name, body, 1e9 + len(self.there)))

    def after(self, number: int) -> Iterator[SharedFile]:
        if self.is_away:
            raise LogAway("away")
        yield from self.there[number:]


class Crawl:
    """One crawl on several machines, its log, and beside it the visits as one machine would have them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.log: dict[str, str] = {}
        self.files = FilesInMemory([])
        self._alone = FileVisits(folder / "alone", max_parts=3)
        self._waiting: dict[str, list[Visit]] = {}

    def on(self, machine: str) -> SharedVisits:
        """Return the visits as a machine has them that just took the crawl over."""
        visits = SharedVisits(self._folder / machine / "browse", self.files, max_parts=3)
        visits.recover(self.log)
        return visits

    def take(self, visits: VisitStore, batch_id: str, rows: list[Visit]) -> None:
        """Take a batch in as the server does."""
        if batch_id not in self.log:
            self.log[batch_id] = stage(visits, batch_id, rows)
            self._waiting[batch_id] = rows
        visits.publish(batch_id)

    @property
    def alone(self) -> FileVisits:
        """The visits of all batches of the log, as one machine has them."""
        while self._waiting:
            batch_id, rows = self._waiting.popitem()
            stage(self._alone, batch_id, rows)
            self._alone.publish(batch_id)
        return self._alone

    def caught_up(self, machine: str) -> SharedVisits:
        visits = self.on(machine)
        visits.catch_up(self.log)
        return visits


def stage(store: VisitStore, batch_id: str, rows: list[Visit]) -> str:
    """Stage a batch, and return its digest."""
    with in_memory() as con:
        con.execute(
            "CREATE TABLE visits (site TEXT, url TEXT, referrer TEXT, day INT, second INT, client UBIGINT)"
        )
        if rows:
            table = [(SITE, f"http://{SITE}{path}", "", *rest) for path, *rest in rows]
            con.executemany("INSERT INTO visits VALUES (?, ?, ?, ?, ?, ?)", table)
        store.stage(batch_id, con)
        return digest_of(con)


def seen(store: VisitStore) -> tuple[object, ...]:
    """Return all that readers see."""
    found = store.counts(QUERY, memory_mb=64)
    columns = (found.click_urls, found.click_days, found.clicks, found.to_urls, found.transits)
    return found.urls, *(column.tolist() for column in columns), store.spans(), list(store.days())


def rows_of(draw: random.Random, batch: int) -> list[Visit]:
    """Return some visits, each of a client, page and day of its own."""
    return [
        (f"/{draw.randrange(4)}", DAY + draw.randrange(3), draw.randrange(86_400), 1_000 * batch + client)
        for client in range(draw.randrange(1, 5))
    ]


def killing_at(place: str) -> Callable[[str], None]:
    def reached(passed: str) -> None:
        if passed == place:
            raise Killed

    return reached


@pytest.fixture
def crawl(tmp_path: Path) -> Crawl:
    return Crawl(tmp_path)


A = [("/", DAY, 10, 1), ("/b", DAY + 1, 20, 1)]
B = [("/b", DAY, 30, 2)]


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_visits_are_those_of_one_machine_whatever_happens(
    crawl: Crawl, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Batches, kills at every place, takeovers, hand-overs to old folders, brokers away, merged days."""
    draw = random.Random(seed)
    for n in range(6):
        machine, rows, place = draw.choice("abc"), rows_of(draw, n), draw.choice((*PLACES, "", ""))
        crawl.files.is_away = draw.random() < 0.2
        monkeypatch.setattr(failpoints, "reached", killing_at(place))
        try:
            crawl.take(crawl.on(machine), str(n), rows)
            crawl.caught_up(machine)
        except (Killed, LogAway):
            crawl.files.is_away = False
        monkeypatch.undo()
        crawl.take(crawl.on(draw.choice("abc")), str(n), rows)
        assert seen(crawl.caught_up(draw.choice("abc"))) == seen(crawl.alone)
    assert [seen(crawl.caught_up(machine)) for machine in "abcd"] == 4 * [seen(crawl.alone)]


@pytest.mark.parametrize("place", PLACES)
def test_a_machine_that_is_killed_has_what_the_log_has(
    crawl: Crawl, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    crawl.take(crawl.on("a"), "1", A)
    monkeypatch.setattr(failpoints, "reached", killing_at(place))
    with suppress(Killed):
        crawl.take(crawl.on("a"), "2", B)
        crawl.caught_up("a")
        pytest.fail("is not passed")
    monkeypatch.undo()
    if "2" not in crawl.log:
        assert seen(crawl.caught_up("b")) == seen(crawl.alone)
        crawl.take(crawl.on("a"), "2", B)
    assert seen(crawl.caught_up("a")) == seen(crawl.caught_up("b")) == seen(crawl.alone)


def test_what_is_here_is_not_copied_again(crawl: Crawl, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    after = crawl.files.after
    monkeypatch.setattr(crawl.files, "after", lambda number: asked.append(number) or after(number))
    for n in range(3):
        crawl.take(crawl.on("a"), f"{n}", B)
        crawl.caught_up("a")
    assert asked == [0, 1, 2]


def test_a_batch_of_no_log_is_seen_by_nobody_and_goes_in_time(crawl: Crawl) -> None:
    crawl.take(crawl.on("a"), "1", A)
    stage(crawl.on("a"), "lost", B)
    visits = crawl.caught_up("a")
    assert seen(visits) == seen(crawl.alone)
    staged = seen_in(visits._folder).parent / "staged"
    assert [batch.name.split(".")[0] for batch in staged.iterdir()] == [token_of("lost")]
    assert visits.expire(FOREVER) == [DAY, DAY + 1]
    assert not list(staged.iterdir())


def test_of_two_batches_of_one_id_that_of_the_log_counts(crawl: Crawl) -> None:
    stage(crawl.on("a"), "1", A)
    crawl.take(crawl.on("b"), "1", B)
    stage(crawl.on("c"), "1", [*A, *B])
    assert seen(crawl.caught_up("a")) == seen(crawl.caught_up("d")) == seen(crawl.alone)


def test_days_expire_by_their_arrival_and_not_by_when_they_were_copied(crawl: Crawl) -> None:
    crawl.take(crawl.on("a"), "1", A)
    assert crawl.caught_up("b").expire(1e9) == []
    assert crawl.caught_up("b").expire(1e9 + 0.5) == [DAY]
    assert crawl.caught_up("b").expire(1e9 + 1.5) == [DAY + 1]


def test_nothing_is_left_of_a_crawl_of_the_name_before(crawl: Crawl) -> None:
    crawl.take(crawl.on("a"), "1", A)
    assert crawl.caught_up("a").days()
    crawl.files.there, crawl.files.identity = [], "another"
    crawl.log = {"2": stage(crawl.on("b"), "2", B)}
    assert list(crawl.caught_up("a").days()) == [DAY]
    assert crawl.on("a").salt() == crawl.on("b").salt()


def test_what_is_no_file_of_visits_is_passed_over_by_name(
    crawl: Crawl, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    crawl.files.add([("../../../evil", b"x"), (f"{secrets.token_hex(16)}/2026-01-01.parquet", b"")])
    crawl.take(crawl.on("a"), "1", A)
    assert seen(crawl.caught_up("a")) == seen(crawl.alone)
    assert "'../../../evil', is no file of visits" in caplog.text
    assert not list(tmp_path.rglob("evil"))


def test_copies_of_crawls_that_are_elsewhere_go_after_a_while(crawl: Crawl, tmp_path: Path) -> None:
    crawl.take(crawl.on("a"), "1", A)
    folders = [crawl.caught_up(machine)._folder for machine in "ab"]
    os.utime(seen_in(folders[0]), (5.0, 5.0))
    kept = tmp_path / "of a server with files"
    kept.mkdir()
    drop_left([*folders, kept], 10.0)
    assert [folder.exists() for folder in (*folders, kept)] == [False, True, True]
    assert seen(crawl.caught_up("a")) == seen(crawl.alone)
