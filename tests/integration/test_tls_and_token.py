"""TLS, mutual TLS and tokens: who gets through.

A token whose line says how many crawls it may have creates no more of them, however it asks.
"""

from __future__ import annotations

import hashlib
import re
import ssl
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from linkscore import Client, errors
from linkscore_lab.conformance import make_certificates
from linkscore_server.app import unprotected
from linkscore_server.operator_files import digest_of
from linkscore_server.settings import Settings
from support.crawl_calls import CRAWL
from support.server_process import serving, stubs
from support.small_site import page


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an authority, and keys of a server and a client signed by it."""
    return make_certificates(tmp_path_factory.mktemp("certificates"))


def tls_flags(folder: Path) -> list[str]:
    return ["--tls-cert", str(folder / "server.pem"), "--tls-key", str(folder / "server.key")]


def test_with_tls_only_clients_that_trust_the_authority_get_through(
    tmp_path: Path, certificates: Path
) -> None:
    with serving(tmp_path, *tls_flags(certificates)) as process:
        ca = grpc.ssl_channel_credentials((certificates / "ca.pem").read_bytes())
        with Client(process.target, tls=ca) as client:
            assert client.create_crawl(crawl="life").name == CRAWL
        with Client(process.target, timeout_s=5) as plain, pytest.raises(errors.LinkscoreError) as caught:
            plain.get_crawl(crawl="life")
        assert caught.value.code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
        command = [sys.executable, "-m", "linkscore_cli", "crawls", "list", "--target", process.target]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
        assert done.returncode == 1
        assert "give the right --tls-ca: the server at" in done.stderr


def test_with_mutual_tls_a_client_needs_a_certificate(tmp_path: Path, certificates: Path) -> None:
    flags = [*tls_flags(certificates), "--tls-client-ca", str(certificates / "ca.pem")]
    ca, key, cert = ((certificates / name).read_bytes() for name in ("ca.pem", "client.key", "client.pem"))
    with serving(tmp_path, *flags) as process:
        with Client(process.target, tls=grpc.ssl_channel_credentials(ca, key, cert)) as client:
            assert client.create_crawl(crawl="life").name == CRAWL
        with (
            Client(process.target, tls=grpc.ssl_channel_credentials(ca), timeout_s=5) as stranger,
            pytest.raises(errors.LinkscoreError) as caught,
        ):
            stranger.get_crawl(crawl="life")
        assert caught.value.code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


def served_certificate(target: str) -> str:
    host, _, port = target.rpartition(":")
    return ssl.get_server_certificate((host, int(port)), timeout=60)


def test_a_new_certificate_is_shown_to_new_connections_without_a_restart(
    tmp_path: Path, certificates: Path
) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    cert.write_bytes((certificates / "server.pem").read_bytes())
    key.write_bytes((certificates / "server.key").read_bytes())
    with serving(tmp_path, "--tls-cert", str(cert), "--tls-key", str(key)) as process:
        assert served_certificate(process.target) == cert.read_text()
        cert.write_bytes((certificates / "client.pem").read_bytes())  # does not fit its key yet
        assert served_certificate(process.target) == (certificates / "server.pem").read_text()
        key.write_bytes((certificates / "client.key").read_bytes())
        assert served_certificate(process.target) == cert.read_text()


def line(name: str, role: str, crawls: str, token: str) -> str:
    return f"{name} {role} {crawls} sha256:{hashlib.sha256(token.encode()).hexdigest()}\n"


def test_roles_and_crawls_bound_a_token_and_the_file_is_read_again(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(line("ops", "admin", "*", "o") + line("bot", "write", "life,news-*", "w"))
    with serving(tmp_path, "--token-file", str(tokens)) as process:
        with Client(process.target, token="o") as ops, Client(process.target, token="w") as bot:
            ops.create_crawl(crawl="forum")
            assert bot.create_crawl(crawl="life").name == CRAWL
            assert bot.ingest_pages(crawl="life", pages=[page(0)]).results
            for refused in (
                lambda: bot.get_crawl(crawl="forum"),
                lambda: bot.delete_crawl(crawl="life"),
                lambda: bot.ingest_pages(crawl="forum", pages=[page(0)]),
            ):
                with pytest.raises(errors.PermissionDenied) as caught:
                    refused()
                assert caught.value.reason == "NOT_ALLOWED"
            assert [crawl.name for crawl in bot.list_crawls()] == [CRAWL]
            assert len(list(ops.list_crawls())) == 2
            assert [shard.crawl for shard in bot.list_shards()] == [CRAWL]
            assert len(list(ops.list_shards())) == 2
            tokens.write_text(line("ops", "admin", "*", "o"))
            with pytest.raises(errors.Unauthenticated):
                bot.get_crawl(crawl="life")
            ops.delete_crawl(crawl="life")
        lines = [record["message"] for record in process.records() if " took " in record["message"]]
    assert [re.sub(r"^request \w+: CrawlService/| at .*,", "", line) for line in lines] == [
        "CreateCrawl crawls/forum of ops OK",
        "CreateCrawl crawls/life of bot OK",
        "DeleteCrawl  of bot PERMISSION_DENIED",
        "DeleteCrawl crawls/life of ops OK",
    ]


@pytest.mark.parametrize(
    ("listen", "warned"),
    [("0.0.0.0:0", ["TLS", "a token"]), ("127.0.0.1:0", []), ("[::]:0", ["TLS", "a token"])],
)
def test_a_server_that_anybody_may_reach_says_what_it_lacks(listen: str, warned: list[str]) -> None:
    assert unprotected(Settings(listen=listen)) == warned


def test_with_a_token_every_call_but_health_must_carry_it_and_costs_no_memory_without(tmp_path: Path) -> None:
    token_file = tmp_path / "token"
    token_file.write_text(f"ops admin * sha256:{digest_of('s3cret-of-this-test')}\n")
    with serving(tmp_path, "--token-file", str(token_file)) as process:
        with Client(process.target, token="s3cret-of-this-test") as client:
            assert client.create_crawl(crawl="life").name == CRAWL
        for wrong in (None, "", "S3cret-of-this-test", "s3cret-of-this-test ", "s3cret-of-this-tes"):
            with Client(process.target, token=wrong) as client:
                with pytest.raises(errors.Unauthenticated) as caught:
                    client.get_crawl(crawl="life")
                assert caught.value.reason == "BAD_TOKEN"
        with stubs(process.target) as server:
            check = health_pb2_grpc.HealthStub(server.channel).Check(health_pb2.HealthCheckRequest())
            assert check.status == health_pb2.HealthCheckResponse.SERVING
            before = process.peak_bytes()
            ingest = server.channel.unary_unary("/linkscore.v1.LinkScoringService/IngestPages")
            body = bytes(40_000_000)
            calls = [ingest.future(body) for _ in range(4)]
            assert {call.code() for call in calls} == {grpc.StatusCode.UNAUTHENTICATED}
            assert process.peak_bytes() - before < 20_000_000
            assert "s3cret-of-this-test" not in process.log.read_text()


def test_of_forty_calls_at_a_time_no_more_create_a_crawl_than_may(tmp_path: Path) -> None:
    """Over four connections to two processes, each of which counts what the other made."""
    lines = [f"few write * sha256:{digest_of('few')} crawls=3", f"free write * sha256:{digest_of('free')}"]
    (tmp_path / "tokens").write_text("\n".join(lines))
    apart = [("grpc.use_local_subchannel_pool", 1)]

    def create(n: int) -> str:
        try:
            return few[n % 4].create_crawl(crawl=f"crawl-{n}").name
        except errors.ResourceExhausted as refused:
            told.append((refused.reason, "crawls of few are there" in str(refused)))
            return ""

    told: list[tuple[str, bool]] = []
    with (
        serving(tmp_path, "--token-file", str(tmp_path / "tokens"), "--workers", "2") as process,
        ExitStack() as stack,
    ):
        few = [
            stack.enter_context(Client(process.target, token="few", timeout_s=60, channel_options=apart))
            for _ in range(4)
        ]
        free = stack.enter_context(Client(process.target, token="free"))
        beside = stack.enter_context(ThreadPoolExecutor(40))
        made = sorted(filter(None, beside.map(create, range(40))))
        assert len(made) <= 3
        assert told == (40 - len(made)) * [("LIMIT_EXCEEDED", True)]
        assert sorted(crawl.name for crawl in free.list_crawls()) == made
        free.create_crawl(crawl="one-more")
        for n in range(3 - len(made)):
            assert few[0].create_crawl(crawl=f"late-{n}").name == f"crawls/late-{n}"
        with pytest.raises(errors.ResourceExhausted):
            few[0].create_crawl(crawl="too-many")
