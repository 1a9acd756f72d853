"""One bad neighbour at the gRPC port: the calls of others are answered, and memory stays within bounds."""

from __future__ import annotations

import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import grpc
import pytest

from linkscore.v1 import common_pb2 as common_pb
from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_server.operator_files import digest_of
from support import crawl_calls
from support.crawl_calls import CRAWL, create
from support.half_sent import HalfCaller, half_sent
from support.server_process import Stubs, serving, stubs
from support.small_site import page

INGEST = "LinkScoringService/IngestPages"
MESSAGE = 60_000_000
PEAK = 1_800 << 20
"""Memory of a server with 256 MiB of messages in work, which are there up to three times: as
gRPC has them, as bytes and parsed: `memory_mb`, from which on it refuses work."""


def light_calls(server: Stubs, calls: int = 50) -> int:
    """Make small calls; return how many were answered, a refusal is raised."""
    asked = crawl_pb.GetCrawlRequest(name=CRAWL)
    return sum(server.crawls.GetCrawl(asked, timeout=60).crawl.name == CRAWL for _ in range(calls))


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("door")) as process, stubs(process.target) as server:
        create(server, CRAWL)
        yield process.target


@pytest.mark.parametrize(
    ("method", "sent"),
    [(INGEST, 0), (INGEST, 60_000), ("CrawlService/GetCrawl", 0), ("/grpc.health.v1.Health/Check", 0)],
)
def test_four_calls_that_stop_hold_nobody_up(target: str, method: str, sent: int) -> None:
    with stubs(target) as server, half_sent(target, 4, method, announced=MESSAGE, sent=sent):
        assert light_calls(server) == 50


@pytest.mark.parametrize(
    ("pages", "flags"),
    [(100, ["--target-delay-s", "600"]), pytest.param(500, [], marks=pytest.mark.slow)],
    ids=["nothing is refused", "the other is refused"],
)
def test_a_crawl_is_served_in_its_share_beside_the_large_calls_of_another(
    tmp_path: Path, pages: int, flags: list[str]
) -> None:
    ended: list[str] = []

    def ingest(n: int) -> None:
        request = pb.IngestPagesRequest(crawl="crawls/heavy")
        request.pages.extend(page(n * pages + m) for m in range(pages))
        with stubs(process.target, use_local_subchannel_pool=1) as own:
            try:
                own.links.IngestPages(request, timeout=600)
                ended.append("answered")
            except grpc.RpcError as error:
                ended.append(error.code().name)

    def light(n: int) -> None:
        crawl_calls.ingest(server, CRAWL, n)
        server.links.RankBuckets(pb.RankBucketsRequest(crawl=CRAWL, n=10), timeout=60)
        assert light_calls(server, 1) == 1

    with serving(tmp_path, *flags) as process, stubs(process.target) as server:
        create(server, CRAWL)
        server.crawls.CreateCrawl(crawl_pb.CreateCrawlRequest(crawl=crawl_pb.Crawl(name="crawls/heavy")))
        callers = [threading.Thread(target=ingest, args=(n,)) for n in range(12)]
        for caller in callers:
            caller.start()
        for n in range(4):  # few, so that a busy machine has no say
            light(n)
        before = ended.count("answered")
        for caller in callers:
            caller.join()
    assert set(ended) <= {"answered", "RESOURCE_EXHAUSTED"}
    assert before <= ended.count("answered") / 2, "4 pages of one crawl waited for most of the other's"


