"""What a server does between two power cuts, and what must be so after one."""

from __future__ import annotations

import asyncio
import ctypes
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import msgpack

from campaigns import kills
from campaigns.inprocess import SERVICES, Answer, InProcess
from linkscore.v1 import browse_log_service_pb2 as browse_pb
from linkscore.v1 import common_pb2 as common
from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore.v1 import site_model_service_pb2 as site_pb
from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import decode
from linkscore_server.browse_logs.visits.kept import visits_of
from linkscore_server.crawls.libraries import registrable_domain
from linkscore_server.settings import Settings
from linkscore_server.storage import failpoints
from linkscore_server.storage.base import CrawlLog
from linkscore_server.storage.files import FileStore, read_segments
from linkscore_server.storage.replays import digest_of
from support.small_site import HOST, page, url_of

CRAWL, NAME, OTHER = "crawls/kills", "kills", "crawls/other"
_CLIENTS = 3
_METHODS = {method.name: method for service in SERVICES for method in service.methods}
_REFUSED = (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAVAILABLE)
_NO_MATTER = (grpc.StatusCode.OK, grpc.StatusCode.NOT_FOUND)  # of calls that change no counts
_OK, _AGAIN = common.ITEM_CODE_OK, common.ITEM_CODE_DUPLICATE


@dataclass(slots=True)
class Known:
    """What is known of a folder from the marks of those who wrote to it.

    Attributes
    ----------
    acked, sent
        Calls that were answered, and those that were sent.
    events
        What was to be appended to the log, by number.
    key
        The secret of tickets, once somebody saw it.
    """

    acked: set[str] = field(default_factory=set)
    sent: set[str] = field(default_factory=set)
    events: dict[int, bytes] = field(default_factory=dict)
    key: bytes = b""

    def copy(self) -> Known:
        """Return one that may learn other things."""
        return Known(set(self.acked), set(self.sent), dict(self.events), self.key)

    def note(self, mark: list[Any]) -> None:
        """Take in a mark."""
        match mark:
            case ["sent", name]:
                self.sent.add(name)
                if name.startswith("other "):
                    self.acked -= {"other created", "other deleted"}
            case ["acked", name]:
                self.acked.add(name)
                if name.startswith("other "):
                    self.sent -= {"other created", "other deleted"}
            case ["append", first, events]:
                self.events |= dict(enumerate(events, start=first))
            case ["opened", last]:
                self.events = {seq: raw for seq, raw in self.events.items() if seq <= last}
            case ["key", key]:
                self.key = key


def mark(*what: object) -> None:
    """Write a mark among the calls that are recorded."""
    raw = msgpack.packb(what)
    ctypes.CDLL(None).recorder_mark(raw, ctypes.c_size_t(len(raw)))


def begin(trace: Path, folder: Path) -> None:
    """Record from here on, with a mark at each failpoint."""
    ctypes.CDLL(None).recorder_begin(str(trace).encode(), str(folder).encode())
    failpoints.reached = partial(mark, "at")


def end() -> None:
    """Record no more: what other threads of this process still want to write is not written."""
    ctypes.CDLL(None).recorder_end()


class _NotedStore(FileStore):
    """Notes what the log of the crawl has when it is opened, and what is appended to it.

    A learning that was under way goes on when the crawl opens: its event may be there when the folder is
    checked, so it is noted here, and marked for the lives after this one.
    """

    def __init__(self, folder: Path, known: Known, **options: Any) -> None:
        super().__init__(folder, **options)
        self._known = known

    def open(self, shard: str) -> CrawlLog:
        log = super().open(shard)
        append = log.append

        def noted(events: Sequence[bytes]) -> None:
            self._note("append", log.last_seq + 1, list(events))
            append(events)

        if shard == NAME:
            self._note("opened", log.last_seq)
            log.append = noted  # type: ignore[method-assign]
        return log

    def _note(self, *what: Any) -> None:
        mark(*what)
        self._known.note([*what])


