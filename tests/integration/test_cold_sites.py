"""A server whose sites do not fit, killed on the way, answers as one that has room for all."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format

from linkscore.v1 import common_pb2 as common
from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore.v1 import site_model_service_pb2 as site_pb
from support.command_line import run
from support.server_process import ServerProcess, Stubs, serving, stubs
from support.small_site import HOST, body_of, url_of

CRAWL = "crawls/cold"
SITES = [f"{n:02}.{HOST}" for n in range(60)]
STEPS = 150


def on_site(text: str, site: str) -> str:
    return text.replace(HOST, site)


def step(server: Stubs, n: int) -> Any:
    """Take in a page of some site with feedback; return what is told."""
    site = SITES[n * n % 7 if n % 3 else n % len(SITES)]
    fetched = common.Page(
        event_id=f"page-{n}",
        url=on_site(url_of(n), site),
        status_code=200,
        content_type="text/html",
        body=on_site(body_of(n).decode(), site).encode(),
    )
    found = server.links.IngestPages(pb.IngestPagesRequest(crawl=CRAWL, pages=[fetched]), timeout=60)
    given = pb.Feedback(event_id=f"worth-{n}", url=fetched.url, reward=n % 4 / 4)
    server.links.ReportFeedback(pb.ReportFeedbackRequest(crawl=CRAWL, feedback=[given]), timeout=60)
    return plain(found.results[0])


def plain(message: Any) -> Any:
    return json_format.MessageToDict(message)


def asked(server: Stubs) -> list[Any]:
    """Ask about all sites: links, buckets, sites, activity, examples, lists in pages."""
    links = [pb.CandidateLink(url=on_site(url_of(n), SITES[n % 60])) for n in range(90)]
    scored = server.links.ScoreLinks(pb.ScoreLinksRequest(crawl=CRAWL, links=links)).links
    sites = [pb.WaitingSite(site=f"{CRAWL}/sites/{site}") for site in SITES]
    listed: list[Any] = []
    token = ""
    while not listed or token:
        page = server.sites.ListSites(site_pb.ListSitesRequest(crawl=CRAWL, page_size=7, page_token=token))
        listed += [plain(site) for site in page.sites]
        token = page.next_page_token
    buckets = sorted(scored.bucket_names)
    return [
        plain(scored),
        plain(server.links.RankBuckets(pb.RankBucketsRequest(crawl=CRAWL, buckets=buckets, n=20))),
        plain(server.links.RankSites(pb.RankSitesRequest(crawl=CRAWL, sites=sites, n=9))),
        plain(server.links.SuggestExamples(pb.SuggestExamplesRequest(crawl=CRAWL))),
        plain(server.crawls.GetCrawl(crawl_pb.GetCrawlRequest(name=CRAWL, with_activity=True)).activity),
        listed,
    ]


def crawled(folder: Path, flags: Sequence[str], kills: Sequence[int]) -> tuple[list[Any], list[Any]]:
    told: list[Any] = []

    def go_on(process: ServerProcess, until: int) -> None:
        with stubs(process.target) as server:
            if not told:
                crawl = crawl_pb.Crawl(name=CRAWL, learning=crawl_pb.LearningConfig(sample_pages=2_000))
                server.crawls.CreateCrawl(crawl_pb.CreateCrawlRequest(crawl=crawl))
            while len(told) < until:
                told.append(step(server, len(told)))

    for until in kills:
        with serving(folder, *flags) as process:
            go_on(process, until)
            process.kill()
    with serving(folder, *flags) as process:
        go_on(process, STEPS)
        with stubs(process.target) as server:
            answers = asked(server)
        assert process.terminate() == 0
    return told, answers


@pytest.mark.long
def test_where_sites_are_changes_no_answer_and_no_state_through_kills_and_restarts(tmp_path: Path) -> None:
    roomy, cold = tmp_path / "roomy", tmp_path / "cold"
    for folder in (roomy, cold):
        folder.mkdir()
    with serving(roomy) as process:
        assert process.terminate() == 0
    shutil.copytree(roomy / "data", cold / "data")  # the secret, or tickets differ
    assert crawled(cold, ["--site-memory-mb", "1"], [43, 101]) == crawled(roomy, [], [])
    checked = run("data", "check", cold / "data", "--replay")
    assert checked.exit_code == 0, checked.output
