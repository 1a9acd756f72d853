"""JSON over HTTP on a real server: answers, tokens and errors of gRPC; hostile input is bounded."""

from __future__ import annotations

import base64
import concurrent.futures
import http.client
import json
import re
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format

from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore.v1 import site_model_service_pb2 as site_pb
from linkscore_lab.conformance import make_certificates
from linkscore_server.operator_files import digest_of
from support.json_calls import JSON, port_of, post
from support.server_process import PATIENCE_S, ServerProcess, Stubs, refusal, serving, stubs
from support.small_site import HOST, page

MB = 1 << 20


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with serving(tmp_path_factory.mktemp("json"), *JSON) as process:
        yield process


@pytest.fixture(scope="module")
def server(process: ServerProcess) -> Iterator[Stubs]:
    with stubs(process.target) as server:
        yield server


def test_a_crawl_in_json_is_one_over_grpc(process: ServerProcess, server: Stubs) -> None:
    """Twins: every page and question goes to one crawl over gRPC and to one in JSON; answers are the same."""
    for name in ("crawls/plain", "crawls/json"):
        server.crawls.CreateCrawl(crawl_pb.CreateCrawlRequest(crawl=crawl_pb.Crawl(name=name, seed=3)))
    for n in range(6):
        answers = []
        for name in ("crawls/plain", "crawls/json"):
            request = pb.IngestPagesRequest(crawl=name, pages=[page(n)])
            if name == "crawls/plain":
                answers.append(server.links.IngestPages(request))
            else:
                said = post(process, "LinkScoringService/IngestPages", request).said
                answers.append(json_format.ParseDict(said, pb.IngestPagesResponse()))
        plain, other = answers
        assert list(plain.results[0].links.scores) == list(other.results[0].links.scores)
        assert list(plain.results[0].links.urls) == list(other.results[0].links.urls)
        assert plain.results[0].links.urls
    name = f"crawls/json/sites/{HOST}"
    over_grpc = server.sites.GetSite(site_pb.GetSiteRequest(name=name))
    in_json = post(process, "SiteModelService/GetSite", site_pb.GetSiteRequest(name=name)).said
    assert json_format.ParseDict(in_json, type(over_grpc)()) == over_grpc


@pytest.mark.parametrize(
    ("call", "request_"),
    [
        ("CrawlService/GetCrawl", crawl_pb.GetCrawlRequest(name="crawls/none")),
        ("CrawlService/GetCrawl", crawl_pb.GetCrawlRequest(name="none")),
        ("CrawlService/CreateCrawl", crawl_pb.CreateCrawlRequest()),
        ("LinkScoringService/IngestPages", pb.IngestPagesRequest(crawl="crawls/none")),
        (
            "LinkScoringService/RankBuckets",
            pb.RankBucketsRequest(crawl="crawls/none", buckets=["x"], n=99_999),
        ),
        ("SiteModelService/GetSite", site_pb.GetSiteRequest(name="crawls/none/sites/x")),
    ],
    ids=lambda it: it.rpartition("/")[2] if isinstance(it, str) else "",
)
def test_an_error_is_the_same_over_both(
    process: ServerProcess, server: Stubs, call: str, request_: Any
) -> None:
    service, _, method = call.partition("/")
    stub = {
        "CrawlService": server.crawls,
        "LinkScoringService": server.links,
        "SiteModelService": server.sites,
    }
    told = refusal(lambda: getattr(stub[service], method)(request_))
    posted = post(process, call, request_)
    assert posted.said["code"].upper() == told.code.name
    assert (posted.reason, posted.said["message"]) == (told.reason, told.message)
    fields = [
        one["field"]
        for detail in posted.said["details"]
        for one in detail["debug"].get("fieldViolations", [])
    ]
    assert fields == list(told.violations)


