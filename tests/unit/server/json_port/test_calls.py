"""Calls in JSON: what a request means, and that no text of it takes much more than its bytes."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from google.protobuf import descriptor_pb2
from google.rpc import code_pb2, error_details_pb2, status_pb2
from hypothesis import given
from hypothesis import strategies as st

from linkscore.v1 import crawl_service_pb2 as pb
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb
from linkscore_scoring.errors import InvalidInput
from linkscore_server.app import Application
from linkscore_server.grpc.errors import STATUS_TABLE, MalformedMessage
from linkscore_server.json_port import calls
from linkscore_server.json_port.calls import _HTTP, _TEXT, JsonCalls, _failed, _message_of
from linkscore_server.json_port.http import Answer, Request
from linkscore_server.settings import Settings

GET_CRAWL = "/linkscore.v1.CrawlService/GetCrawl"


@pytest.fixture
async def server() -> AsyncIterator[JsonCalls]:
    app = Application(Settings(listen="127.0.0.1:0", metrics_listen="", data_dir="memory"))
    await app.start()
    yield JsonCalls(app.directory.servicers, app.calls, openapi=b"{}")
    await app.stop()


async def post(
    server: JsonCalls, path: str = GET_CRAWL, body: bytes = b"{}", method: str = "POST", **headers: str
) -> Answer:
    pieces = [body[at : at + 9_000] for at in range(0, len(body), 9_000)]

    async def read() -> bytes:
        return pieces.pop(0) if pieces else b""

    told = {"content-type": "application/json"} | {name.replace("_", "-"): it for name, it in headers.items()}
    return await server.answer(Request(method, path, told, "ipv4:127.0.0.1:1", read))


def said(answer: Answer) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(answer.body)
    return found


async def test_a_call_is_answered_in_json_under_either_names_of_fields(server: JsonCalls) -> None:
    create = "/linkscore.v1.CrawlService/CreateCrawl"
    made = await post(server, create, b'{"crawl": {"name": "crawls/a", "observe_only": true}}')
    assert made.status == 200
    got = await post(server, body=b'{"name": "crawls/a"}', x_request_id="mine")
    assert got.headers["x-request-id"] == "mine"
    assert said(got)["crawl"]["observeOnly"] is True
    assert said(await post(server, create, b'{"crawl": {"name": "crawls/b", "observeOnly": true}}'))


async def test_an_error_has_the_code_reason_and_fields_of_the_table(server: JsonCalls) -> None:
    missing = await post(server, body=b'{"name": "crawls/none"}')
    assert (missing.status, said(missing)["code"]) == (404, "not_found")
    (detail,) = said(missing)["details"]
    assert detail["type"] == "google.rpc.ErrorInfo"
    assert detail["debug"] == {"reason": "CRAWL_NOT_FOUND", "domain": "linkscore"}
    told = error_details_pb2.ErrorInfo.FromString(base64.b64decode(detail["value"] + "=="))
    assert told.reason == "CRAWL_NOT_FOUND"
    wrong = await post(server, "/linkscore.v1.LinkScoringService/IngestPages", b'{"crawl": "crawls/none"}')
    assert wrong.status in (400, 404)


@pytest.mark.parametrize(
    ("request_", "status", "code"),
    [
        ({"method": "GET"}, 405, "unimplemented"),
        ({"content_type": "text/plain"}, 415, "invalid_argument"),
        ({"content_encoding": "gzip"}, 415, "unimplemented"),
        ({"origin": "http://elsewhere"}, 403, "permission_denied"),
        ({"path": "/linkscore.v1.CrawlService/Nothing"}, 404, "unimplemented"),
        ({"path": "/linkscore.v1.LinkScoringService/StreamPages"}, 501, "unimplemented"),
        ({"body": b"["}, 400, "invalid_argument"),
        ({"body": b'{"nme": "crawls/a"}'}, 400, "invalid_argument"),
        ({"body": b'{"name": "\xff"}'}, 400, "invalid_argument"),
        ({"body": b'{"name": "\\ud800"}'}, 400, "invalid_argument"),
        ({"body": b'{"name": ' + b"9" * 5_000 + b"}"}, 400, "invalid_argument"),
    ],
)
async def test_what_is_no_call_is_refused(
    server: JsonCalls, request_: dict[str, Any], status: int, code: str
) -> None:
    answer = await post(server, **request_)
    assert (answer.status, said(answer)["code"]) == (status, code)


async def test_a_request_that_is_too_large_is_not_read_to_its_end(
    server: JsonCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_max_bytes", 20_000)
    announced = await post(server, body=b"", content_length="20001")
    assert said(announced)["details"][0]["debug"]["reason"] == "BODY_TOO_LARGE"
    came = await post(server, body=b"[" * 50_000)
    assert came.status == 400
    assert "20000 bytes" in said(came)["message"]


async def test_a_deadline_that_passed_is_said(server: JsonCalls, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_: Any) -> Any:
        import asyncio

        await asyncio.Event().wait()

    monkeypatch.setattr(server, "_message", never)
    late = await post(server, connect_timeout_ms="10")
    assert (late.status, said(late)["code"]) == (504, "deadline_exceeded")


async def test_the_description_is_handed_out(server: JsonCalls) -> None:
    assert (await post(server, "/openapi.json", method="GET")).body == b"{}"


def test_every_status_of_the_table_has_its_status_of_http() -> None:
    assert {code for _, code, _ in STATUS_TABLE} <= set(_HTTP)
    assert set(_HTTP) == set(code_pb2.Code.values()) - {code_pb2.OK}


def test_the_wait_of_an_error_is_a_header_too() -> None:
    wait = error_details_pb2.RetryInfo()
    wait.retry_delay.FromMilliseconds(1_200)
    status = status_pb2.Status(code=code_pb2.UNAVAILABLE)
    status.details.add().Pack(wait)
    answer = _failed(status, "id")
    assert (answer.status, answer.headers["retry-after"]) == (503, "2")


def test_more_values_than_any_call_has_are_refused_before_they_are_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(calls, "_VALUES", 1_000)
    for text in (b"[" * 2_000, b"[1" + b",1" * 2_000 + b"]"):
        with pytest.raises(InvalidInput, match="1000 values"):
            _message_of(text, pb.GetCrawlRequest())
    long = b'{"name": "' + b"[,{" * 2_000 + b'"}'
    assert pb.GetCrawlRequest.FromString(_message_of(long, pb.GetCrawlRequest())).name == "[,{" * 2_000


def test_more_objects_than_any_call_has_are_refused_before_they_are_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(calls, "_OBJECTS", 1_000)
    ok = b'{"pages":[' + b"{}," * 998 + b"{}]}"
    read = scoring_pb.IngestPagesRequest.FromString(_message_of(ok, scoring_pb.IngestPagesRequest()))
    assert len(read.pages) == 999
    for text in (b"{" * 1_001, b'{"pages":[' + b"{}," * 999 + b"{}]}"):
        with pytest.raises(InvalidInput, match="1000 objects"):
            _message_of(text, scoring_pb.IngestPagesRequest())


def test_json_that_nests_deep_is_refused() -> None:
    with pytest.raises(MalformedMessage):
        _message_of(b"[" * 100_000, pb.GetCrawlRequest())
    with pytest.raises(MalformedMessage):
        _message_of(b'{"file":[' * 20_000, descriptor_pb2.FileDescriptorSet())


@given(st.text(st.sampled_from('"\\ab[{,:'), max_size=40))
def test_strings_are_found_as_a_reader_of_json_finds_them(text: str) -> None:
    """Beside the pattern: a reader that goes from sign to sign."""
    outside, is_inside, at = "", False, 0
    while at < len(text):
        if is_inside and text[at] == "\\" and at + 1 < len(text):
            at += 1
        elif text[at] == '"':
            is_inside = not is_inside
        elif not is_inside or text[at] == "\\":
            outside += text[at]
        at += 1
    assert _TEXT.sub(b"", text.encode()).decode() == outside


def test_no_text_is_looked_at_more_than_twice() -> None:
    """A text of many quotes that are escaped, and no end: one match, the whole of it."""
    text = b'"' + b'\\"' * 500_000
    (found,) = _TEXT.findall(text)
    assert found == text


async def test_a_call_may_ask_for_the_current_state_and_for_nothing_else(server: JsonCalls) -> None:
    await post(server, "/linkscore.v1.CrawlService/CreateCrawl", b'{"crawl": {"name": "crawls/a"}}')
    asked = await post(server, body=b'{"name": "crawls/a"}', x_linkscore_read="current")
    assert asked.status == 200
    wrong = await post(server, body=b'{"name": "crawls/a"}', x_linkscore_read="newest")
    assert (wrong.status, "x-linkscore-read: must be 'current'" in said(wrong)["message"]) == (400, True)
