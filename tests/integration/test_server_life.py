"""Start, watch, guard and stop a server: drain, TLS, token, keepalive, limits, metrics, logs."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from prometheus_client.parser import text_string_to_metric_families

from linkscore import Client, errors
from linkscore.v1 import (
    common_pb2 as common,
)
from linkscore.v1 import (
    crawl_service_pb2 as crawl_pb,
)
from linkscore.v1 import (
    link_scoring_service_pb2 as pb,
)
from linkscore.v1 import (
    site_model_service_pb2 as site_pb,
)
from server_process import ServerProcess, Stubs, refusal, scrape, serving, stubs
from small_site import HOST, page, url_of

CRAWL = "crawls/life"
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


def create(server: Stubs) -> None:
    server.crawls.CreateCrawl(crawl_pb.CreateCrawlRequest(crawl=crawl_pb.Crawl(name=CRAWL)))


def ingest(server: Stubs, *numbers: int) -> list[pb.PageResult]:
    request = pb.IngestPagesRequest(crawl=CRAWL, pages=[page(n) for n in numbers])
    return list(server.links.IngestPages(request).results)


def page_count(server: Stubs) -> int:
    return server.crawls.GetCrawl(crawl_pb.GetCrawlRequest(name=CRAWL)).crawl.page_count


# Drain


def test_on_sigterm_health_goes_first_calls_in_flight_finish_and_a_snapshot_is_written(
    tmp_path: Path,
) -> None:
    with serving(tmp_path) as process, stubs(process.target) as server:
        create(server)
        watch = health_pb2_grpc.HealthStub(server.channel).Watch(health_pb2.HealthCheckRequest())
        assert next(watch).status == SERVING
        big = "".join(f"<div><a class=c{i} href=/{i}>x</a></div>" for i in range(1_500)).encode()
        pages = [common.Page(event_id=f"{n}", url=url_of(n), status_code=200, body=big) for n in range(40)]
        call = server.links.IngestPages.future(pb.IngestPagesRequest(crawl=CRAWL, pages=pages))
        while not page_count(server):
            pass
        process.process.send_signal(signal.SIGTERM)
        assert next(watch).status == NOT_SERVING
        assert not call.done()
        assert len(call.result(60).results) == 40
        assert process.process.wait(60) == 0
    assert (tmp_path / "data" / "crawls" / "life" / "snapshot").is_file()
    with serving(tmp_path) as process, stubs(process.target) as server:
        assert page_count(server) == 40
        assert any(", 0 replayed" in record["message"] for record in process.records())


def test_an_open_stream_does_not_hold_a_drain_and_its_pages_are_answered(tmp_path: Path) -> None:
    with serving(tmp_path, "--drain-s", "600") as process, stubs(process.target) as server:
        create(server)
        going_on = threading.Event()

        def sent() -> Iterator[pb.StreamPagesRequest]:
            for n in range(5):
                yield pb.StreamPagesRequest(crawl=CRAWL, request_id=n, page=page(n))
            going_on.wait(60)

        call = server.links.StreamPages(sent())
        assert next(call).request_id == 0
        process.process.send_signal(signal.SIGTERM)
        got = []

        def read() -> None:
            got.extend(iter(call.__next__, None))

        told = refusal(read)
        going_on.set()
        assert (told.code, told.reason) == (grpc.StatusCode.UNAVAILABLE, "NOT_SERVING")
        assert process.process.wait(60) == 0
    with serving(tmp_path) as process, stubs(process.target) as server:
        assert page_count(server) >= 1 + len(got)


def test_a_watcher_of_health_does_not_hold_a_drain(tmp_path: Path) -> None:
    with serving(tmp_path, "--drain-s", "600") as process, stubs(process.target) as server:
        watch = health_pb2_grpc.HealthStub(server.channel).Watch(health_pb2.HealthCheckRequest())
        assert next(watch).status == SERVING
        process.process.send_signal(signal.SIGTERM)
        assert next(watch).status == NOT_SERVING
        assert process.process.wait(60) == 0


def test_a_call_longer_than_the_drain_is_cut(tmp_path: Path) -> None:
    with serving(tmp_path, "--drain-s", "0.05") as process, stubs(process.target) as server:
        create(server)
        ingest(server, *range(400))
        call = server.sites.LearnSite.future(site_pb.LearnSiteRequest(name=f"{CRAWL}/sites/{HOST}"))
        ingest(server, 400)
        assert process.terminate() == 0
        assert call.code() in (grpc.StatusCode.OK, grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)


# TLS and token


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


# Limits of the transport


def watched(target: str, wait_s: float, keepalive_ms: int) -> list[grpc.ChannelConnectivity]:
    """Hold an idle connection with pings; return its states from the first call on."""
    pings = {"keepalive_permit_without_calls": 1, "http2.max_pings_without_data": 0}
    with stubs(target, keepalive_time_ms=keepalive_ms, **pings) as server:
        create(server)
        states: list[grpc.ChannelConnectivity] = []
        lost = threading.Event()

        def note(state: grpc.ChannelConnectivity) -> None:
            states.append(state)
            if grpc.ChannelConnectivity.READY in states and state != grpc.ChannelConnectivity.READY:
                lost.set()

        server.channel.subscribe(note)
        lost.wait(wait_s)
        assert page_count(server) == 0
    return states[states.index(grpc.ChannelConnectivity.READY) :]


@pytest.mark.slow
def test_pings_every_ten_seconds_are_tolerated_also_without_calls(tmp_path: Path) -> None:
    with serving(tmp_path) as process:
        assert watched(process.target, 45, 10_000) == [grpc.ChannelConnectivity.READY]


@pytest.mark.slow
def test_pings_below_the_floor_are_refused_and_the_floor_is_a_setting(tmp_path: Path) -> None:
    with serving(tmp_path, "--min-ping-interval-ms", "60000") as process:
        assert len(watched(process.target, 60, 10_000)) > 1


def test_a_message_over_the_limit_is_refused_and_the_limit_is_a_setting(tmp_path: Path) -> None:
    large = common.Page(event_id="x", url=url_of(0), status_code=200, body=b"<p>" + b"x" * 100_000)
    request = pb.IngestPagesRequest(crawl=CRAWL, pages=[large])
    with serving(tmp_path, "--max-message-bytes", "50000") as process, stubs(process.target) as server:
        create(server)
        assert refusal(lambda: server.links.IngestPages(request)).code == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert ingest(server, 1)[0].status.code == common.ITEM_CODE_OK
    with serving(tmp_path) as process, stubs(process.target) as server:
        assert server.links.IngestPages(request).results[0].status.code == common.ITEM_CODE_OK


def test_limits_are_settings(tmp_path: Path) -> None:
    flags = ["--max-crawls", "1", "--max-links", "3", "--max-body-bytes", "5000", "--max-pages-per-call", "2"]
    with serving(tmp_path, *flags) as process, stubs(process.target) as server:
        create(server)
        told = refusal(
            lambda: server.crawls.CreateCrawl(
                crawl_pb.CreateCrawlRequest(crawl=crawl_pb.Crawl(name="crawls/b"))
            )
        )
        assert (told.code, told.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "LIMIT_EXCEEDED")
        assert told.retry_s
        assert "max_crawls" in told.message
        (cut,) = ingest(server, 0)
        assert (cut.status.code, list(cut.status.notes)) == (common.ITEM_CODE_PARTIAL, ["links_cut"])
        assert len(cut.links.urls) == 3
        large = common.Page(url=url_of(1), status_code=200, body=b"x" * 5_001)
        (refused,) = server.links.IngestPages(pb.IngestPagesRequest(crawl=CRAWL, pages=[large])).results
        assert refused.status.problems[0].reason == "BODY_TOO_LARGE"
        assert refusal(lambda: ingest(server, 2, 3, 4)).reason == "TOO_MANY_ITEMS"


def test_more_than_the_server_takes_on_is_told_to_come_back(tmp_path: Path) -> None:
    with serving(tmp_path, "--max-items-in-work", "100") as process, stubs(process.target) as server:
        create(server)
        requests = [
            pb.IngestPagesRequest(crawl=CRAWL, pages=[page(n) for n in range(at, at + 80)])
            for at in range(0, 800, 80)
        ]
        calls = [server.links.IngestPages.future(request) for request in requests]
        answered = [call for call in calls if call.exception(60) is None]
        refused = [refusal(call.result) for call in calls if call.exception(60) is not None]
        assert answered
        assert refused
        assert {(told.code, told.reason) for told in refused} == {
            (grpc.StatusCode.RESOURCE_EXHAUSTED, "LIMIT_EXCEEDED")
        }
        assert all(told.retry_s for told in refused)
        assert page_count(server) == 80 * len(answered)


# Metrics and logs


@contextmanager
def observed(folder: Path) -> Iterator[tuple[ServerProcess, Stubs, Callable[[], dict[str, float]]]]:
    """A server with a metrics port, and a function that returns every sample by name and labels."""
    with serving(folder, "--metrics-listen", "127.0.0.1:0") as process, stubs(process.target) as server:
        (address,) = (
            r["message"].split()[-1] for r in process.records() if r["message"].startswith("metrics on")
        )

        def samples() -> dict[str, float]:
            return {
                sample.name + "".join(f" {value}" for _, value in sorted(sample.labels.items())): sample.value
                for family in text_string_to_metric_families(scrape(address))
                for sample in family.samples
            }

        yield process, server, samples


def test_metrics_count_what_happened(tmp_path: Path) -> None:
    with observed(tmp_path) as (_, server, samples):
        create(server)
        ingest(server, 0, 1, 1)
        bad, gone = common.Page(url="/x"), common.Page(url=url_of(3), status_code=404)
        server.links.IngestPages(pb.IngestPagesRequest(crawl=CRAWL, pages=[bad, gone]))
        given = pb.Feedback(event_id="f", url=url_of(0), reward=0.5)
        server.links.ReportFeedback(
            pb.ReportFeedbackRequest(crawl=CRAWL, feedback=[given, given, pb.Feedback()])
        )
        refusal(lambda: server.crawls.GetCrawl(crawl_pb.GetCrawlRequest(name="crawls/no-such")))
        server.sites.LearnSite(site_pb.LearnSiteRequest(name=f"{CRAWL}/sites/{HOST}"))
        found = samples()
        for outcome, count in {"ok": 2, "duplicate": 1, "invalid": 1, "failed": 1}.items():
            assert found[f"linkscore_pages_total {outcome}"] == count
        for outcome in ("ok", "duplicate", "invalid"):
            assert found[f"linkscore_feedback_total {outcome}"] == 1
        assert found["linkscore_links_scored_total harvest"] == 39
        assert found["linkscore_feedback_reward_total harvest"] == 0.5
        assert found["linkscore_rpc_duration_seconds_count OK LinkScoringService/IngestPages"] == 2
        assert found["linkscore_rpc_duration_seconds_count NOT_FOUND CrawlService/GetCrawl"] == 1
        assert found["linkscore_rpc_duration_seconds_bucket OK +Inf LinkScoringService/IngestPages"] == 2
        assert found["linkscore_learning_duration_seconds_count"] == 1
        assert found["linkscore_learning_failures_total"] == 0
        assert found["linkscore_sites ready"] == 1
        assert found["linkscore_sites sampling"] == found["linkscore_sites learning"] == 0
        assert found["linkscore_log_commit_duration_seconds_count"] >= 4
        assert found["linkscore_log_events_total"] == 9
        assert found["linkscore_bound site_links"] == 200_000
        assert 0 < found["linkscore_bound_used site_links"] < 100
        assert found["linkscore_crawls"] == 1
        assert found["linkscore_crawls_damaged"] == 0
        assert found["linkscore_policy_trust harvest served"] == 1
        assert found["linkscore_policy_judged_links harvest served"] == 2
        assert found["linkscore_policy_quality harvest served"] == 0.5
        assert any(name.startswith("linkscore_build_info") for name in found)


def test_labels_never_name_a_host_a_url_or_a_crawl(tmp_path: Path) -> None:
    with observed(tmp_path) as (_, server, samples):
        create(server)
        ingest(server, *range(10))
        assert not [name for name in samples() if HOST in name or "life" in name]


def test_logs_are_json_lines_with_time_level_and_message(tmp_path: Path) -> None:
    with serving(tmp_path, "--log-level", "debug") as process, stubs(process.target) as server:
        create(server)
        refusal(lambda: server.channel.unary_unary("/linkscore.v1.CrawlService/GetCrawl")(b"\xff"))
        process.terminate()
        records = process.records()
    assert {"time", "level", "logger", "message"} <= set(records[0])
    messages = [record["message"] for record in records]
    assert any(message.startswith("serving on 127.0.0.1:") for message in messages)
    assert any(message.startswith("draining") for message in messages)


# Failed starts


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--listen", "no-port"], "listen: must be host:port"),
        (["--listen", ""], "listen: must be host:port"),
        (["--metrics-listen", "unix:/x"], "metrics_listen: must be host:port"),
        (["--max-links", "many"], "max_links: must be a int"),
        (["--drain-s", "nan"], "drain_s: must be > 0"),
        (["--tls-cert", "/no/such"], "tls_cert: "),
        (["--token-file", "/dev/null"], "token_file: "),
        (["--listen", "192.0.2.1:7411"], "192.0.2.1:7411"),
    ],
)
def test_a_server_that_cannot_start_says_why_and_exits_with_1(
    tmp_path: Path, flags: list[str], said: str
) -> None:
    with pytest.raises(AssertionError) as caught:
        ServerProcess(tmp_path, *flags)
    assert said in str(caught.value)


def test_an_empty_token_file_does_not_switch_the_token_off(tmp_path: Path) -> None:
    empty = tmp_path / "token"
    empty.write_text("\n")
    with pytest.raises(AssertionError, match="token_file: has no token"):
        ServerProcess(tmp_path, "--token-file", str(empty))


def test_a_unix_socket_serves(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/s"
    with serving(tmp_path, "--listen", address) as process, stubs(address) as server:
        assert process.target == address
        create(server)
        assert page_count(server) == 0
