"""A refusal ends the start of a crawl and names the setting; an odd answer leaves it in its own order."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from google.rpc import error_details_pb2
from scrapy.settings import Settings

from linkscore.scrapy.config import Config
from linkscore.session import CrawlSession, Found
from linkscore.v1 import common_pb2
from support.fake_linkscore import FakeLinkscore

Code = grpc.StatusCode


def field(name: str) -> error_details_pb2.BadRequest:
    violation = error_details_pb2.BadRequest.FieldViolation(field=name, description="must be other")
    return error_details_pb2.BadRequest(field_violations=[violation])


@pytest.mark.parametrize(
    ("code", "detail", "option", "said"),
    [
        (Code.INVALID_ARGUMENT, field("crawl.respect[0]"), "respect", "[0] must be other"),
        (
            Code.INVALID_ARGUMENT,
            field("crawl.policy.harvest.curiosity"),
            "policy",
            "harvest.curiosity must be",
        ),
        (
            Code.INVALID_ARGUMENT,
            field("crawl.wanted.queries[1]"),
            "wanted",
            "queries[1] must be other",
        ),
        (Code.INVALID_ARGUMENT, field("crawl.name"), "crawl", "must be other"),
        (Code.INVALID_ARGUMENT, field("crawl.examples[2].url"), "examples", "[2].url must be other"),
        (Code.FAILED_PRECONDITION, None, "crawl", "told to refuse"),
        (Code.UNAUTHENTICATED, None, "token", "told to refuse"),
        (Code.PERMISSION_DENIED, None, "token", "told to refuse"),
        (Code.UNIMPLEMENTED, None, "target", "no linkscore server at 127.0.0.1"),
    ],
)
async def test_a_refusal_ends_the_start_and_names_the_setting(
    fake: FakeLinkscore, code: grpc.StatusCode, detail: Any, option: str, said: str
) -> None:
    fake.refuses = {"CreateCrawl": code}
    fake.failure_details = [] if detail is None else [detail]
    target = f"127.0.0.1:{fake.port}"
    session = CrawlSession(target, crawl="c")
    for begin in (session.start, session.take):
        with pytest.raises(ValueError, match=f"^{re.escape(f'{option}: {said}')}"):
            await begin()
    await session.close()
    config = Config.from_settings(Settings({"LINKSCORE_TARGET": target}), spider_name="c")
    with pytest.raises(ValueError, match=f"^{re.escape(f'LINKSCORE_{option.upper()}: {said}')}"):
        config.check_server()


@pytest.mark.parametrize("code", [Code.RESOURCE_EXHAUSTED, Code.DEADLINE_EXCEEDED, Code.INTERNAL])
async def test_an_absent_server_ends_nothing(fake: FakeLinkscore, code: grpc.StatusCode) -> None:
    fake.refuses = {"CreateCrawl": code}
    fake.failure_details = [error_details_pb2.RetryInfo(retry_delay=Duration(seconds=10**9))]
    target = f"127.0.0.1:{fake.port}"
    session = CrawlSession(target, crawl="c")
    session.frontier.add_seed("http://a.org/")
    assert await session.take() is not None
    await session.close()
    Config.from_settings(Settings({"LINKSCORE_TARGET": target}), spider_name="c").check_server()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"timeout": 5}, "timeout: no such option, did you mean timeout_s?"),
        ({"wanteds": "x"}, "wanteds: no such option, did you mean wanted?"),
        ({"tls": "/none.pem"}, "tls: cannot read '/none.pem'"),
        ({"token_file": "/none"}, "token_file: cannot read '/none'"),
        ({"token": "\u043a"}, "token: must be printable ASCII, in one line"),
        ({"token_file": "/dev/null"}, "token_file: '/dev/null' has no token"),
        ({"policy": ("harvest", {"no": 1})}, "policy: policy harvest: must be some of exploration, "),
        ({"policy": ("harvest", {"curiosity": "x"})}, "policy: policy harvest: curiosity must be a number"),
        ({"policy": "harvest:curiosity=1"}, "policy: must be a name, or (name, {parameter: value}), got"),
        ({"wanted": {"quarry": "x"}}, "wanted: must be some of queries, "),
        ({"wanted": {"queries": "x"}}, "wanted: queries must be a list, got 'x'"),
        ({"budget": {"max_fetches": "9"}}, "budget: max_fetches must be a whole number from 0 to 2"),
        ({"budget": {"max_seconds": True}}, "budget: max_seconds must be a number, got True"),
        ({"budget": {"max_seconds": "9"}}, "budget: max_seconds must be a number, got"),
        ({"respect": [5]}, "respect: respect must be a text, got [5]"),
        ({"examples": [5]}, "examples: must be URL, URL=FILE or FILE, got [5]"),
        ({"budget": {"max": 1}}, "budget: must be some of max_fetches, "),
        ({"budget": 5}, "budget: must be some of max_fetches, "),
        ({"respect": "ai-train"}, "respect: must be a list, got 'ai-train'"),
        ({"examples": ["none.html"]}, "examples: must be URL, URL=FILE or FILE"),
    ],
)
def test_an_option_that_cannot_be_is_named_at_once(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(said)}"):
        CrawlSession("localhost:7411", crawl="c", **options)


async def test_a_crawl_that_is_there_gets_the_examples_it_lacks(fake: FakeLinkscore, tmp_path: Any) -> None:
    page = tmp_path / "thread.html"
    page.write_text("<p>Hello")
    for examples in (["http://a.org/1"], ["http://a.org/1", f"http://a.org/view?t=2={page}"]):
        session = CrawlSession(f"127.0.0.1:{fake.port}", crawl="c", examples=examples)
        await session.start()
        await session.close()
    assert [(each.url, each.body) for each in fake.crawls["crawls/c"].examples] == [
        ("http://a.org/1", b""),
        ("http://a.org/view?t=2", b"<p>Hello"),
    ]


def links_of(answer: Any) -> Any:
    return answer.results[0].links


def spoiling(kind: str, spoil: Callable[[Any], None]) -> Callable[[Any], None]:
    """Spoil the answers of a kind, and leave the others."""

    def applied(answer: Any) -> None:
        if type(answer).__name__.startswith(kind):
            spoil(answer)

    return applied


@pytest.fixture
async def session(fake: FakeLinkscore) -> AsyncIterator[CrawlSession]:
    made = CrawlSession(f"127.0.0.1:{fake.port}", crawl="c", timeout_s=60)
    made.encoding = 1  # Scrapy's, so that all columns are there
    yield made
    await made.close()


async def fetch(session: CrawlSession) -> None:
    await session.fetched(
        "http://a.org/", b"<p>", [Found("http://a.org/tag/1"), Found("http://a.org/thread/1")]
    )


async def test_a_page_that_the_server_refuses_is_said_in_a_line(
    fake: FakeLinkscore, session: CrawlSession, caplog: pytest.LogCaptureFixture
) -> None:
    def spoil(answer: Any) -> None:
        answer.results[0].status.code = common_pb2.ITEM_CODE_INVALID
        answer.results[0].status.problems.add(field="body", description="\x07must be\x1b[31m smaller")

    fake.spoil = spoiling("IngestPages", spoil)
    for _ in range(2):
        await fetch(session)
    assert (session.counts["scored"], session.counts["fallback"]) == (0, 4)
    said = [line for line in caplog.messages if r"\x07must be\x1b[31m smaller" in line]
    assert (len(said), session.counts["errors/INVALID_ARGUMENT"], session.counts["pages"]) == (1, 2, 0)


async def test_numbers_that_this_client_does_not_know_do_not_matter(
    fake: FakeLinkscore, session: CrawlSession
) -> None:
    def spoil(answer: Any) -> None:
        links_of(answer).skip_reasons.extend([99, 99])
        links_of(answer).verdicts.extend([99, 99])
        links_of(answer).url_types.extend([99, 99])
        answer.results[0].page_type = 99
        answer.results[0].standing.decision = 99

    fake.spoil = spoiling("IngestPages", spoil)
    await fetch(session)
    assert session.counts["scored"] == 2


async def test_bytes_that_are_no_message_are_a_line(caplog: pytest.LogCaptureFixture) -> None:
    class Garbage(grpc.GenericRpcHandler):
        def service(self, call: Any) -> Any:
            return grpc.unary_unary_rpc_method_handler(lambda request, context: b"\xff")

    server = grpc.server(ThreadPoolExecutor(1), [Garbage()])
    session = CrawlSession(f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}", crawl="c")
    server.start()
    assert [await session.fetched(f"http://a.org/{n}", b"<p>", []) for n in range(2)] == [None, None]
    await session.close()
    server.stop(0).wait()
    assert ["it is no message of this contract" in line for line in caplog.messages] == [True]