@pytest.mark.slow
def test_calls_that_stop_half_way_take_no_more_memory_than_there_is(tmp_path: Path) -> None:
    def begin(_: int) -> None:
        caller = HalfCaller(process.target)
        caller.send(caller.begin(INGEST), MESSAGE, MESSAGE // 2)
        callers.append(caller)

    callers: list[HalfCaller] = []
    with serving(tmp_path) as process, stubs(process.target) as server:
        create(server, CRAWL)
        beside(40, begin, lambda: light_calls(server, 20) == 20)
        assert light_calls(server) == 50
        assert process.peak_bytes() < PEAK
        for caller in callers:
            caller.close()


@pytest.mark.slow
def test_forty_large_messages_at_once_are_answered_or_refused_within_the_bounds(tmp_path: Path) -> None:
    request = pb.IngestPagesRequest(crawl=CRAWL, pages=[page(0)])
    request.pages[0].body = b"x" * MESSAGE
    raw = request.SerializeToString()
    ends: Counter[str] = Counter()

    def send(_: int) -> None:
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_send_message_length", -1)]
        with grpc.insecure_channel(process.target, options) as channel:
            try:
                channel.unary_unary(f"/linkscore.v1.{INGEST}")(raw)
                ends["answered"] += 1
            except grpc.RpcError as error:
                ends[error.code().name] += 1

    with serving(tmp_path) as process, stubs(process.target) as server:
        create(server, CRAWL)
        beside(40, send, lambda: light_calls(server, 20) == 20)
        assert process.peak_bytes() < PEAK
    assert ends["answered"]
    assert set(ends) <= {"answered", "RESOURCE_EXHAUSTED"}


def beside(times: int, work: Callable[[int], None], meanwhile: Callable[[], bool]) -> None:
    """Do some work in threads, and something else, which must hold each time, until all have ended."""
    threads = [threading.Thread(target=work, args=(n,)) for n in range(times)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert meanwhile()


@pytest.mark.slow
def test_who_takes_no_answers_takes_no_more_than_its_share_and_others_are_answered(tmp_path: Path) -> None:
    asked = pb.RankBucketsRequest(crawl=CRAWL, buckets=[""] * 100_000).SerializeToString()  # answered by 1 MB
    room = 16 << 20

    def ask(caller: HalfCaller) -> None:
        for _ in range(25):
            with suppress(OSError):
                caller.call("LinkScoringService/RankBuckets", asked)

    with (
        serving(tmp_path, "--max-inflight-bytes", str(room), "--max-message-bytes", str(room)) as process,
        stubs(process.target) as server,
    ):
        create(server, CRAWL)
        server.links.RankBuckets(pb.RankBucketsRequest.FromString(asked))
        before = process.peak_bytes()
        silent = [HalfCaller(process.target) for _ in range(4)]
        beside(4, lambda n: ask(silent[n]), lambda: light_calls(server, 1) == 1)
        assert process.peak_bytes() - before < 60 << 20, "100 MB of answers were asked for"
        for caller in silent:
            caller.close()


def test_connections_end_before_descriptors_do_and_those_there_go_on(tmp_path: Path) -> None:
    few = ("sh", "-c", 'ulimit -n 128; exec "$@"', "sh")
    with serving(tmp_path, within=few) as process, stubs(process.target) as server:
        create(server, CRAWL)
        host, _, port = process.target.rpartition(":")
        crowd = [socket.create_connection((host, int(port)), timeout=60) for _ in range(300)]
        assert light_calls(server) == 50
        crawl = crawl_pb.Crawl(name="crawls/another")
        server.crawls.CreateCrawl(crawl_pb.CreateCrawlRequest(crawl=crawl))  # files can still be opened
        for connection in crowd:
            connection.close()


def test_a_token_that_floods_leaves_room_and_time_to_another(tmp_path: Path) -> None:
    tokens, message = tmp_path / "tokens", 8_000_000
    greedy, modest = "greedy-one-of-this-test", "modest-one-of-this-test"
    tokens.write_text("".join(f"{token} write * sha256:{digest_of(token)}\n" for token in (greedy, modest)))
    flags = ["--max-inflight-bytes", f"{4 * message}", "--max-message-bytes", f"{message}"]
    header = (("authorization", f"Bearer {modest}"),)
    codes: list[int] = []

    def flood(_: int) -> None:
        with half_sent(process.target, 1, INGEST, announced=message, sent=message - 1, token=greedy):
            assert ended.wait(60)

    def ask() -> bool:
        request = pb.IngestPagesRequest(crawl=CRAWL, pages=[page(len(codes))])
        request.pages[0].body += b" " * 1_000_000
        (result,) = server.links.IngestPages(request, metadata=header, timeout=60).results
        codes.append(result.status.code)
        server.crawls.GetCrawl(crawl_pb.GetCrawlRequest(name=CRAWL), metadata=header, timeout=60)
        if len(codes) == 20:
            ended.set()
        return codes[-1] == common_pb.ITEM_CODE_OK

    ended = threading.Event()
    with (
        serving(tmp_path, "--token-file", f"{tokens}", *flags) as process,
        stubs(process.target) as server,
    ):
        crawl = crawl_pb.CreateCrawlRequest(crawl=crawl_pb.Crawl(name=CRAWL))
        server.crawls.CreateCrawl(crawl, metadata=header)
        beside(12, flood, ask)
    assert set(codes) == {common_pb.ITEM_CODE_OK}
