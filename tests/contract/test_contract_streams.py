"""StreamPages: order, flow control, errors in mid stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import grpc

from linkscore.v1 import (
    common_pb2 as common,
)
from linkscore.v1 import (
    crawl_service_pb2 as crawl_pb,
)
from linkscore.v1 import (
    link_scoring_service_pb2 as pb,
)
from support.page_calls import BAD, BREADTH, DUPLICATE, INVALID, OK, fetched, ingest, page_count
from support.server_process import Stubs, refusal, stubs
from support.small_site import ROOT, page, url_of

IN_GROUPS_TOO = True


def messages(crawl: str, numbers: range, **first: Any) -> Iterator[pb.StreamPagesRequest]:
    for n in numbers:
        head = {"crawl": crawl, **first} if n == numbers[0] else {}
        yield pb.StreamPagesRequest(request_id=1_000 + n, page=page(n), **head)


def test_a_stream_answers_every_page_in_order_with_its_request_id(server: Stubs, crawl: str) -> None:
    got = list(server.links.StreamPages(messages(crawl, range(150))))
    assert [answer.request_id for answer in got] == list(range(1_000, 1_150))
    assert [answer.result.event_seq for answer in got] == sorted(answer.result.event_seq for answer in got)
    assert all(answer.result.links.urls[1] == url_of(7 * n % 400) for n, answer in enumerate(got))
    assert page_count(server, crawl) == 150


def test_pages_of_a_stream_are_taken_in_in_its_order_however_long_they_are(server: Stubs, crawl: str) -> None:
    sizes = [1, 2_200, 1, 15_000, 1, 2_200, 1]  # read at once, in a thread, in a process of its own
    body = b"<p>text of many words <a href=/x>x</a></p>"
    pages = [fetched(f"{ROOT}/sized/{row}", body=body * n) for row, n in enumerate(sizes)]
    got = list(server.links.StreamPages(pb.StreamPagesRequest(crawl=crawl, page=each) for each in pages))
    seqs = [answer.result.event_seq for answer in got]
    assert seqs[0] > 0
    assert seqs == sorted(seqs)


def test_policy_and_encoding_of_a_stream_are_those_of_its_first_message(server: Stubs, crawl: str) -> None:
    sent = messages(crawl, range(3), policy=BREADTH, encoding=common.PRIORITY_ENCODING_NUTCH)
    got = list(server.links.StreamPages(sent))
    assert {answer.policy for answer in got} == {"breadth_first"}
    assert all(len(answer.result.links.encoded_priorities) == 13 for answer in got)


def test_an_empty_stream_ends_well(server: Stubs) -> None:
    assert list(server.links.StreamPages(iter(()))) == []


def test_a_bad_page_in_a_stream_is_a_status_and_the_stream_goes_on(server: Stubs, crawl: str) -> None:
    sent = [
        pb.StreamPagesRequest(crawl=crawl, request_id=1, page=fetched("/x")),
        pb.StreamPagesRequest(request_id=2),
        pb.StreamPagesRequest(crawl=crawl, request_id=3, page=page(0)),
    ]
    got = list(server.links.StreamPages(iter(sent)))
    assert [answer.result.status.code for answer in got] == [BAD, BAD, OK]


def test_an_error_in_mid_stream_comes_after_the_answers_before_it(
    server: Stubs, crawl: str, new_crawl: Callable[..., str]
) -> None:
    sent = [*messages(crawl, range(40)), pb.StreamPagesRequest(crawl=new_crawl(), page=page(40))]
    got = []
    call = server.links.StreamPages(iter(sent))

    def read() -> None:
        got.extend(iter(call.__next__, None))

    told = refusal(read)
    assert len(got) == 40
    assert (told.code, set(told.violations)) == (INVALID, {"crawl"})
    assert page_count(server, crawl) == 40


def test_a_stream_without_crawl_is_refused(server: Stubs) -> None:
    told = refusal(lambda: list(server.links.StreamPages(iter([pb.StreamPagesRequest(page=page(0))]))))
    assert (told.reason, set(told.violations)) == ("REQUIRED", {"crawl"})


def test_a_client_that_does_not_read_holds_the_server_back(server: Stubs, target: str, crawl: str) -> None:
    links = "".join(f"<a href=/{'x' * 100}/{i}>x</a>" for i in range(1_000)).encode()
    pages = (fetched(f"{ROOT}/{n}", body=links) for n in range(120))
    with stubs(target, **{"http2.bdp_probe": 0}) as slow:
        call = slow.links.StreamPages(pb.StreamPagesRequest(crawl=crawl, page=each) for each in pages)
        next(call)
        last, same = -1, 0
        while same < 200:  # until no more pages come in
            now = page_count(server, crawl)
            last, same = now, same + 1 if now == last else 0
        assert last < 120
        assert len(list(call)) == 119
    assert page_count(server, crawl) == 120


def test_a_stream_that_is_left_keeps_what_was_answered_and_others_go_on(server: Stubs, crawl: str) -> None:
    call = server.links.StreamPages(messages(crawl, range(300)))
    answered = [next(call) for _ in range(5)]
    call.cancel()
    assert refusal(lambda: list(call)).code == grpc.StatusCode.CANCELLED
    again = ingest(server, crawl, *(page(answer.request_id - 1_000) for answer in answered))
    assert [result.status.code for result in again] == [DUPLICATE] * 5
    assert len(list(server.links.StreamPages(messages(crawl, range(300))))) == 300


def test_a_stream_to_a_crawl_that_is_deleted_meanwhile_ends_with_an_error(server: Stubs, crawl: str) -> None:
    def sent() -> Iterator[pb.StreamPagesRequest]:
        yield pb.StreamPagesRequest(crawl=crawl, request_id=1, page=page(0))
        while not deleted:
            pass
        yield pb.StreamPagesRequest(request_id=2, page=page(1))

    deleted: list[bool] = []
    call = server.links.StreamPages(sent(), timeout=30)
    assert next(call).request_id == 1
    server.crawls.DeleteCrawl(crawl_pb.DeleteCrawlRequest(name=crawl))
    deleted.append(True)
    told = refusal(lambda: list(call))
    assert told.code == grpc.StatusCode.UNAVAILABLE
    server.crawls.CreateCrawl(crawl_pb.CreateCrawlRequest(crawl=crawl_pb.Crawl(name=crawl)))
