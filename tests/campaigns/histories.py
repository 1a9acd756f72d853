"""``make histories N=40``: several clients at once, through kills, stops and jumps of the clock.

Each client writes pages and feedback and reads what the crawl has. A call without an answer is indeterminate,
and its write is sent again. Meanwhile the server is killed and started with other settings, stopped for a
while (SIGSTOP), or its wall clock jumps by up to a year. What all of them saw is one history, and
`campaigns.history` says whether a crawl that loses nothing could have shown it. Now and then a checksum of
the live state is taken, and held against that of a replay.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import grpc

from campaigns import kills, options
from campaigns.fast_servers import FastServer, FastServers
from campaigns.history import Call, Outcome, violations
from linkscore.v1 import common_pb2 as common
from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_server.crawls.libraries import registrable_domain
from linkscore_server.storage.cutting import cut_seq
from linkscore_server.storage.files import FileStore
from linkscore_server.storage.replays import crawl_in, digest_of
from support.server_process import Stubs, stubs
from support.small_site import page, url_of

CLIENTS = 4
KINDS = ("kill", "stop", "clock", "digest")
_FAULTS_A_ROUND = 8  # with one folder; more make each replay longer
_BETWEEN_S = (0.2, 1.5)
_STOPPED_S = (0.1, 3.0)  # some longer than the clients wait
_WAITS_S = 1.5  # of a client, for an answer
_PAUSE_S = 0.1  # of a client, after a call that was not answered
_MOST_OPEN = 3  # writes of a client whose fate is not known
_YEAR_S = 365 * 86_400.0
_REFUSED = (grpc.StatusCode.RESOURCE_EXHAUSTED,)
_PATIENT_S = 120.0


@dataclass(slots=True)
class Outcomes:
    """What a campaign did and found."""

    faults: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


class Round:
    """One folder, its server, and the clients that share it."""

    def __init__(self, servers: FastServers, folder: Path, seed: str, outcomes: Outcomes) -> None:
        self._servers = servers
        self._folder = folder
        self._seed = seed
        self._rng = random.Random(seed)
        self._outcomes = outcomes
        self._history: list[Call] = []
        self._ending = threading.Event()
        self._gate = threading.Condition()
        self._working, self._is_closed = 0, False
        self._clock_s = 0.0
        self._server = self._started()

    def run(self, faults: int) -> None:
        """Make so many faults while clients work, then hold all they saw against the crawl."""
        clients = [_Client(number, self) for number in range(CLIENTS)]
        threads = [threading.Thread(target=client.run) for client in clients]
        with stubs(self._server.target) as connected:
            connected.crawls.CreateCrawl(kills.creation(), timeout=_PATIENT_S)
        for thread in threads:
            thread.start()
        for _ in range(faults):
            self._ending.wait(self._rng.uniform(*_BETWEEN_S))
            kind = self._rng.choice(KINDS)
            self._outcomes.faults[kind] += 1
            getattr(self, f"_{kind}")()
        self._ending.set()
        for thread in threads:
            thread.join()
        for client in clients:
            client.settle()
        self._digest()
        self._server.kill()
        found = violations(self._history)
        found += [problem for client in clients for problem in client.problems]
        self._outcomes.calls += Counter(call.outcome.value for call in self._history)
        self._tell(found)

    @property
    def is_ending(self) -> bool:
        """Whether clients shall end."""
        return self._ending.is_set()

    @property
    def target(self) -> str:
        """Where the server listens now."""
        return self._server.target

    def pause(self, seconds: float) -> None:
        """Wait a little, or until the round ends."""
        self._ending.wait(seconds)

    def note(self, call: Call) -> None:
        """Add to the history."""
        self._history.append(call)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Make a call, once none has to wait for a checksum."""
        with self._gate:
            self._gate.wait_for(lambda: not self._is_closed)
            self._working += 1
        try:
            yield
        finally:
            with self._gate:
                self._working -= 1
                self._gate.notify_all()

    def _started(self) -> FastServer:
        settings = options.drawn(self._rng) | {"max_items_in_work": 64}
        server = self._servers.start(self._folder, **settings)
        server.wait()
        return server

    def _kill(self) -> None:
        self._server.kill()
        self._server = self._started()

    def _stop(self) -> None:
        self._server.stop()
        time.sleep(self._rng.uniform(*_STOPPED_S))
        self._server.go_on()

    def _clock(self) -> None:
        self._clock_s = self._rng.choice((-1, 1)) * self._rng.uniform(0.0, _YEAR_S)
        self._server.set_clock(self._clock_s)

    def _digest(self) -> None:
        """Take a checksum of what the server has in memory while nobody writes; compare it with the log's."""
        with self._gate:
            self._is_closed = True
            self._gate.wait_for(lambda: not self._working)
        live = self._server.digests()
        copy = self._folder / "copy"
        self._server.stop()
        shutil.copytree(self._folder / "data", copy)  # as a kill would leave it
        self._server.go_on()
        with self._gate:
            self._is_closed = False
            self._gate.notify_all()
        store = FileStore(copy)
        for key, (seq, digest) in live.items():
            from_log = not cut_seq(store.crawl_folder(key))
            with crawl_in(store, key, domain_of=registrable_domain, from_log=from_log, until=seq) as model:
                if model.seq == seq and digest_of(model) != digest:
                    self._tell([f"crawl {key}: after event {seq} memory and a replay are not the same"])
        store.close()
        shutil.rmtree(copy)

    def _tell(self, problems: list[str]) -> None:
        found = [f"seed {self._seed}: {problem}" for problem in problems]
        self._outcomes.problems += found
        if found:
            print(*found, sep="\n", flush=True)


