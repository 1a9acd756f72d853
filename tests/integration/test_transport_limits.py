"""Pings, message sizes and load: what the transport takes, and that the limits are settings."""

from __future__ import annotations

from pathlib import Path

import grpc
import pytest

from linkscore.v1 import (
    common_pb2 as common,
)
from linkscore.v1 import (
    crawl_service_pb2 as crawl_pb,
)
from linkscore.v1 import (
    link_scoring_service_pb2 as pb,
)
from support.crawl_calls import CRAWL, create, ingest
from support.server_process import refusal, serving, stubs
from support.small_site import url_of

pytestmark = pytest.mark.long


def test_a_message_over_the_limit_is_refused_and_the_limit_is_a_setting(tmp_path: Path) -> None:
    large = common.Page(event_id="x", url=url_of(0), status_code=200, body=b"<p>" + b"x" * 100_000)
    request = pb.IngestPagesRequest(crawl=CRAWL, pages=[large])
    with serving(tmp_path, "--max-message-bytes", "50000") as process, stubs(process.target) as server:
        create(server, CRAWL)
        assert refusal(lambda: server.links.IngestPages(request)).code == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert ingest(server, CRAWL, 1)[0].status.code == common.ITEM_CODE_OK
    with serving(tmp_path) as process, stubs(process.target) as server:
        assert server.links.IngestPages(request).results[0].status.code == common.ITEM_CODE_OK


def test_limits_are_settings(tmp_path: Path) -> None:
    flags = ["--max-crawls", "1", "--max-links", "3", "--max-body-bytes", "5000"]
    with serving(tmp_path, *flags) as process, stubs(process.target) as server:
        create(server, CRAWL)
        told = refusal(
            lambda: server.crawls.CreateCrawl(
                crawl_pb.CreateCrawlRequest(crawl=crawl_pb.Crawl(name="crawls/b"))
            )
        )
        assert (told.code, told.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "LIMIT_EXCEEDED")
        assert told.retry_s
        assert "max_crawls" in told.message
        (cut,) = ingest(server, CRAWL, 0)
        assert (cut.status.code, list(cut.status.notes)) == (common.ITEM_CODE_PARTIAL, ["links_cut"])
        assert len(cut.links.urls) == 3
        large = common.Page(url=url_of(1), status_code=200, body=b"x" * 5_001)
        (refused,) = server.links.IngestPages(pb.IngestPagesRequest(crawl=CRAWL, pages=[large])).results
        assert refused.status.problems[0].reason == "BODY_TOO_LARGE"


def test_requests_wait_for_room_and_the_bound_is_a_setting(tmp_path: Path) -> None:
    large = common.Page(url=url_of(0), status_code=200, body=b"<p>" + b"x" * 1_000_000)
    request = pb.IngestPagesRequest(crawl=CRAWL, pages=[large])
    flags = ["--max-message-bytes", "3000000", "--max-inflight-bytes", "3000000"]
    with serving(tmp_path, *flags) as process, stubs(process.target) as server:
        create(server, CRAWL)
        waiting, answered = 12, 0
        while waiting:
            calls = [server.links.IngestPages.future(request) for _ in range(waiting)]
            answered += sum(call.exception(60) is None for call in calls)
            refused = [refusal(call.result) for call in calls if call.exception(60) is not None]
            assert {(told.reason, told.retry_s > 0) for told in refused} <= {("OVERLOADED", True)}
            assert len(refused) < waiting
            waiting = len(refused)
        assert answered == 12


def test_requests_on_their_way_do_not_pile_up_in_the_server(tmp_path: Path) -> None:
    flags = ["--max-message-bytes", "8000000", "--max-inflight-bytes", "16000000"]
    with serving(tmp_path, *flags) as process, stubs(process.target) as server:
        before = process.peak_bytes()
        ingest = server.channel.unary_unary("/linkscore.v1.LinkScoringService/IngestPages")
        calls = [ingest.future(b"\xff" * 7_500_000) for _ in range(64)]
        told = {refusal(call.result).reason for call in calls}
        assert {"MALFORMED_MESSAGE"} <= told <= {"MALFORMED_MESSAGE", "OVERLOADED"}
        assert process.peak_bytes() - before < 384_000_000  # of 480 MB sent; 133 to 217 were measured
