"""Pages for another process are read first: with the same answers and the same log, or they go unread."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from linkscore.v1 import common_pb2 as common
from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore.v1 import policy_pb2
from linkscore_scoring.engine.events import PageFetched, decode
from linkscore_server.app import Application
from linkscore_server.grpc.errors import Forwarded, NotServing
from linkscore_server.grpc.reading import ParseOptions
from linkscore_server.routing.owners import INGEST, STREAM, LocalOwner, Owners
from linkscore_server.routing.peer_calls import server_for_peers
from linkscore_server.routing.peer_queries import PeerQueries
from linkscore_server.routing.reading import ReadingPeer
from linkscore_server.settings import Settings
from linkscore_server.store import Store
from linkscore_server.store.sqlite import SqliteEngine
from support.small_site import page as page_of_site

CRAWL = "crawls/read"
READS_LAYOUT = policy_pb2.PolicySpec(focus=policy_pb2.FocusParams())
LINK = "<a href='/x/{n}' class='some-long-name-of-a-class'>a link</a>"


def page(n: int, **fields: Any) -> common.Page:
    made = page_of_site(n)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


class Context:
    """Of a call whose caller waits."""

    def time_remaining(self) -> float:
        return 30.0

    def cancelled(self) -> bool:
        return False


class Tickets(Store):
    """Keeps nothing; the tickets of all are the same."""

    def secret(self, name: str = "tickets") -> bytes:
        return bytes(32)


class Server:
    """A server in this process, its log, and the way another process asks it."""

    def __init__(self) -> None:
        self.store = Tickets(SqliteEngine(None))
        settings = Settings(listen="127.0.0.1:0", metrics_listen="", data_dir="memory")
        self.app = Application(settings, store=self.store, clock=lambda: 1e9)
        questions = PeerQueries(self.app.registry, self.app.scoring, self.app.metrics.registry)
        services = {"LinkScoringService": self.app.scoring}
        self.local = LocalOwner(services, questions)

    async def create(self, **config: Any) -> None:
        crawl = crawl_pb.Crawl(name=CRAWL, **config)
        await self.app.directory.router.call(
            "CrawlService/CreateCrawl", crawl_pb.CreateCrawlRequest(crawl=crawl), Context()
        )

    async def change(self, **config: Any) -> None:
        crawl = crawl_pb.Crawl(name=CRAWL, **config)
        await self.app.directory.router.call(
            "CrawlService/UpdateCrawl", crawl_pb.UpdateCrawlRequest(crawl=crawl), Context()
        )

    def log(self) -> list[bytes]:
        return [event.body for event in self.store.open("read").events()]

    def passed_on(self) -> tuple[float, float]:
        """Return pages that were read here for another process, and those that were left to it."""
        counts = [
            self.app.metrics.registry.get_sample_value("linkscore_pages_passed_on_total", {"state": state})
            for state in ("read", "unread")
        ]
        return counts[0] or 0.0, counts[1] or 0.0


@asynccontextmanager
async def started() -> AsyncIterator[Server]:
    server = Server()
    await server.app.start()
    try:
        yield server
    finally:
        await server.app.stop()


@asynccontextmanager
async def asked(
    owner: Server, front: Server, folder: Path, *, room: int = 1 << 20
) -> AsyncIterator[ReadingPeer]:
    """Give an owner as a front asks it."""
    address = f"unix:{folder}/owner"
    server, _ = server_for_peers(
        address, owner.local, owner.app.directory.router, Owners([owner.local]), 1 << 24
    )
    await server.start()
    peer = ReadingPeer(address, room, front.app.scoring.reader)
    try:
        yield peer
    finally:
        await peer.close()
        await server.stop(None)


def calls() -> list[pb.IngestPagesRequest]:
    """Return calls with pages of every kind: good, bad, failed, repeated, with features, links, packed."""
    good = [page(n) for n in range(12)]
    bad = [page(20, url="no url"), page(21, ticket=bytes(65)), page(22, event_id="e" * 200)]
    bad.append(page(23, body=b"no html", content_type="image/png"))
    failed = [page(24, status_code=404), page(25, fetch_error="timed out")]
    extracted = common.ExtractedPage(tag_paths=["html/body/p"], tag_path_counts=[2], text_blocks=["t" * 40])
    given = [common.Page(url="http://forum.test/thread/1", extracted=extracted, event_id="extracted")]
    given[0].outlinks.add(url="http://forum.test/thread/7", anchor_text="seven")
    packed = page(30, body=gzip.compress(page(30).body), content_encoding="gzip")
    many = page(31, body="".join(LINK.format(n=n) for n in range(11_000)).encode())  # large, and cut
    batches = [good[:6], bad, [*good[4:], *failed, *given], [packed, many, *bad]]
    return [
        pb.IngestPagesRequest(crawl=CRAWL, pages=pages, encoding=common.PRIORITY_ENCODING_SCRAPY)
        for pages in batches
    ]


async def test_answers_and_log_are_those_of_one_process(tmp_path: Path) -> None:
    async with started() as alone, started() as owner, started() as front:
        await alone.create()
        await owner.create()
        async with asked(owner, front, tmp_path, room=16 << 20) as peer:
            for request in calls():
                expected = await alone.local.call(INGEST, request, Context())
                assert await peer.call(INGEST, request, Context()) == expected
        assert [decode(raw) for raw in owner.log()[1:]] == [decode(raw) for raw in alone.log()[1:]]
        assert owner.log()[1:] == alone.log()[1:]
        n_bad = 3 * 2
        assert front.passed_on() == (sum(len(request.pages) for request in calls()) - n_bad, n_bad)


async def test_a_stream_answers_as_that_of_one_process(tmp_path: Path) -> None:
    async def messages() -> AsyncIterator[pb.StreamPagesRequest]:
        for n, one in enumerate(one for request in calls() for one in request.pages):
            if len(one.body) > 500_000:  # one process reads it while it takes in those after it
                continue
            yield pb.StreamPagesRequest(crawl="" if n else CRAWL, request_id=n, page=one)

    async with started() as alone, started() as owner, started() as front:
        await alone.create()
        await owner.create()
        expected = [answer async for answer in alone.local.stream(STREAM, messages(), Context())]
        async with asked(owner, front, tmp_path, room=16 << 20) as peer:
            got = [answer async for answer in peer.stream(STREAM, messages(), Context())]
        assert got == expected
        assert owner.log()[1:] == alone.log()[1:]
        assert front.passed_on() == (20, 6)


async def test_a_changed_crawl_is_read_as_it_is_now(tmp_path: Path) -> None:
    async with started() as owner, started() as front:
        await owner.create()
        async with asked(owner, front, tmp_path) as peer:

            async def send(n: int) -> Any:
                await peer.call(INGEST, pb.IngestPagesRequest(crawl=CRAWL, pages=[page(n)]), Context())
                return decode(owner.log()[-1])

            assert (await send(1)).features.layout is None
            assert front.passed_on() == (1, 0)
            await owner.change(extra_policies=[READS_LAYOUT])
            assert (await send(2)).features.layout is not None  # by the owner
            assert (await send(3)).features.layout is not None  # by the front, which has heard of it
            assert front.passed_on() == (3, 0)
            assert [type(decode(raw)) for raw in owner.log()].count(PageFetched) == 3


async def test_a_stream_whose_crawl_is_changed_has_to_be_opened_again(tmp_path: Path) -> None:
    async with started() as owner, started() as front:
        await owner.create()
        async with asked(owner, front, tmp_path) as peer:

            async def messages() -> AsyncIterator[pb.StreamPagesRequest]:
                yield pb.StreamPagesRequest(crawl=CRAWL, page=page(1))
                await answered.wait()
                await owner.change(extra_policies=[READS_LAYOUT])
                yield pb.StreamPagesRequest(page=page(2))

            async def again() -> AsyncIterator[pb.StreamPagesRequest]:
                yield pb.StreamPagesRequest(crawl=CRAWL, page=page(2))

            answered, answers = asyncio.Event(), peer.stream(STREAM, messages(), Context())
            assert (await anext(answers)).result.status.code == common.ITEM_CODE_OK
            answered.set()
            with pytest.raises(NotServing, match="open the stream again"):
                await anext(answers)
            [answer] = [answer async for answer in peer.stream(STREAM, again(), Context())]
            assert answer.result.status.code == common.ITEM_CODE_OK
            assert decode(owner.log()[-1]).features.layout is not None


@pytest.mark.parametrize("differs", ["format", "limits", "words"])
async def test_pages_go_as_they_came_to_an_owner_that_reads_otherwise(
    differs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = ParseOptions.plain

    def told(how: ParseOptions) -> list[Any]:
        values = plain(how)
        match differs:
            case "format":
                values[0] += 1
            case "words":
                values[3] = 8  # what plug-ins read
            case "limits":
                values[5][0] += 1
        return values

    monkeypatch.setattr(ParseOptions, "plain", told)
    async with started() as owner, started() as front:
        await owner.create()
        async with asked(owner, front, tmp_path) as peer:
            request = pb.IngestPagesRequest(crawl=CRAWL, pages=[page(1)])
            [result] = (await peer.call(INGEST, request, Context())).results
        assert result.status.code == common.ITEM_CODE_OK
        assert front.passed_on() == (0, 0)


async def test_an_owner_of_before_gets_pages_as_they_came(tmp_path: Path) -> None:
    """It knows neither the question nor the calls; both are refused by who answers in its place."""
    async with started() as owner, started() as front:
        await owner.create()
        async with asked(owner, front, tmp_path) as peer:
            del owner.local._queries._answers["reading"]
            request = pb.IngestPagesRequest(crawl=CRAWL, pages=[page(1)])
            assert (await peer.call(INGEST, request, Context())).results[0].status.code == 1
            assert front.passed_on() == (0, 0)
            options = front.app.scoring.reader.parse_options(
                owner.app.registry.opened_now("read").model.config
            )
            peer._told[CRAWL] = options, 0.0  # another process was there when it was asked
            peer._ingest = peer.channel.unary_unary("/linkscore.internal.Owner/Unknown", lambda call: b"")
            request = pb.IngestPagesRequest(crawl=CRAWL, pages=[page(2)])
            assert (await peer.call(INGEST, request, Context())).results[0].status.code == 1
            assert CRAWL not in peer._told


async def test_an_event_that_no_message_holds_is_left_to_the_owner(tmp_path: Path) -> None:
    packed = page(1, content_encoding="gzip")
    packed.body = gzip.compress("".join(LINK.format(n=n) for n in range(4_000)).encode())
    async with started() as owner, started() as front:
        await owner.create()
        async with asked(owner, front, tmp_path, room=100_000) as peer:
            request = pb.IngestPagesRequest(crawl=CRAWL, pages=[packed, page(2)])
            got = (await peer.call(INGEST, request, Context())).results
        assert [len(result.links.urls) for result in got] == [4_000, 13]
        assert front.passed_on() == (1, 1)


async def test_a_process_that_is_let_go_of_while_pages_are_read_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def stream() -> AsyncIterator[pb.StreamPagesRequest]:
        yield pb.StreamPagesRequest(crawl=CRAWL, page=page(2))

    async with started() as owner, started() as front, asked(owner, front, tmp_path) as peer:
        await owner.create()
        request = pb.IngestPagesRequest(crawl=CRAWL, pages=[page(1)])
        await peer.call(INGEST, request, Context())
        ahead = front.app.scoring.reader.ahead

        async def closed_meanwhile(*args: Any) -> Any:
            await peer.close()
            return await ahead(*args)

        monkeypatch.setattr(front.app.scoring.reader, "ahead", closed_meanwhile)
        with pytest.raises(NotServing):
            await peer.call(INGEST, request, Context())
        with pytest.raises(NotServing):
            await anext(peer.stream(STREAM, stream(), Context()))
        peer._told.clear()
        with pytest.raises(NotServing):
            await peer.call(INGEST, request, Context())


async def test_errors_are_those_of_the_owner(tmp_path: Path) -> None:
    async with started() as owner, started() as front, asked(owner, front, tmp_path) as peer:
        for request, code in (
            (pb.IngestPagesRequest(crawl="crawls/none", pages=[page(1)]), grpc.StatusCode.NOT_FOUND),
            (pb.IngestPagesRequest(crawl="no crawl", pages=[page(1)]), grpc.StatusCode.INVALID_ARGUMENT),
        ):
            with pytest.raises(Forwarded) as refused:
                await peer.call(INGEST, request, Context())
            assert refused.value.status.code == code.value[0]
