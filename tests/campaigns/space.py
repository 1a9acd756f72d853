"""``make space N=12``: a small disk is filled, and freed, again and again; nothing is lost or doubled.

The data folder is a tmpfs of its own. A file beside it takes what is free but for a little, calls go on until
one is refused, which must be as DISK_FULL; crawls that are open answer questions. Sometimes the server is
killed while the disk is full. Then the file goes, and the same calls must be taken in. Half of the servers
have a space alarm, the others meet the full disk itself. Where a tmpfs may not be mounted it says so and ends
well.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

from campaigns import kills
from campaigns.fast_servers import FastServer, FastServers
from linkscore.v1 import browse_log_service_pb2 as browse_pb
from linkscore.v1 import common_pb2 as common
from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_server.crawls.libraries import registrable_domain
from linkscore_server.storage.check import problems_of_store
from linkscore_server.storage.files import FileStore
from linkscore_server.storage.replays import unlike_their_replay
from support.server_process import Refusal, Stubs, stubs

DISK_MB = 48
_LEFT_BYTES = (0, 400_000)  # on a disk that is filled
_TAKEN_AGAIN_S = 60.0  # after which a freed disk must be noticed; the server looks every 5 s
_TIMEOUT_S = 120.0
_REPEATS = 3
_PIECE = 1 << 16


@dataclass(slots=True)
class Outcome:
    """What a campaign did and found."""

    fills: int = 0
    refused: int = 0
    killed: int = 0
    unanswered: int = 0
    problems: list[str] = field(default_factory=list)


@contextmanager
def small_disk(folder: Path) -> Iterator[bool]:
    """Mount a small disk on a folder; gives whether that may be done."""
    folder.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m,mode=0700", "tmpfs", str(folder)]
    is_there = bool(shutil.which("mount")) and not subprocess.run(command, capture_output=True).returncode
    try:
        yield is_there
    finally:
        if is_there:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


class Run:
    """One crawl on a small disk."""

    def __init__(self, servers: FastServers, folder: Path, rng: random.Random, outcome: Outcome) -> None:
        self._servers = servers
        self._folder = folder
        self._rng = rng
        self._outcome = outcome
        self._ballast = folder / "data" / "ballast"
        self._steps = iter(kills.steps(revisits=False))
        self._settings = {"min_free_mb": rng.choice((0, 2)), "snapshot_events": rng.choice((3, 10, 5_000))}
        self._acked: list[kills.Step] = []
        self._server = self._started()

    def run(self, fills: int) -> None:
        """Fill and free the disk so often."""
        with stubs(self._server.target) as connected:
            connected.crawls.CreateCrawl(kills.creation(), timeout=_TIMEOUT_S)
        for _ in range(fills):
            self._outcome.fills += 1
            self._go_on(self._rng.randrange(12))
            self._fill()
            refused = self._until_refused()
            self._check()
            if self._rng.random() < 0.5:
                self._server.kill()
                self._outcome.killed += 1
                self._server = self._started()
                self._check()
            self._ballast.unlink()
            if refused is not None:
                self._take_again(refused)
        self._check()
        self._server.kill()
        store = FileStore(self._folder / "data")
        self._tell([*problems_of_store(store), *unlike_their_replay(store, registrable_domain)])
        store.close()

    def _started(self) -> FastServer:
        server = self._servers.start(self._folder, learning_processes=0, **self._settings)
        server.wait()
        return server

    def _fill(self) -> None:
        """Take what is free on the disk but for a little."""
        left = self._rng.randint(*_LEFT_BYTES)
        with self._ballast.open("wb", buffering=0) as ballast:
            while (free := shutil.disk_usage(self._folder / "data").free) > left:
                try:
                    ballast.write(bytes(min(_PIECE, free - left)))
                except OSError:
                    return

    def _go_on(self, calls: int) -> None:
        for _ in range(calls):
            if (step := next(self._steps, None)) is not None:
                self._take_again(step)

    def _until_refused(self) -> kills.Step | None:
        """Make calls until one is refused; returns it, None if no call is left."""
        with stubs(self._server.target) as connected:
            for step in self._steps:
                if (refusal := self._settled(connected, step)) is None:
                    continue
                self._outcome.refused += 1
                if (refusal.code, refusal.reason) != (grpc.StatusCode.RESOURCE_EXHAUSTED, "DISK_FULL"):
                    self._tell([f"{step}: refused as {refusal.code} {refusal.reason}: {refusal.message}"])
                if not refusal.retry_s:
                    self._tell([f"{step}: refused without a time to come again"])
                return step
        return None

    def _settled(self, connected: Stubs, step: kills.Step) -> Refusal | None:
        """Make a call; repeat it if the crawl was opened again, as its snapshot found no room."""
        for _ in range(_REPEATS):
            refusal = self._sent(connected, step)
            if refusal is None or refusal.code is not grpc.StatusCode.UNAVAILABLE:
                break
        return refusal

    def _take_again(self, step: kills.Step) -> None:
        """Send a call until it is taken in."""
        until = time.monotonic() + _TAKEN_AGAIN_S
        with stubs(self._server.target) as connected:
            while (refusal := self._sent(connected, step)) is not None:
                if time.monotonic() > until:
                    self._tell([f"{step}: still refused on a disk with room: {refusal.message}"])
                    return
                time.sleep(0.1)

    def _sent(self, connected: Stubs, step: kills.Step) -> Refusal | None:
        """Make a call; returns how it was refused."""
        try:
            answer: Any = step.send(connected).result()
        except grpc.RpcError as error:
            return Refusal(error)
        codes = [status.code for status in step.statuses(answer)]
        if codes != [common.ITEM_CODE_OK]:  # what was refused left nothing behind
            self._tell([f"{step}: {codes}"])
        self._acked.append(step)
        return None

    def _check(self) -> None:
        """Compare what the crawl has with what was acknowledged; a full disk answers questions too."""
        with stubs(self._server.target) as connected:
            try:
                crawl = connected.crawls.GetCrawl(
                    crawl_pb.GetCrawlRequest(name=kills.CRAWL), timeout=_TIMEOUT_S
                ).crawl
                stats = connected.browse.GetBrowseStats(
                    browse_pb.GetBrowseStatsRequest(crawl=kills.CRAWL), timeout=_TIMEOUT_S
                )
                order = pb.RankBucketsRequest(crawl=kills.CRAWL, buckets=["a"])
                connected.links.RankBuckets(order, timeout=_TIMEOUT_S)
            except grpc.RpcError as error:
                # A crawl that has to be opened on a disk without any room is not: its states need some.
                if self._ballast.exists() and Refusal(error).reason == "DISK_FULL":
                    self._outcome.unanswered += 1
                else:
                    self._tell([f"a question is refused: {error.code()} {error.details()}"])
                return
        got = (crawl.page_count, crawl.feedback_count, stats.batch_count)
        if got != (certain := kills.counts(self._acked)):
            self._tell([f"pages, feedback, batches are {got}; {certain} were acknowledged"])

    def _tell(self, problems: list[str]) -> None:
        found = [f"{self._folder.name}, fill {self._outcome.fills}, {self._settings}: {p}" for p in problems]
        self._outcome.problems += found
        if found:
            print(*found, sep="\n", flush=True)


_FILLS_A_RUN = 4


def campaign(fills: int, seed: int) -> Outcome | None:
    """Fill a disk so often; None if none may be mounted."""
    outcome = Outcome()
    with FastServers() as servers, tempfile.TemporaryDirectory(prefix="linkscore-space-") as scratch:
        while (left := fills - outcome.fills) > 0:
            folder = Path(scratch) / f"{seed}-{outcome.fills}"
            with small_disk(folder / "data") as is_there:
                if not is_there:
                    return None
                rng = random.Random(folder.name)
                Run(servers, folder, rng, outcome).run(min(left, _FILLS_A_RUN))
    return outcome


def main() -> int:
    """Fill, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--fills", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    done = campaign(given.fills, given.seed)
    if done is None:
        print("full disks: skipped, only root may mount a tmpfs")
        return 0
    print(
        f"seed {given.seed}: {done.fills} full disks, {done.refused} calls refused, {done.killed} kills on a "
        f"full disk, {done.unanswered} questions refused as DISK_FULL, {len(done.problems)} problems"
    )
    return bool(done.problems)


if __name__ == "__main__":
    sys.exit(main())
