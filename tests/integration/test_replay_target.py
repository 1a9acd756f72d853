"""A replay at a server equals the replay in process, to the last fetch."""

from __future__ import annotations

import gzip
from pathlib import Path

import grpc
import pytest

from linkscore.v1 import crawl_service_pb2, crawl_service_pb2_grpc
from linkscore_lab.datasets.demo_site import USER_CONTENT, DemoSite
from linkscore_lab.datasets.relevance import ByType
from linkscore_lab.datasets.site import Reply
from linkscore_lab.replay import remote
from linkscore_lab.replay.policies import read_policy
from linkscore_lab.replay.prepare import SiteSource, prepare_site
from linkscore_lab.replay.runs import Case, Experiment, ReplayProtocol, cases
from linkscore_lab.replay.scorer import CrawlSetup
from linkscore_lab.replay.task import Task, page_rewards, wanted_pages
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.policies.registry import builtin
from support.server_process import serving

POLICIES = [
    name
    for name in ("breadth_first", "uniform_random", "harvest", "source_ucc", "opic", "pagerank")
    if name in builtin()
]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> SiteSource:
    """A demonstration site of some 700 pages as a WARC file written by a library, with its labels."""
    site = DemoSite(3, n_threads=60, n_members=40)
    folder = tmp_path_factory.mktemp("archive")
    types = site.labels()
    warc = folder / "demo.warc.gz"
    warc.write_bytes(b"".join(_record(url, site.respond(url)) for url in types))
    labels = folder / "demo.labels.tsv"
    rows = "".join(f"{url}\t{kind}\n" for url, kind in types.items())
    labels.write_text("url\tpage_type\n" + rows, encoding="utf-8")
    return SiteSource([warc], labels)


def _record(url: str, reply: Reply) -> bytes:
    headers = "".join(f"{name}: {value}\r\n" for name, value in reply.headers.items())
    block = f"HTTP/1.1 {reply.status} OK\r\n{headers}\r\n".encode() + reply.body
    head = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return gzip.compress(head.encode() + block + b"\r\n\r\n")


@pytest.mark.slow
def test_a_server_and_the_library_crawl_alike(archive: SiteSource, tmp_path: Path) -> None:
    with prepare_site([archive]) as site, serving(tmp_path) as server:
        here = Experiment(site, ReplayProtocol(budget="240"))
        there = Experiment(site, here.protocol, make_scorer=remote.at(server.target))
        rewards = page_rewards(site, ByType(USER_CONTENT))
        task = Task("user_content", wanted_pages(site, here.facts, rewards), rewards)
        todo = list(cases([task], ["feedback"], [read_policy(name) for name in POLICIES], [2]))
        todo += cases([task], ["examples"], [read_policy("harvest")], [2])
        pairs = [(here.run(case), there.run(case)) for case in todo]
    assert [one.order_digest for one, _ in pairs] == [two.order_digest for _, two in pairs]
    assert [one.metrics for one, _ in pairs] == [two.metrics for _, two in pairs]
    assert [[why.summary for why in one.explanations] for one, _ in pairs] == [
        [why.summary for why in two.explanations] for _, two in pairs
    ]
    assert len({one.order_digest for one, _ in pairs}) == len(todo)


@pytest.mark.long
def test_the_crawl_of_a_replay_is_deleted(archive: SiteSource, tmp_path: Path) -> None:
    with prepare_site([archive]) as site, serving(tmp_path) as server:
        case = Case(Task("user_content", {site.entries[0]: ""}), "none", read_policy("breadth_first"), 1)
        Experiment(site, ReplayProtocol(budget="3"), make_scorer=remote.at(server.target)).run(case)
        with grpc.insecure_channel(server.target) as channel:
            crawls = crawl_service_pb2_grpc.CrawlServiceStub(channel)
            assert not crawls.ListCrawls(crawl_service_pb2.ListCrawlsRequest()).crawls


def test_a_server_that_is_not_there_is_a_clear_error() -> None:
    with pytest.raises(InvalidInput, match=r"target: 127\.0\.0\.1:1: UNAVAILABLE"):
        remote.RemoteScorer(CrawlSetup("breadth_first"), "127.0.0.1:1")
