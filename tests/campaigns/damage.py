"""``make damage N=300``: files of every kind flipped, cut, blanked and lengthened; never silently wrong.

A data folder is made once. A trial damages one file of a copy, opens it and asks. Either the answers are
those of the sound folder (exact), or the error, or a line of the log about an end that was cut off, names the
file (named), or something else is answered and nobody was told: that is what must not be.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from campaigns.inprocess import SERVICES, InProcess
from campaigns.kills import DAYS
from linkscore.v1 import browse_log_service_pb2 as browse_pb
from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore.v1 import site_model_service_pb2 as site_pb
from linkscore_scoring.engine.events import FeedbackGiven, encode
from linkscore_scoring.errors import LinkscoreError
from linkscore_server.browse_logs.visits.base import VisitQuery
from linkscore_server.browse_logs.visits.kept import visits_of
from linkscore_server.settings import Settings
from linkscore_server.storage.archive import export_crawl, import_crawl
from linkscore_server.storage.check import problems_of_store
from linkscore_server.storage.files import FileStore
from support.small_site import HOST, page, url_of

CRAWL, NAME = "crawls/hurt", "hurt"
_METHODS = {method.name: method for service in SERVICES for method in service.methods}
_SEGMENT_BYTES = 6_000  # so that there are several
_SNAPSHOT_EVENTS = 20
_DAY, _DAY_MS = 20_000, 86_400_000
_BATCHES = 3


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file: which of a folder are of it."""

    name: str
    files: Callable[[Path], list[Path]]
    cuts: bool = False
    """Whether it is of a folder whose log was cut."""


def _segments(folder: Path) -> list[Path]:
    return sorted((folder / "crawls" / NAME).glob("*.log"))


KINDS = (
    Kind("log segment", lambda folder: _segments(folder)[:-1]),
    Kind("last log segment", lambda folder: _segments(folder)[-1:]),
    Kind("sites", lambda folder: [folder / "crawls" / NAME / "sites.db"]),
    Kind("visits of a day", lambda folder: sorted(folder.glob(f"crawls/{NAME}/browse/days/*/*.parquet"))),
    Kind("staged visits", lambda folder: sorted(folder.glob(f"crawls/{NAME}/browse/staged/*/*.parquet"))),
    Kind("salt", lambda folder: [folder / "crawls" / NAME / "browse" / "salt"]),
    Kind("ticket key", lambda folder: [folder / "ticket.key"]),
    Kind("lock", lambda folder: [folder / "LOCK"]),
    Kind("archive", lambda folder: [folder / "archive"]),
    Kind("segment of a cut log", _segments, cuts=True),
    Kind("sites of a cut log", lambda folder: [folder / "crawls" / NAME / "sites.db"], cuts=True),
    Kind("snapshot of a cut log", lambda folder: [folder / "crawls" / NAME / "snapshot"], cuts=True),
    Kind("snapshot before", lambda folder: [folder / "crawls" / NAME / "snapshot.previous"], cuts=True),
    Kind("cut mark", lambda folder: [folder / "crawls" / NAME / "cut"], cuts=True),
    Kind("archive of a cut log", lambda folder: [folder / "archive"], cuts=True),
)


def damaged(rng: random.Random, raw: bytes) -> bytes:
    """Return the bytes of a file with one thing wrong."""
    at = rng.randrange(len(raw) or 1)
    end = min(len(raw), at + rng.choice((1, 8, 100, 512, 4_096)))
    kind = rng.randrange(7)
    if kind == 0:
        return raw[:at] + bytes([(raw[at] if raw else 0) ^ 1 << rng.randrange(8)]) + raw[at + 1 :]
    if kind == 1:
        return raw[:at]
    if kind == 2:
        return raw[:at] + bytes(end - at) + raw[end:]
    if kind == 3:
        return raw[:at] + rng.randbytes(end - at) + raw[end:]
    if kind == 4:
        return raw[:at] + raw[end:]
    if kind == 5:
        return raw + rng.randbytes(rng.choice((1, 40, 600)))
    return raw[:end] + raw[at:]


