"""TLS, mutual TLS and tokens: who gets through."""

from __future__ import annotations

import subprocess
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from life_crawl import CRAWL, SERVING
from linkscore import Client, errors
from server_process import serving, stubs
from small_site import page


def openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an authority, and keys of a server and a client signed by it."""
    folder = tmp_path_factory.mktemp("certificates")
    new = ("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    openssl(folder, *new, "-x509", "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem")
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    for name in ("server", "client"):
        openssl(folder, *new[:-2], "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        sign = ("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial")
        openssl(folder, *sign, "-days", "2", "-extfile", "names", "-out", f"{name}.pem")
    return folder


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
        assert process.records()


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


def test_with_a_token_every_call_but_health_must_carry_it(tmp_path: Path) -> None:
    token_file = tmp_path / "token"
    token_file.write_text("s3cret\n")
    with serving(tmp_path, "--token-file", str(token_file)) as process:
        with Client(process.target, token="s3cret") as client:
            assert client.create_crawl(crawl="life").name == CRAWL
            assert [answer.request_id for answer in client.stream_pages(crawl="life", pages=[page(0)])] == [1]
        for wrong in (None, "", "S3cret", "s3cret ", "s3cre"):
            with Client(process.target, token=wrong) as client:
                with pytest.raises(errors.Unauthenticated) as caught:
                    client.get_crawl(crawl="life")
                assert caught.value.reason == "BAD_TOKEN"
                with pytest.raises(errors.Unauthenticated):
                    list(client.stream_pages(crawl="life", pages=[page(1)]))
        with stubs(process.target) as server:
            check = health_pb2_grpc.HealthStub(server.channel).Check(health_pb2.HealthCheckRequest())
            assert check.status == SERVING
            assert "s3cret" not in process.log.read_text()
