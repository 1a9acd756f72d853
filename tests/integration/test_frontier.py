"""`linkscore frontier` over a real channel: URLFrontier's contract, linkscore's order, restarts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from socket import socket
from typing import Any

import grpc
import pytest

from linkscore import Client, page, rows, ticket_text
from linkscore_frontier import urlfrontier_pb2 as pb
from support.frontier.process import Crawler, FrontierProcess, discovered, frontier, known
from support.server_process import PATIENCE_S, refusal, scrape, serving

OK, SKIPPED, FAIL = range(3)
NOWHERE = "127.0.0.1:1"


@pytest.fixture(scope="module")
def lonely(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FrontierProcess]:
    """A frontier whose linkscore is away."""
    with frontier(tmp_path_factory.mktemp("lonely"), "--target", NOWHERE) as process:
        yield process


@pytest.fixture
def crawler(lonely: FrontierProcess) -> Iterator[Crawler]:
    with Crawler(lonely.target) as made:
        yield made
        for crawl in made.stub.ListCrawls(pb.Local()).values:
            made.stub.DeleteCrawl(pb.DeleteCrawlMessage(value=crawl))


def free_port() -> int:
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def eventually(ask: Callable[[], bool]) -> bool:
    until = time.monotonic() + PATIENCE_S
    while not ask():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def test_urls_go_out_in_the_order_they_came_while_linkscore_is_away(crawler: Crawler) -> None:
    assert crawler.put(*(discovered(f"http://a.org/{n}") for n in (2, 1, 3, 1))) == [OK, OK, OK, SKIPPED]
    assert crawler.get(each=2) == ["http://a.org/2", "http://a.org/1"]
    assert crawler.get(each=2) == []  # so many are under way
    assert crawler.put(known("http://a.org/1"), discovered("http://a.org/1")) == [OK, SKIPPED]
    stats = crawler.stats("a.org")
    assert (stats.size, stats.inProcess, stats.numberOfQueues) == (2, 1, 1)
    assert dict(stats.counts) == {"completed": 1, "active_queues": 1}


def test_a_url_is_fetched_again_when_linkscore_says(crawler: Crawler) -> None:
    due = int(time.time()) + 1_000
    crawler.put(
        known("http://a.org/1", next=str(due)),
        known("http://a.org/2", due + 9, next=str(due)),
        known("http://a.org/3", due, next="soon"),
        known("http://a.org/4", next="9" * 40),
        known("http://a.org/5", due + 9, next=str(due), status="304"),  # that of the fetch before
    )
    listed = crawler.stub.ListURLs(pb.ListUrlParams())
    dates = {item.known.info.url[-1]: item.known.refetchable_from_date for item in listed}
    assert dates == {"1": due, "2": due, "3": due, "4": 0, "5": due + 9}


def test_what_is_no_url_is_skipped_and_acknowledgements_have_their_id(crawler: Crawler) -> None:
    items = [discovered(""), discovered("no url"), discovered("http://a.org/" + "x" * 3_000)]
    items += [
        discovered("no url", key="mine"),
        pb.URLItem(ID="7", discovered=discovered("http://a.org/").discovered),
    ]
    acks = list(crawler.stub.PutURLs(iter(items)))
    assert [ack.status for ack in acks] == [SKIPPED, SKIPPED, SKIPPED, OK, OK]
    assert [ack.ID for ack in acks][1:] == ["no url", "http://a.org/" + "x" * 3_000, "no url", "7"]


def test_metadata_and_keys_come_back(crawler: Crawler) -> None:
    crawler.put(discovered("http://gac.icann.org?language_id=9", ticket="abc"))
    assert crawler.stats("gac.icann.org").size == 1
    (info,) = crawler.stub.GetURLs(pb.GetParams(crawlID="DEFAULT"))
    assert (info.key, info.crawlID) == ("gac.icann.org", "DEFAULT")
    assert list(info.metadata["linkscore.ticket"].values) == ["abc"]


def test_a_url_found_twice_has_the_ticket_of_the_bucket_it_is_taken_from(crawler: Crawler) -> None:
    for bucket, value, ticket in (("x", "0.5", "of-x"), ("y", "0.9", "of-y")):
        crawler.put(discovered("http://a.org/1", bucket=bucket, score=value, value=value, ticket=ticket))
    (info,) = crawler.stub.GetURLs(pb.GetParams(crawlID="DEFAULT"))
    assert list(info.metadata["linkscore.ticket"].values) == ["of-y"]


def test_crawls_are_apart_and_the_default_one_has_two_names(crawler: Crawler) -> None:
    url = "http://urlfrontier.net/"
    assert crawler.put(discovered(url, "BESPOKE"), discovered(url), discovered(url, "DEFAULT")) == [
        OK,
        OK,
        SKIPPED,
    ]
    assert list(crawler.stub.ListCrawls(pb.Local()).values) == ["BESPOKE", "DEFAULT"]
    assert crawler.stats().crawlID == "DEFAULT"
    assert crawler.stub.DeleteCrawl(pb.DeleteCrawlMessage(value="BESPOKE")).value == 1
    assert crawler.stats(crawl="BESPOKE").size == 0
    assert crawler.stats().size == 1


def test_crawls_are_bounded(crawler: Crawler) -> None:
    answers = crawler.put(*(discovered("http://a.org/1", f"c{n}") for n in range(101)))
    assert answers == [OK] * 100 + [FAIL]


def test_any_crawl_may_be_asked_for(crawler: Crawler) -> None:
    crawler.put(discovered("http://a.org/1", "A"), discovered("http://b.org/1", "B"))
    got = [(info.crawlID, info.url) for info in crawler.stub.GetURLs(pb.GetParams())]
    assert sorted(got) == [("A", "http://a.org/1"), ("B", "http://b.org/1")]


def test_lists_counts_and_states(crawler: Crawler) -> None:
    due = int(time.time()) + 1_000
    crawler.put(*(discovered(f"http://a.org/{n}") for n in range(1_200)), known("http://b.org/B", due))
    assert len(list(crawler.stub.ListURLs(pb.ListUrlParams()))) == 100
    listed = list(crawler.stub.ListURLs(pb.ListUrlParams(start=50, size=1_100)))
    assert [item.known.info.url for item in listed] == [f"http://a.org/{n}" for n in range(50, 1_150)]
    found = list(crawler.stub.ListURLs(pb.ListUrlParams(filter="ORG/b", ignoreCase=True)))
    assert [(item.known.info.url, item.known.refetchable_from_date) for item in found] == [
        ("http://b.org/B", due)
    ]
    assert abs(found[0].creation_date - time.time()) < PATIENCE_S
    assert crawler.stub.CountURLs(pb.CountUrlParams()).value == 1_201
    assert crawler.stub.CountURLs(pb.CountUrlParams(key="b.org", filter="b.org/B")).value == 1
    status = crawler.stub.GetURLStatus(pb.URLStatusRequest(url="http://b.org/B"))
    assert status.known.refetchable_from_date == due
    assert refusal(lambda: crawler.stub.GetURLStatus(pb.URLStatusRequest(url="http://b.org/x"))).code == (
        grpc.StatusCode.NOT_FOUND
    )
    queues = crawler.stub.ListQueues(pb.Pagination())
    assert (list(queues.values), queues.total, queues.size) == (["a.org", "b.org"], 2, 2)
    assert list(crawler.stub.ListQueues(pb.Pagination(start=1)).values) == ["b.org"]
    told = refusal(lambda: crawler.stub.PurgeURLs(pb.PurgeUrlParams(days=1)))
    assert told.code is grpc.StatusCode.UNIMPLEMENTED
    assert crawler.stub.DeleteQueue(pb.QueueWithinCrawlParams(key="a.org")).value == 1_200


def test_queues_are_paced_blocked_and_bounded(crawler: Crawler) -> None:
    stub = crawler.stub
    crawler.put(*(discovered(f"http://{host}.org/{n}") for host in "abcd" for n in range(2)))
    stub.SetDelay(pb.QueueDelayParams(key="a.org", delay_requestable=3_600))
    stub.BlockQueueUntil(pb.BlockQueueParams(key="b.org", time=int(time.time()) + 3_600))
    stub.SetCrawlLimit(pb.CrawlLimitParams(key="c.org", limit=1))
    crawler.put(known("http://c.org/0"))
    assert sorted(crawler.get(queues=4)) == ["http://a.org/0", "http://d.org/0"]
    assert list(stub.ListQueues(pb.Pagination()).values) == ["a.org", "c.org", "d.org"]
    stub.BlockQueueUntil(pb.BlockQueueParams(key="b.org"))
    stub.SetCrawlLimit(pb.CrawlLimitParams(key="c.org"))
    time.sleep(1.1)  # the delay of all queues is a second
    assert sorted(crawler.get(queues=4, each=2)) == [
        "http://b.org/0",
        "http://b.org/1",
        "http://c.org/1",
        "http://d.org/1",
    ]
    told = refusal(lambda: stub.SetCrawlLimit(pb.CrawlLimitParams(key="nowhere", limit=1)))
    assert told.code is grpc.StatusCode.NOT_FOUND


def test_the_whole_frontier_can_be_put_to_rest(crawler: Crawler) -> None:
    crawler.put(discovered("http://a.org/"))
    crawler.stub.SetActive(pb.Active(state=False))
    assert not crawler.stub.GetActive(pb.Local()).state
    assert crawler.get() == []
    crawler.stub.SetActive(pb.Active(state=True))
    assert crawler.get() == ["http://a.org/"]
    assert len(crawler.stub.ListNodes(pb.Empty()).values) == 1


def test_leases_and_control_outlive_a_kill(tmp_path: Path) -> None:
    with frontier(tmp_path, "--target", NOWHERE) as process, Crawler(process.target) as crawler:
        crawler.put(*(discovered(f"http://a.org/{n}") for n in range(4)), discovered("http://b.org/"))
        assert crawler.get(each=2) == ["http://a.org/0", "http://a.org/1"]
        crawler.stub.SetDelay(pb.QueueDelayParams(key="a.org", delay_requestable=0))
        crawler.stub.SetDelay(pb.QueueDelayParams(delay_requestable=3))
        crawler.stub.BlockQueueUntil(pb.BlockQueueParams(key="b.org", time=int(time.time()) + 3_600))
        crawler.stub.SetActive(pb.Active(state=False))
        process.kill()
    with frontier(tmp_path, "--target", NOWHERE) as process, Crawler(process.target) as crawler:
        assert not crawler.stub.GetActive(pb.Local()).state
        crawler.stub.SetActive(pb.Active(state=True))
        assert crawler.stats().inProcess == 2
        assert crawler.get(queues=0, each=0) == ["http://a.org/2", "http://a.org/3"]


def test_a_folder_belongs_to_one_frontier(tmp_path: Path) -> None:
    with (
        frontier(tmp_path, "--target", NOWHERE),
        pytest.raises(AssertionError, match="in use by another linkscore process"),
    ):
        FrontierProcess(tmp_path, "--target", NOWHERE)


def scored(answer: Any) -> list[pb.URLItem]:
    """Items of the links of a page as an adapter puts them, with what linkscore said."""
    links = answer.results[0].links
    values = dict(zip(links.bucket_names, links.bucket_values, strict=True))
    return [
        discovered(
            row.url,
            bucket=row.bucket,
            score=str(row.score),
            value=str(values[row.bucket]),
            ticket=ticket_text(row.ticket),
        )
        for row in rows(links)
    ]


def test_linkscore_orders_and_is_told_of_failures(tmp_path: Path) -> None:
    with (
        serving(tmp_path / "server") as server,
        Client(server.target) as client,
        frontier(tmp_path / "f", "--target", server.target) as process,
        Crawler(process.target) as crawler,
    ):
        client.ensure_crawl(crawl="default", policy="newest")
        crawler.put(discovered("http://a.org/elsewhere", bucket=""))
        for parent, name in (("", "2025/01/list"), ("2025/01/list", "2026/01/thread")):
            body = f'<a href="/{name}">A</a>'.encode()
            answer = client.ingest_pages(
                crawl="default", pages=[page(url=f"http://a.org/{parent}", body=body)]
            )
            crawler.put(*scored(answer))
        # The newest link goes out first, the one linkscore said nothing about last.
        expected = ("2026/01/thread", "2025/01/list", "elsewhere")
        assert crawler.get(each=5) == [f"http://a.org/{name}" for name in expected]
        gone = scored(answer)[0].discovered.info
        crawler.put(known(gone.url, status="404", ticket=gone.metadata["linkscore.ticket"].values[0]))
        assert eventually(lambda: client.get_crawl(crawl="default").page_count == 3)


@pytest.mark.long
def test_linkscore_may_come_late_go_and_come_back(tmp_path: Path) -> None:
    port = free_port()
    flags = ("--target", f"127.0.0.1:{port}", "--metrics-listen", f"127.0.0.1:{(metrics := free_port())}")
    urls = [f"http://a.org/{n}/page" for n in range(3)]

    def metric(name: str) -> float:
        lines = scrape(f"127.0.0.1:{metrics}").splitlines()
        return float(
            next(line.split()[-1] for line in lines if line.startswith(f"linkscore_frontier_{name} "))
        )

    with frontier(tmp_path / "f", *flags) as process, Crawler(process.target) as crawler:
        crawler.put(discovered(urls[0]))
        assert eventually(lambda: metric("away") == 1)
        assert crawler.get() == [urls[0]]  # linkscore never was there
        crawler.put(discovered(urls[1]))
        for round_ in (1, 2):
            with serving(tmp_path / "server", "--listen", f"127.0.0.1:{port}"):
                assert eventually(lambda so_many=round_: metric("scored_total") == so_many)
                assert metric("away") == 0
            crawler.put(discovered(urls[2]))
        assert metric('put_total{status="OK"}') == 3
        assert crawler.get(queues=0, each=0, key="a.org") == [urls[1], urls[2]]


def test_large_keys_and_metadata_are_not_kept(crawler: Crawler) -> None:
    items = [
        discovered("http://a.org/1", key="k" * 1_025),
        discovered("http://a.org/2", ticket="x" * 33_000),
        discovered("http://a.org/3", "\u00e9" * 70),  # 420 characters of a file name
        discovered("http://a.org/4", key="k" * 1_024, ticket="x" * 32_000),
    ]
    assert crawler.put(*items) == [SKIPPED, SKIPPED, SKIPPED, OK]