async def make(folder: Path, *, cuts: bool = False) -> None:
    """Fill a folder: a crawl with several segments, a snapshot, visits of days, one of them still staged."""
    store = FileStore(folder, segment_bytes=_SEGMENT_BYTES, cuts=cuts)
    server = InProcess(store, Settings(snapshot_events=_SNAPSHOT_EVENTS, snapshot_s=0))
    await _ask(server, "CreateCrawl", crawl_pb.CreateCrawlRequest(crawl=crawl_pb.Crawl(name=CRAWL)))
    for n in range(30):
        await _ask(server, "IngestPages", pb.IngestPagesRequest(crawl=CRAWL, pages=[page(n)]))
        given = pb.Feedback(event_id=f"f{n}", url=url_of(n), reward=n % 3 / 2)
        await _ask(server, "ReportFeedback", pb.ReportFeedbackRequest(crawl=CRAWL, feedback=[given]))
    for batch in range(_BATCHES):
        columns = browse_pb.BrowseColumns(
            texts=[f"visitor-{batch}", url_of(batch)],
            epoch_ms=[(_DAY + day) * _DAY_MS for day in range(DAYS)],
            clients=[0] * DAYS,
            urls=[1] * DAYS,
            referrers=[1] * DAYS,
        )
        request = browse_pb.ImportBrowseRecordsRequest(crawl=CRAWL, batch_id=f"b{batch}", columns=columns)
        await _ask(server, "ImportBrowseRecords", request)
    await server.idle()
    await server.close()
    if not cuts:
        log = store.open(NAME)  # it goes beyond its snapshot
        log.append([encode(FeedbackGiven("late", HOST, url_of(1), b"", 1.0, 1e9))])
        log.close()
    export_crawl(store, NAME, folder / "archive")
    store.close()
    browse = folder / "crawls" / NAME / "browse"
    for part in sorted(browse.glob("days/*/*.parquet"))[-1:]:
        token, checksum, _ = part.name.split(".")
        staged = browse / "staged" / token
        staged.mkdir(parents=True)
        part.rename(staged / f"{part.parent.name}.{checksum}.parquet")


async def answers(folder: Path, *, cuts: bool = False) -> list[str]:
    """Return what a folder answers, damage named as the server names it."""
    told = _Told()
    logging.getLogger("linkscore_server").addHandler(told)
    found: list[str] = []
    store = FileStore(folder, segment_bytes=_SEGMENT_BYTES, cuts=cuts)
    try:
        found.append(store.ticket_key().hex())
        server = InProcess(store, Settings())
        await server.registry.recover()
        links = [pb.CandidateLink(url=url_of(n)) for n in range(100)]
        for name, request in (
            ("GetCrawl", crawl_pb.GetCrawlRequest(name=CRAWL)),
            ("GetSite", site_pb.GetSiteRequest(name=f"{CRAWL}/sites/{HOST}")),
            ("ScoreLinks", pb.ScoreLinksRequest(crawl=CRAWL, links=links)),
            ("GetBrowseStats", browse_pb.GetBrowseStatsRequest(crawl=CRAWL, batch_ids=["b0", "b1", "b2"])),
        ):
            found.append(await _ask(server, name, request))
        await server.close()
        visits = visits_of(store, NAME)
        found.append(visits.salt().hex())
        found.append(str(visits.counts(VisitQuery(HOST, _DAY, DAYS, 500), memory_mb=64)))
    except LinkscoreError as exc:
        found.append(f"refused: {exc}")
    finally:
        store.close()
        logging.getLogger("linkscore_server").removeHandler(told)
    return [*found, *told.lines]


