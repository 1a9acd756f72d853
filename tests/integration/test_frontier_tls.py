"""`linkscore frontier` by TLS: who may call it, and how it calls linkscore."""

from __future__ import annotations

from pathlib import Path

import grpc
import pytest

from linkscore import Client, page
from linkscore_lab.conformance import make_certificates
from linkscore_server.operator_files import digest_of
from support.frontier.process import Crawler, discovered, frontier
from support.server_process import refusal, serving

NOWHERE = "127.0.0.1:1"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


def credentials(made: Path, *, own: bool = False) -> grpc.ChannelCredentials:
    """What a crawler trusts, with a certificate of its own if wanted."""
    pair = [(made / f"client.{kind}").read_bytes() for kind in ("key", "pem")] if own else [None, None]
    return grpc.ssl_channel_credentials((made / "ca.pem").read_bytes(), *pair)


def server_flags(made: Path) -> tuple[str, ...]:
    return ("--tls-cert", str(made / "server.pem"), "--tls-key", str(made / "server.key"))


def test_a_frontier_with_a_certificate_takes_encrypted_calls_only(made: Path, tmp_path: Path) -> None:
    with frontier(tmp_path, "--target", NOWHERE, *server_flags(made)) as process:
        with Crawler(process.target, credentials=credentials(made)) as crawler:
            assert crawler.put(discovered("http://a.org/")) == [0]
            assert crawler.get() == ["http://a.org/"]
        with Crawler(process.target) as plain:
            assert refusal(plain.stats).code is grpc.StatusCode.UNAVAILABLE


def test_a_frontier_that_names_an_authority_takes_calls_of_its_clients_only(
    made: Path, tmp_path: Path
) -> None:
    flags = (*server_flags(made), "--tls-client-ca", str(made / "ca.pem"))
    with frontier(tmp_path, "--target", NOWHERE, *flags) as process:
        with Crawler(process.target, credentials=credentials(made, own=True)) as known:
            assert known.stats().size == 0
        with Crawler(process.target, credentials=credentials(made)) as stranger:
            assert refusal(stranger.stats).code is grpc.StatusCode.UNAVAILABLE


@pytest.mark.long
def test_a_frontier_asks_linkscore_by_tls_and_with_its_token(made: Path, tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text(f"frontier write * sha256:{digest_of('secret')}\n")
    (tmp_path / "token").write_text("secret\n")
    server_has = (*server_flags(made), "--token-file", str(tmp_path / "tokens"))
    asks = ("--target-tls-ca", str(made / "ca.pem"), "--target-token-file", str(tmp_path / "token"))
    with (
        serving(tmp_path / "server", *server_has) as server,
        Client(server.target, tls=str(made / "ca.pem"), token="secret") as client,
        frontier(tmp_path / "f", "--target", server.target, *asks) as process,
        Crawler(process.target) as crawler,
    ):
        client.ensure_crawl(crawl="default", policy="newest")
        more = {"score": "0.5", "value": "0.5"}

        def newer_first(at: str) -> bool:
            client.ingest_pages(crawl="default", pages=[page(url=f"http://{at}/", body=b"<p>")])
            crawler.put(*(discovered(f"http://{at}/{n}", bucket=f"{at}/d{n}", **more) for n in "12"))
            return crawler.get(each=2) == [f"http://{at}/2", f"http://{at}/1"]

        # On a busy machine the first call may take so long that the frontier does without it.
        assert any(newer_first(f"a{n}.org") for n in range(1_000))