class _Client:
    """Writes and reads, one call after the other; a write is sent until it is answered."""

    def __init__(self, number: int, shared: Round) -> None:
        self._number = number
        self._shared = shared
        self._rng = random.Random(f"{shared._seed} {number}")
        self._next = number
        self._open: list[tuple[str, int]] = []
        """Kind and number of writes whose fate is not known."""
        self.problems: list[str] = []

    def run(self) -> None:
        """Work until the round ends."""
        while not self._shared.is_ending:
            with stubs(self._shared.target) as connected:
                while not self._shared.is_ending and self._go_on(connected):
                    pass
            self._shared.pause(_PAUSE_S)

    def settle(self) -> None:
        """Send again what has no answer, and read for the last time."""
        with stubs(self._shared.target) as connected:
            for kind, number in self._open:
                self._write(connected, kind, number, _PATIENT_S)
            self._read(connected, _PATIENT_S)

    def _go_on(self, connected: Stubs) -> bool:
        """Make a call; says whether the connection is of use still."""
        with self._shared.working():
            if self._rng.random() < 0.3:
                return self._read(connected, _WAITS_S)
            if len(self._open) >= _MOST_OPEN or (self._open and self._rng.random() < 0.5):
                kind, number = self._open.pop(0)
            else:
                kind, number = self._rng.choice(("page", "feedback")), self._next
                self._next += CLIENTS
            if not self._write(connected, kind, number, _WAITS_S):
                self._open.append((kind, number))
                return False
            return True

    def _write(self, connected: Stubs, kind: str, number: int, timeout_s: float) -> bool:
        """Write; says whether it was answered."""
        name = f"{kind}-{number}"
        if kind == "page":
            pages = pb.IngestPagesRequest(crawl=kills.CRAWL, pages=[page(number, event_id=name)])

            def call() -> tuple[int, int]:
                [result] = connected.links.IngestPages(pages, timeout=timeout_s).results
                return result.status.code, result.event_seq
        else:
            given = pb.Feedback(event_id=name, url=url_of(number), reward=float(number % 3 == 0))
            feedback = pb.ReportFeedbackRequest(crawl=kills.CRAWL, feedback=[given])

            def call() -> tuple[int, int]:
                [status] = connected.links.ReportFeedback(feedback, timeout=timeout_s).statuses
                return status.code, 0

        return self._made(kind, name, call)

    def _made(self, kind: str, name: str, call: Callable[[], tuple[int, int]]) -> bool:
        began, seq = time.monotonic(), 0
        try:
            code, seq = call()
            outcome = {common.ITEM_CODE_OK: Outcome.DONE, common.ITEM_CODE_DUPLICATE: Outcome.AGAIN}[code]
        except grpc.RpcError as error:
            outcome = Outcome.REFUSED if error.code() in _REFUSED else Outcome.UNKNOWN
        except KeyError:
            self.problems.append(f"{name}: answered with code {code}")
            outcome = Outcome.UNKNOWN
        ended = time.monotonic()
        seq = seq if outcome is Outcome.DONE else 0
        self._shared.note(Call(self._number, began, ended, kind, outcome, write=name, seq=seq))
        return outcome in (Outcome.DONE, Outcome.AGAIN)

    def _read(self, connected: Stubs, timeout_s: float) -> bool:
        """Read the counts of the crawl, or ask for an order of buckets; says whether there was an answer."""
        began, counts = time.monotonic(), ()
        try:
            if self._rng.random() < 0.5:
                got = connected.crawls.GetCrawl(
                    crawl_pb.GetCrawlRequest(name=kills.CRAWL), timeout=timeout_s
                ).crawl
                seq, counts = got.event_seq, (("page", got.page_count), ("feedback", got.feedback_count))
            else:
                request = pb.RankBucketsRequest(crawl=kills.CRAWL, buckets=["a", "b"], n=1)
                seq = connected.links.RankBuckets(request, timeout=timeout_s).event_seq
        except grpc.RpcError:
            return False
        ended = time.monotonic()
        self._shared.note(Call(self._number, began, ended, "read", Outcome.DONE, seq=seq, counts=counts))
        return True


def campaign(faults: int, seed: int) -> Outcomes:
    """Make so many faults."""
    outcomes, started = Outcomes(), time.monotonic()
    with FastServers() as servers, tempfile.TemporaryDirectory(prefix="linkscore-histories-") as scratch:
        while (left := faults - outcomes.faults.total()) > 0:
            name = f"{seed}-{outcomes.faults.total()}"
            Round(servers, Path(scratch) / name, name, outcomes).run(min(left, _FAULTS_A_ROUND))
            print(
                f"{outcomes.faults.total()} faults, {outcomes.calls.total()} calls, "
                f"{len(outcomes.problems)} problems, {time.monotonic() - started:.0f} s",
                flush=True,
            )
    return outcomes


def main() -> int:
    """Make faults, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--faults", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    done = campaign(given.faults, given.seed)
    print(
        "| | times |",
        "|---|---|",
        *(f"| {kind} | {done.faults[kind]} |" for kind in KINDS),
        *(f"| calls {outcome.value} | {done.calls[outcome.value]} |" for outcome in Outcome),
        f"seed {given.seed}: {done.faults.total()} faults, {len(done.problems)} problems",
        sep="\n",
    )
    return bool(done.problems)


if __name__ == "__main__":
    sys.exit(main())
