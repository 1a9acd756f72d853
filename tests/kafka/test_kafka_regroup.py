"""A crawl on real brokers is regrouped, whatever comes between, and answers as one regrouped in files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from linkscore.v1 import inspection_service_pb2 as inspection_pb
from linkscore_scoring.engine.events import ConfigChanged, encode
from linkscore_server.regroup.files import regroup
from linkscore_server.storage.base import LogAway, Store
from linkscore_server.storage.files import FileStore
from linkscore_server.storage.formats import TICKET_KEY
from linkscore_server.storage.kafka.store import KafkaStore
from support.cluster.brokers import Brokers
from support.cluster.fleet import Fleet, insistently
from support.command_line import run
from support.divided_events import CONFIG, page_of
from support.grouped_crawls import SITES, Crawler, create, spec
from support.server_process import Stubs, serving, stubs

pytestmark = pytest.mark.slow

GROUPS = 16
PAGES = int(os.environ.get("PAGES", "600"))
"""Pages of the crawl whose answers are compared."""
EVENTS = int(os.environ.get("EVENTS", "20000"))
"""Events of the crawl that the command is killed at."""
ASKED_LINKS = 300
REPLAY_S = 1_800.0
"""Longest replay of all logs: a bound, for many pages on a machine that others use."""
AWAY_S = 6.0


def kafka(brokers: Brokers, prefix: str) -> tuple[str, ...]:
    return "--log", f"kafka://{brokers.hosts}", "--kafka-prefix", prefix


def new_store(brokers: Brokers, prefix: str, folder: Path) -> KafkaStore:
    return KafkaStore.at(brokers.hosts, folder, properties={}, prefix=prefix, replicas=3, owner=folder.name)


def bytes_on(brokers: Brokers, topic: str) -> int:
    """Return what a topic takes on the disks of all brokers."""
    return sum(path.stat().st_size for path in brokers.folder.glob(f"broker-*/data/{topic}-*/*.log"))


def logs_in(store: Store) -> list[list[bytes]]:
    found = []
    for key in store.shards():
        with closing(store.open(key)) as log:
            found.append([event for _, event in log.read()])
    return found


class SameQuestions(Crawler):
    """Asks one server what it asks another."""

    def asked(self, server: Stubs) -> list[Any]:
        self.server, self.answers = server, []
        self.links = self.links[-ASKED_LINKS:]
        self.ask()
        return self.answers


def crawled(folder: Path, groups: int) -> SameQuestions:
    """Crawl in files; returns who did it, and leaves the crawl in `folder`."""
    with serving(folder) as process, stubs(process.target) as server:
        crawler = SameQuestions(server, create(server, "books", groups, policy=spec("harvest")))
        for first in range(0, PAGES // len(SITES), 3):
            crawler.send(first, first + 3)
            crawler.links = crawler.links[-2 * ASKED_LINKS :]
    return crawler


def settled(crawler: SameQuestions, server: Stubs) -> list[Any]:
    """Return what a server answers once its logs are replayed and nothing is learned any more."""
    until = time.monotonic() + REPLAY_S
    request = inspection_pb.GetActivityRequest(crawl=crawler.crawl)
    while insistently(lambda: server.inspection.GetActivity(request), REPLAY_S).learning_site_count:
        assert time.monotonic() < until, "it learns for ever"
        time.sleep(0.2)
    return crawler.asked(server)


@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("groups_before", [1, 3])
def test_it_answers_as_one_that_was_regrouped_in_files(
    groups_before: int, brokers: Brokers, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    crawler, prefix = crawled(tmp_path, groups_before), f"answers-{groups_before}"
    data, file = tmp_path / "data", tmp_path / "books.linkscore"
    assert run("data", "export", "books", file, "--data-dir", data).exit_code == 0
    with closing(new_store(brokers, prefix, tmp_path / "mover")) as store:
        store.topics.make(store.topics.secret, 1)
        store.brokers.append(store.topics.secret, 0, None, (data / TICKET_KEY.path).read_bytes())
    assert run("data", "import", file, *kafka(brokers, prefix)).exit_code == 0
    before, began = bytes_on(brokers, f"{prefix}.log.books"), time.monotonic()
    done = run("data", "regroup", "books", "--groups", GROUPS, *kafka(brokers, prefix))
    assert done.exit_code == 0, done.output
    took_s, after = time.monotonic() - began, bytes_on(brokers, f"{prefix}.log.books")
    assert run("data", "regroup", "books", "--groups", GROUPS, "--data-dir", data).exit_code == 0
    fleet = Fleet(tmp_path, brokers.hosts, prefix, session_s=8)
    try:
        fleet.start("lone", "lone")
        [target] = fleet.targets()
        with serving(tmp_path) as process, stubs(process.target) as files, stubs(target) as on_brokers:
            assert settled(crawler, on_brokers) == settled(crawler, files)
            for server in (on_brokers, files):
                crawler.server = server
                crawler.send(PAGES, PAGES + 3)
            assert settled(crawler, on_brokers) == settled(crawler, files)
    finally:
        fleet.close()
    said = f"{PAGES} pages, {groups_before} to {GROUPS} groups: {took_s:.1f} s, {before:,} to {after:,} bytes"
    with capsys.disabled():
        print(f"\n{said}", end="")


def written(folder: Path) -> None:
    """Write a crawl of one group of many small events."""
    with closing(FileStore(folder)) as store, closing(store.open("crawl")) as log:
        log.append([encode(ConfigChanged(CONFIG.to_state()))])
        for first in range(0, EVENTS, 250):
            log.append([encode(page_of(f"{n % 97}.test", n)) for n in range(first, first + 250)])


def in_brokers(brokers: Brokers, prefix: str, folder: Path) -> list[list[bytes]]:
    """Bring a crawl to the brokers, and regroup it in files; returns the logs of these."""
    written(folder)
    file = folder / "crawl.linkscore"
    assert run("data", "export", "crawl", file, "--data-dir", folder).exit_code == 0
    assert run("data", "import", file, *kafka(brokers, prefix)).exit_code == 0
    with closing(FileStore(folder)) as store:
        regroup(store, "crawl", GROUPS)
        return logs_in(store)


def begun(brokers: Brokers, prefix: str) -> subprocess.Popen[str]:
    command = ["data", "regroup", "crawl", "--groups", str(GROUPS), *kafka(brokers, prefix)]
    return subprocess.Popen(
        [sys.executable, "-m", "linkscore_cli", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def run_through(brokers: Brokers, prefix: str) -> float:
    """Run the command to its end; returns the seconds it took."""
    began, process = time.monotonic(), begun(brokers, prefix)
    said, _ = process.communicate()
    assert process.returncode == 0, said
    return time.monotonic() - began


def has_events(store: KafkaStore, topic: str) -> bool:
    """Say whether the last group of a topic has more than markers."""
    try:
        return store.topics.partitions(topic) == GROUPS and store.brokers.end(topic, GROUPS - 1) > 2
    except LogAway:  # deleted meanwhile
        return False


MOMENTS: dict[str, Callable[[KafkaStore, str, str], bool]] = {
    "a draft is there": lambda store, draft, log: store.topics.partitions(draft) == GROUPS,
    "it has events": lambda store, draft, log: has_events(store, draft),
    "the log was deleted": lambda store, draft, log: store.topics.partitions(log) != 1,
    "it is there again": lambda store, draft, log: store.topics.partitions(log) == GROUPS,
    "its last group has events": lambda store, draft, log: has_events(store, log),
}
"""When the command is killed."""


@pytest.mark.timeout(3_600)
def test_killed_at_any_moment_it_ends_right_when_it_is_run_again(
    brokers: Brokers, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    right, seen = in_brokers(brokers, "kills", tmp_path / "files"), []
    took_s = run_through(brokers, "kills")
    with closing(new_store(brokers, "kills", tmp_path / "reader")) as store:
        assert logs_in(store) == right
        draft, log = store.topics.draft_of("crawl"), store.topics.log_of("crawl")
        for name, has_come in MOMENTS.items():
            store.delete("crawl")
            imported = tmp_path / "files/crawl.linkscore"
            assert run("data", "import", imported, *kafka(brokers, "kills")).exit_code == 0
            process = begun(brokers, "kills")
            while process.poll() is None and not has_come(store, draft, log):
                time.sleep(0.01)
            process.kill()
            process.communicate()
            seen.append(f"{name}: {state_of(store, right)}")
            if "regrouped" not in seen[-1]:
                run_through(brokers, "kills")
            assert logs_in(store) == right
    with capsys.disabled():
        print(f"\n{EVENTS} events, {took_s:.1f} s; killed when", "; ".join(seen), end="")


def state_of(store: KafkaStore, right: list[list[bytes]]) -> str:
    """Say what a server finds of a crawl after the command was killed."""
    try:
        store.check_in_place("crawl")
    except LogAway:
        return "closed"
    found = logs_in(store)
    assert found == right or [len(log) for log in found] == [EVENTS + 1]
    return "regrouped" if found == right else "as it was"


@pytest.mark.timeout(1_800)
def test_brokers_that_are_away_for_a_while_are_waited_for(brokers: Brokers, tmp_path: Path) -> None:
    right = in_brokers(brokers, "away", tmp_path / "files")
    process = begun(brokers, "away")
    with closing(new_store(brokers, "away", tmp_path / "reader")) as store:
        while process.poll() is None and not has_events(store, store.topics.draft_of("crawl")):
            time.sleep(0.01)
        for number in range(3):
            brokers.signal(number, signal.SIGSTOP)
        time.sleep(AWAY_S)
        for number in range(3):
            brokers.signal(number, signal.SIGCONT)
        process.communicate()
        if process.returncode:
            run_through(brokers, "away")
        assert logs_in(store) == right


@pytest.mark.timeout(1_800)
def test_beside_a_cluster_it_is_refused(brokers: Brokers, tmp_path: Path) -> None:
    right = in_brokers(brokers, "running", tmp_path / "files")
    fleet = Fleet(tmp_path, brokers.hosts, "running", session_s=8)
    try:
        fleet.start("member")
        refused = begun(brokers, "running")
        said, _ = refused.communicate()
        assert refused.returncode == 1
        assert "1 servers have the crawls of these topics; stop them first" in said
    finally:
        fleet.close()
    run_through(brokers, "running")
    with closing(new_store(brokers, "running", tmp_path / "reader")) as store:
        assert logs_in(store) == right