def test_tokens_are_those_of_the_server(tmp_path: Path) -> None:
    tokens, mine = tmp_path / "tokens", "secret-of-somebody"
    tokens.write_text(f"somebody admin * sha256:{digest_of(mine)}\n")
    with serving(tmp_path, *JSON, "--token-file", str(tokens)) as process:
        ask = crawl_pb.ListCrawlsRequest()
        assert post(process, "CrawlService/ListCrawls", ask).reason == "BAD_TOKEN"
        assert post(process, "CrawlService/ListCrawls", ask, token="wrong").status == 401
        assert post(process, "CrawlService/ListCrawls", ask, token=mine).status == 200


def test_tls_is_that_of_the_server(tmp_path: Path) -> None:
    made = make_certificates(tmp_path)
    flags = ("--tls-cert", str(made / "server.pem"), "--tls-key", str(made / "server.key"))
    with serving(tmp_path / "s", *JSON, *flags, "--tls-client-ca", str(made / "ca.pem")) as process:
        known = ssl.create_default_context(cafile=str(made / "ca.pem"))
        with pytest.raises((ssl.SSLError, ConnectionError)):
            post(process, "CrawlService/ListCrawls", b"{}", tls=known)
        known.load_cert_chain(made / "client.pem", made / "client.key")
        assert post(process, "CrawlService/ListCrawls", b"{}", tls=known).said == {}


def test_a_server_stops_while_a_connection_is_kept(tmp_path: Path) -> None:
    with (
        serving(tmp_path, *JSON) as process,
        socket.create_connection(("127.0.0.1", port_of(process))) as kept,
    ):
        assert process.terminate() == 0
        assert kept.recv(1) == b""


@pytest.mark.parametrize("place", ["docs/guides/json.md", "docs/start/any-crawler.md"])
def test_what_the_docs_say_of_curl_is_so(process: ServerProcess, place: str, tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / place).read_text(encoding="utf-8")
    blocks = re.findall(
        r"<!-- run by tests/integration/test_json_port.py -->\n```console\n(.*?)```", text, re.DOTALL
    )
    assert blocks
    for line in "".join(blocks).splitlines():
        if line.startswith("$ "):
            command = line[2:].replace("127.0.0.1:7412", f"127.0.0.1:{port_of(process)}")
            done = subprocess.run(
                ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True
            )
            printed = done.stdout.strip()
        else:  # parts between dots, in this order
            parts = [re.escape(part.strip(" [")) for part in line.split("...")]
            assert re.match(".*?".join(parts), printed), printed


HOSTILE = {
    "no JSON": b"\x00" * 8 * MB,
    "deep": b"[" * 200_000,
    "deep objects": b'{"crawl":' * 300_000,
    "many empty lists": b"[" + b"[]," * (4 * MB) + b"[]]",
    "many empty objects": b'{"pages":[' + b"{}," * 130_000 + b"{}]}",
    "many fields of one name": b"{" + b'"crawl":"a",' * 300_000 + b'"crawl":"a"}',
    "a string without end": b'{"crawl":"' + b'\\"' * (6 * MB),
    "a long number": b'{"pages":[{"statusCode":' + b"9" * 4 * MB + b"}]}",
    "no base64": b'{"crawl":"crawls/a","pages":[{"url":"http://h/","body":"' + b"*" * 8 * MB + b'"}]}',
}


@pytest.mark.long
def test_hostile_json_is_refused_in_bounded_memory_while_others_are_answered(process: ServerProcess) -> None:
    """Eight callers send all of it at once: 400 MB altogether."""
    post(process, "CrawlService/ListCrawls", b"{}")
    before = process.peak_bytes()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        sent = [
            pool.submit(post, process, "LinkScoringService/IngestPages", body)
            for body in HOSTILE.values()
            for _ in range(4)
        ]
        assert post(process, "CrawlService/ListCrawls", b"{}").status == 200
        answers = [each.result() for each in sent]
    assert {answer.status for answer in answers} <= {400, 404, 429}
    assert process.peak_bytes() - before < 400 * MB
    assert post(process, "CrawlService/ListCrawls", b"{}").status == 200


