"""Cuts the power of servers, again and again, and says what was lost.

A chain of lives shares a folder. Of each life all calls are recorded; some cuts are made anywhere in it, each
gives a folder, which is opened and checked, and the last of these is where the next life begins. The files of
a life must be those that its record gives: so no call is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import msgpack

from campaigns import options
from campaigns.power.disk import Call, Disk, calls
from campaigns.power.life import Known, begin, end, live
from linkscore_server.browse_logs.visits.files import FAILPOINTS
from linkscore_server.storage import failpoints

RECORDER = Path(__file__).with_name("recorder.c")
_CUTS_A_LIFE = 4
_LIVES_A_CHAIN = 8  # more make each check longer: it replays all events
_CALLS_A_LIFE = (6, 45)
_AT_FAILPOINTS = 0.5  # share of cuts that are made where one is passed; the others anywhere
_LIVED_S = 300.0
_MOST_PROBLEMS = 20  # after which a campaign ends


@dataclass(slots=True)
class Outcome:
    """What a campaign did and found."""

    cuts: int = 0
    lives: int = 0
    calls: int = 0
    places: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


class Chain:
    """Lives on one folder, with a power cut after each."""

    def __init__(self, scratch: Path, seed: str, outcome: Outcome) -> None:
        self._disk, self._trace, self._found = scratch / "disk", scratch / "trace", scratch / "found"
        self._before = scratch / "before"
        self._scratch = scratch
        self._seed = seed
        self._rng = random.Random(seed)
        self._known = Known()
        self._outcome = outcome
        self._before.mkdir()

    def run(self, cuts: int) -> None:
        """Live and cut so often, if nothing is found."""
        while cuts and self._lived(self._before, self._known, self._rng.randint(*_CALLS_A_LIFE)):
            recorded = list(calls(self._trace.read_bytes()))
            self._outcome.lives += 1
            self._outcome.calls += len(recorded)
            self._compare(recorded)
            for _ in range(min(cuts, _CUTS_A_LIFE)):
                cuts -= 1
                after, known = self._cut(recorded)
                if not self._lived(after, known, 0):
                    return
            shutil.rmtree(self._before)
            after.rename(self._before)
            self._known = known

    def _cut(self, recorded: list[Call]) -> tuple[Path, Known]:
        """Cut the power somewhere; returns the folder that is left, and what is known of it."""
        at, place = self._where(recorded)
        disk, known = Disk(self._disk, self._before), self._known.copy()
        for call in recorded[:at]:
            disk.do(call)
            if call.kind == "K":
                known.note(msgpack.unpackb(call.first))
        after = self._scratch / "after"
        shutil.rmtree(after, ignore_errors=True)
        disk.cut(self._rng, after)
        self._outcome.cuts += 1
        self._outcome.places[place] += 1
        return after, known

    def _where(self, recorded: list[Call]) -> tuple[int, str]:
        passed = [
            (number, mark[1])
            for number, call in enumerate(recorded, start=1)
            if call.kind == "K" and (mark := msgpack.unpackb(call.first))[0] == "at"
        ]
        if not passed or self._rng.random() > _AT_FAILPOINTS:
            return self._rng.randrange(len(recorded) + 1), "anywhere"
        place = self._rng.choice(sorted({name for _, name in passed}))
        return self._rng.choice([number for number, name in passed if name == place]), place

    def _compare(self, recorded: list[Call]) -> None:
        """Compare the record with the files: a call that was missed would make cuts of no worth."""
        disk = Disk(self._disk, self._before)
        for call in recorded:
            disk.do(call)
        files = {
            str(path.relative_to(self._disk)): path.read_bytes()
            for path in self._disk.rglob("*")
            if path.is_file()
        }
        if (made := disk.now()) != files:
            other = [name for name in made.keys() | files.keys() if made.get(name) != files.get(name)]
            self._tell([f"the record misses calls: {other}"])

    def _lived(self, source: Path, known: Known, n_calls: int) -> bool:
        """Have a process open a copy of a folder, and make calls; says whether all is well."""
        shutil.rmtree(self._disk, ignore_errors=True)
        shutil.copytree(source, self._disk)
        self._found.unlink(missing_ok=True)
        settings = options.drawn(self._rng) | {"learning_processes": 0}
        rng = random.Random(self._rng.random())
        if not (pid := os.fork()):
            self._live(known, rng, settings, n_calls)
        _wait_for(pid)
        problems = json.loads(self._found.read_text()) if self._found.exists() else ["the process ended"]
        self._tell([f"{problem}; settings {settings}" for problem in problems])
        return not problems

    def _live(self, known: Known, rng: random.Random, settings: dict[str, object], n_calls: int) -> None:
        """Be the process that opens the folder."""
        try:
            begin(self._trace, self._disk)
            problems = asyncio.run(_in_time(live(self._disk / "data", known, rng, settings, n_calls)))
        except BaseException:
            problems = [traceback.format_exc()]
        self._found.write_text(json.dumps(problems))
        end()
        os._exit(0)

    def _tell(self, problems: list[str]) -> None:
        found = [f"seed {self._seed}, cut {self._outcome.cuts}: {problem[:3_000]}" for problem in problems]
        self._outcome.problems += found
        for line in found:
            print(line, flush=True)


async def _in_time(living: object) -> list[str]:
    return await asyncio.wait_for(living, _LIVED_S)  # type: ignore[arg-type]


def _wait_for(pid: int) -> None:
    os.waitpid(pid, 0)


def campaign(cuts: int, seed: int, *, syncs: bool = True) -> Outcome:
    """Cut as often; the process must have the recorder loaded. `syncs` off: the log is not synced."""
    if not syncs:
        os.fdatasync = lambda fd: None
    outcome, started = Outcome(), time.monotonic()
    while outcome.cuts < cuts and len(outcome.problems) < _MOST_PROBLEMS:
        most = min(cuts - outcome.cuts, _CUTS_A_LIFE * _LIVES_A_CHAIN)
        with tempfile.TemporaryDirectory(prefix="linkscore-power-") as scratch:
            Chain(Path(scratch).resolve(), f"{seed}/{outcome.cuts}", outcome).run(most)
        print(
            f"{outcome.cuts} power cuts, {len(outcome.problems)} problems, "
            f"{time.monotonic() - started:.0f} s",
            flush=True,
        )
    return outcome


def recorded(*arguments: str) -> int | None:
    """Run the campaign in a process that has the recorder loaded; None without a C compiler or Linux."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or sys.platform != "linux":
        return None
    with tempfile.TemporaryDirectory(prefix="linkscore-recorder-") as scratch:
        library = Path(scratch) / "recorder.so"
        subprocess.run([compiler, "-shared", "-fPIC", "-O2", "-o", library, RECORDER, "-ldl"], check=True)
        path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
        environment = os.environ | {"LD_PRELOAD": str(library), "PYTHONPATH": path}
        command = [sys.executable, "-m", "campaigns.power.campaign", "--recorded", *arguments]
        return subprocess.run(command, env=environment, check=False).returncode


def main() -> int:
    """Cut, and print a table."""
    parser = argparse.ArgumentParser(description="Power cuts: what was not synced is lost.")
    parser.add_argument("--cuts", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-sync", action="store_true", help="lose events: it must be noticed")
    parser.add_argument("--recorded", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if not given.recorded:
        if (code := recorded(*sys.argv[1:])) is None:
            print("power cuts: skipped, they need Linux and a C compiler (cc)")
        return code or 0
    outcome = campaign(given.cuts, given.seed, syncs=not given.no_sync)
    print(
        "| cut at | times |",
        "|---|---|",
        *(f"| {place} | {outcome.places[place]} |" for place in ("anywhere", *failpoints.NAMES, *FAILPOINTS)),
        f"seed {given.seed}: {outcome.cuts} power cuts in {outcome.lives} lives of {outcome.calls} calls, "
        f"{len(outcome.problems)} problems",
        sep="\n",
    )
    return bool(outcome.problems)


if __name__ == "__main__":
    sys.exit(main())
