"""What a running server tells about itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

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
from support.crawl_calls import CRAWL, create, ingest
from support.server_process import ServerProcess, Stubs, refusal, scrape, serving, stubs
from support.small_site import HOST, url_of


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


def test_links_to_skip_are_counted_by_reason(tmp_path: Path) -> None:
    with observed(tmp_path) as (_, server, samples):
        crawl = crawl_pb.Crawl(name="crawls/short", budget=crawl_pb.Budget(max_fetches=1))
        server.crawls.CreateCrawl(crawl_pb.CreateCrawlRequest(crawl=crawl))
        page = common.Page(
            url="http://a.test/",
            status_code=200,
            body=b"<a href=/x>x</a> <a href=/y>y</a>",
            content_type="text/html",
        )
        server.links.IngestPages(pb.IngestPagesRequest(crawl=crawl.name, pages=[page]))
        assert samples()["linkscore_links_skipped_total crawl_budget"] == 2


def test_metrics_count_what_happened(tmp_path: Path) -> None:
    with observed(tmp_path) as (_, server, samples):
        create(server, CRAWL)
        ingest(server, CRAWL, 0, 1, 1)
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
        # what is sent again is not written again; the first event of a crawl comes with its creation
        assert found["linkscore_bound site_links"] == 200_000
        assert 0 < found["linkscore_bound_used site_links"] < 100
        assert found["linkscore_crawls"] == 1
        assert found["linkscore_crawls_damaged"] == 0
        assert any(name.startswith("linkscore_build_info") for name in found)
        assert not [name for name in found if HOST in name or "life" in name], "a label names what is crawled"


def test_logs_are_json_lines_with_time_level_and_message(tmp_path: Path) -> None:
    with serving(tmp_path, "--log-level", "debug") as process, stubs(process.target) as server:
        create(server, CRAWL)
        refusal(lambda: server.channel.unary_unary("/linkscore.v1.CrawlService/GetCrawl")(b"\xff"))
        process.terminate()
        records = process.records()
    assert {"time", "level", "logger", "message"} <= set(records[0])
    messages = [record["message"] for record in records]
    assert any(message.startswith("serving on 127.0.0.1:") for message in messages)
    assert any(message.startswith("draining") for message in messages)