def test_connections_that_bring_nothing_keep_nobody_out(process: ServerProcess) -> None:
    port, silent = port_of(process), list[socket.socket]()
    try:
        for _ in range(700):
            silent.append(socket.create_connection(("127.0.0.1", port)))
            silent[-1].sendall(b"POST /linkscore.v1.CrawlService/ListCrawls HTTP/1.1\r\nhost: x\r\n")
        assert post(process, "CrawlService/ListCrawls", b"{}").status == 200
    finally:
        for one in silent:
            one.close()


def test_a_body_in_chunks_of_a_byte_is_refused_and_others_are_answered(process: ServerProcess) -> None:
    head = b"POST /linkscore.v1.CrawlService/ListCrawls HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n"
    with socket.create_connection(("127.0.0.1", port_of(process)), timeout=PATIENCE_S) as hostile:
        hostile.sendall(head + b"content-type: application/json\r\n\r\n" + b"1\r\n{\r\n" * 100_000)
        assert post(process, "CrawlService/ListCrawls", b"{}").status == 200
        assert hostile.recv(100).startswith(b"HTTP/1.1 411 ")


def test_a_head_that_does_not_end_is_cut_off_and_others_are_answered(process: ServerProcess) -> None:
    with socket.create_connection(("127.0.0.1", port_of(process)), timeout=PATIENCE_S) as hostile:
        hostile.sendall(b"POST / HTTP/1.1\r\n")
        with pytest.raises(ConnectionError):  # noqa: PT012 - which of many is not known
            for _ in range(10_000):
                hostile.sendall(b"a: b\r\n" * 1_000)
        assert post(process, "CrawlService/ListCrawls", b"{}").status == 200


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        (b'{"crawl":"crawls/a","pages":[{"url":"http://h/","body":"<p>text</p>"}]}', "must be base64"),
        (b'{"crawl":"crawls/a","links":[{"url":"http://h/","ticket":"***="}]}', "must be base64"),
        (
            b'{"buckets":["a"]}',
            "no IngestPagesRequest in JSON: Message type",
        ),
        (b'{"pages":[' + b"{}," * 30_000 + b"{}]}", "25000 objects"),
        (b'{"buckets":[' + b'"a",' * 300_000 + b'"a"]}', "250000 values"),
        (b'{"crawl":' * 2_000, "recursion depth"),
        (b"[]", "must be an object, got []"),
        (b"null", "must be an object, got None"),
    ],
)
def test_what_is_no_request_is_refused_in_words(process: ServerProcess, request_: bytes, told: str) -> None:
    call = "ScoreLinks" if b"links" in request_ else "IngestPages"
    posted = post(process, f"LinkScoringService/{call}", request_)
    assert posted.status == 400
    assert told in json.dumps(posted.said)


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/linkscore.v1.CrawlService/GetCrawl", {}, 405),
        ("POST", "/linkscore.v1.CrawlService/Forget", {}, 404),
        ("POST", "/linkscore.v1.CrawlService/GetCrawl", {"origin": "http://evil.example"}, 403),
        ("POST", "/linkscore.v1.CrawlService/GetCrawl", {"content-type": "text/plain"}, 415),
        ("POST", "/linkscore.v1.CrawlService/GetCrawl", {"content-encoding": "gzip"}, 415),
        ("GET", "/openapi.json", {}, 200),
    ],
)
def test_what_is_no_call_is_refused_by_its_status(
    process: ServerProcess, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    with closing(http.client.HTTPConnection("127.0.0.1", port_of(process), timeout=PATIENCE_S)) as connection:
        connection.request(method, path, b"{}", {"content-type": "application/json"} | headers)
        assert connection.getresponse().status == status


def test_a_page_of_the_largest_size_fits(process: ServerProcess, server: Stubs) -> None:
    server.crawls.CreateCrawl(crawl_pb.CreateCrawlRequest(crawl=crawl_pb.Crawl(name="crawls/large")))
    body = base64.b64encode(b"<p>" + b"x " * 4_900_000).decode()
    request = {
        "crawl": "crawls/large",
        "pages": [{"url": "http://h.example/", "statusCode": 200, "body": body}],
    }
    posted = post(process, "LinkScoringService/IngestPages", json.dumps(request).encode())
    assert posted.said["results"][0]["status"]["code"] == "ITEM_CODE_OK"