def imported(folder: Path) -> list[str]:
    """Return what importing the archive of a folder gives: its answers in a new folder, or the refusal."""
    target = folder / "target"
    store = FileStore(target, segment_bytes=_SEGMENT_BYTES)
    try:
        import_crawl(store, folder / "archive")
    except LinkscoreError as exc:
        return [f"refused: {exc}"]
    finally:
        store.close()
    shutil.copy(folder / "ticket.key", target / "ticket.key")
    return asyncio.run(answers(target))


def outcome(sound: list[str], found: list[str], file: Path) -> str:
    """Say what came of a trial; empty if it was silently wrong."""
    if found == sound:
        return "exact"
    named = file.name if file.suffix != ".parquet" else file.stem.partition(".")[2]  # a staged file moves on
    named = f"{NAME}/cut:" if named == "cut" else named  # which is a word too
    return "named" if any(named in line for line in found) else ""


def trial(kind: Kind, made: Path, sound: list[str], rng: random.Random, scratch: Path) -> tuple[str, str]:
    """Damage a file of a copy; returns what came of it, and what was done."""
    folder = scratch / "folder"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(made, folder)
    file = rng.choice(kind.files(folder))
    raw = file.read_bytes()
    changed = damaged(rng, raw)
    if changed == raw:
        return "exact", ""
    file.write_bytes(changed)
    if file.name == "archive":
        found = imported(folder)
    else:
        store = FileStore(folder)
        problems = list(problems_of_store(store))
        store.close()
        found = asyncio.run(answers(folder, cuts=kind.cuts))
        # A torn end is no damage for the check: a crash leaves one, and what it held was never acknowledged.
        is_last = file.name == _segments(made)[-1].name
        if not problems and found != sound and not is_last:
            return "", f"{file.name}: linkscore data check finds nothing: {found}"
    return outcome(sound, found, file), f"{file.name}: {len(raw)} bytes to {len(changed)}: {found}"


def campaign(trials: int, seed: int) -> tuple[dict[str, Counter[str]], list[str]]:
    """Try every kind of file so often; returns outcomes by kind, and what was silently wrong."""
    wrong = []
    with tempfile.TemporaryDirectory(prefix="linkscore-damage-") as scratch:
        made = {cuts: Path(scratch) / f"made-{cuts}" for cuts in (False, True)}
        sound = {}
        for cuts, folder in made.items():
            asyncio.run(make(folder, cuts=cuts))
            shutil.copytree(folder, Path(scratch) / f"sound-{cuts}")
            sound[cuts] = asyncio.run(answers(Path(scratch) / f"sound-{cuts}", cuts=cuts))
        table: dict[str, Counter[str]] = {kind.name: Counter() for kind in KINDS}
        for number in range(trials):
            for kind in KINDS:
                rng = random.Random(f"{seed} {kind.name} {number}")
                came, what = trial(kind, made[kind.cuts], sound[kind.cuts], rng, Path(scratch))
                table[kind.name][came or "silently wrong"] += 1
                if not came:
                    wrong.append(f"seed {seed}, {kind.name}, trial {number}: {what[:2_000]}")
            if number % 10 == 9:
                print(f"{number + 1} trials a kind, {len(wrong)} silently wrong", file=sys.stderr, flush=True)
    return table, wrong


async def _ask(server: InProcess, method: str, request: object) -> str:
    answer = await server.call(_METHODS[method], [request.SerializeToString()])  # type: ignore[attr-defined]
    return f"{answer.code.name} {answer.details} {b''.join(answer.responses).hex()}"


class _Told(logging.Handler):
    """Keeps warnings: an end that was cut off is one."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if "snapshot" not in record.getMessage():  # the log has all it holds: what is answered is the same
            self.lines.append(record.getMessage())


def main() -> int:
    """Damage, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    table, wrong = campaign(given.trials, given.seed)
    columns = ("exact", "named", "silently wrong")
    print(f"| file | {' | '.join(columns)} |", "|---" * 4 + "|", sep="\n")
    for name, outcomes in table.items():
        print(f"| {name} | {' | '.join(str(outcomes[column]) for column in columns)} |")
    print(*wrong, sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