async def live(
    folder: Path, known: Known, rng: random.Random, settings: dict[str, Any], calls: int
) -> list[str]:
    """Open a folder, check it, and make some calls; returns what was found."""
    settings = dict(settings)
    cuts = settings.pop("keep_log") == "snapshots"
    store = _NotedStore(folder, known, segment_bytes=settings.pop("segment_bytes"), cuts=cuts)
    server = InProcess(store, Settings(**settings))
    await server.registry.recover()
    found = await _problems(server, store, known)
    last = await asyncio.create_task(_last_seq(server))
    mark("key", store.ticket_key())
    if calls and not found:
        life = _Life(server, known, rng)
        if not last:
            await life.create()
        await asyncio.gather(*(life.go_on(calls // _CLIENTS) for _ in range(_CLIENTS)))
        found += life.problems
        await server.idle()
        if rng.random() < 0.5:
            await server.close()
    return [*found, *server.errors()]


async def _last_seq(server: InProcess) -> int:
    return (await server.registry.open(NAME)).model.seq if server.registry.has(NAME) else 0


async def _problems(server: InProcess, store: FileStore, known: Known) -> list[str]:
    """Return what is not as it must be once a folder is open."""
    found = []
    if known.key not in (b"", store.ticket_key()):
        found.append("the secret of tickets is another")
    answer = await server.call(
        _METHODS["GetCrawl"], [crawl_pb.GetCrawlRequest(name=CRAWL).SerializeToString()]
    )
    if answer.code is grpc.StatusCode.OK:
        told = crawl_pb.GetCrawlResponse.FromString(*answer.responses)
        checking = _problems_of_crawl(server, store, known, told)
        found += await asyncio.create_task(checking)  # whose end lets go of the crawl
    elif answer.code is not grpc.StatusCode.NOT_FOUND or "create" in known.acked:
        found.append(f"the crawl is gone: {answer.code.name} {answer.details}")
    has_other = server.registry.has("other")
    if {f"other {'deleted' if has_other else 'created'}"} & known.acked:
        found.append(f"the other crawl is {'there' if has_other else 'gone'}")
    return found


async def _problems_of_crawl(
    server: InProcess, store: FileStore, known: Known, told: crawl_pb.GetCrawlResponse
) -> list[str]:
    actor = await server.registry.open(NAME)
    last, digest = actor.model.seq, digest_of(actor.model)  # at once: a learning may go on meanwhile
    found = []
    if missing := [seq for seq in range(1, last + 1) if seq not in known.events]:
        return [f"events that nobody wrote: {missing[:5]}"]
    found += [
        f"event {seq} is not what was written"
        for _, _, seq, raw in read_segments(store.crawl_folder(NAME))
        if seq <= last and known.events[seq] != raw
    ]
    replayed = CrawlModel(CrawlConfig(NAME), ticket_key=store.ticket_key(), domain_of=registrable_domain)
    names = Counter[str]()
    for seq in range(1, last + 1):
        event = decode(known.events[seq])
        name = getattr(event, "event_id", "") or getattr(event, "batch_id", "")
        names[name] += 1
        replayed.apply(seq, event)
        replayed.take_jobs()
    if lost := {name for name in known.acked if _is_event(name)} - names.keys():
        found.append(f"acknowledged and lost: {sorted(lost)}")
    if foreign := names.keys() - known.sent - {""}:
        found.append(f"never sent: {sorted(foreign)}")
    counts = Counter(name.partition("-")[0] for name in names)
    stats = await _stats(server)
    got = (told.crawl.page_count, told.crawl.feedback_count, stats.batch_count, stats.visit_count)
    if got != (counts["page"], counts["worth"], counts["batch"], kills.DAYS * counts["batch"]):
        found.append(f"pages, feedback, batches, visits are {got}; the log has {dict(counts)}")
    spans = visits_of(store, NAME).spans()
    if sum(span.visits for span in spans.values()) != kills.DAYS * counts["batch"]:
        found.append(f"files have visits {spans}; the log has {counts['batch']} batches")
    if digest != digest_of(replayed):
        found.append(f"after event {last} the state is another than that of a replay")
    return found


async def _stats(server: InProcess) -> browse_pb.GetBrowseStatsResponse:
    request = browse_pb.GetBrowseStatsRequest(crawl=CRAWL).SerializeToString()
    answer = await server.call(_METHODS["GetBrowseStats"], [request])
    return browse_pb.GetBrowseStatsResponse.FromString(*answer.responses)


def _is_event(name: str) -> bool:
    return name.partition("-")[0] in ("page", "worth", "batch")


class _Life:
    """Clients that make calls at once, each call marked when it is sent and when it was answered."""

    def __init__(self, server: InProcess, known: Known, rng: random.Random) -> None:
        self._server = server
        self._known = known
        self._rng = rng
        self._waiting = self._left()
        self._other = server.registry.has("other")
        self._is_busy = False
        self.problems: list[str] = []

    async def create(self) -> None:
        """Create the crawl."""
        await self._call("create", "CreateCrawl", kills.creation())

    async def go_on(self, calls: int) -> None:
        """Make so many calls, one after the other."""
        for _ in range(calls):
            kind = self._rng.random()
            if kind < 0.05:
                await self._call("", "LearnSite", site_pb.LearnSiteRequest(name=f"{CRAWL}/sites/{HOST}"))
            elif kind < 0.1:
                await self._server.registry.evict(NAME)
            elif kind < 0.2 and not self._is_busy:
                await self._change_other()
            else:
                await self._next()

    def _left(self) -> Iterator[str]:
        """Yield the names of what is still to be sent, in order."""
        for n in range(kills.N_PAGES * 10):
            for name in (f"page-{n}", f"worth-{n}", f"batch-{n}"):
                if name not in self._known.acked and (n % 6 == 0 or not name.startswith("batch")):
                    yield name

    async def _next(self) -> None:
        """Send the next of the calls that are left; one that is refused is left to the next life."""
        name = next(self._waiting)
        kind, _, number = name.partition("-")
        n = int(number)
        if kind == "page":
            answer = await self._call(
                name, "IngestPages", pb.IngestPagesRequest(crawl=CRAWL, pages=[page(n)])
            )
            taken = pb.IngestPagesResponse.FromString
            codes = [result.status.code for raw in answer.responses for result in taken(raw).results]
        elif kind == "worth":
            given = pb.Feedback(event_id=name, url=url_of(n), reward=float(n % 3 == 0))
            request = pb.ReportFeedbackRequest(crawl=CRAWL, feedback=[given])
            answer = await self._call(name, "ReportFeedback", request)
            noted = pb.ReportFeedbackResponse.FromString
            codes = [status.code for raw in answer.responses for status in noted(raw).statuses]
        else:
            answer = await self._call(name, "ImportBrowseRecords", kills.batch_of(n))
            read = browse_pb.ImportBrowseRecordsResponse.FromString
            codes = [batch.status.code for raw in answer.responses for batch in read(raw).batches]
        may_be = [[_OK], *([[_AGAIN]] if name in self._known.sent else [])]
        if answer.code is grpc.StatusCode.OK and codes not in may_be:
            self.problems.append(f"{name}: {codes}")

    async def _change_other(self) -> None:
        """Create another crawl, or delete it."""
        self._is_busy = True
        if self._other:
            await self._call("other deleted", "DeleteCrawl", crawl_pb.DeleteCrawlRequest(name=OTHER))
        else:
            created = crawl_pb.CreateCrawlRequest(crawl=crawl_pb.Crawl(name=OTHER))
            await self._call("other created", "CreateCrawl", created)
        self._other, self._is_busy = not self._other, False

    async def _call(self, name: str, method: str, request: Any) -> Answer:
        if name:
            mark("sent", name)
        answer = await self._server.call(_METHODS[method], [request.SerializeToString()])
        if name and answer.code is grpc.StatusCode.OK:
            mark("acked", name)
        elif answer.code not in _REFUSED and (name or answer.code not in _NO_MATTER):
            self.problems.append(f"{name or method}: {answer.code.name} {answer.details}")
        return answer
