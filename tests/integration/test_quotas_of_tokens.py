"""Quotas on a real server: calls, streams, JSON and crawls of tokens; for Scrapy see `test_scrapy_budget`."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from linkscore import Client, errors
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_server.tokens import digest_of
from support.json_calls import JSON, post
from support.server_process import ServerProcess, scrape, serving
from support.small_site import page

QUOTAS = {"batches": "pages_per_s=0.5", "streams": "pages_per_s=20", "few": "crawls=1", "free": ""}


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("quotas")
    lines = (f"{name} write * sha256:{digest_of(name)} {quota}" for name, quota in QUOTAS.items())
    (folder / "tokens").write_text("\n".join(lines))
    flags = ("--token-file", str(folder / "tokens"), "--metrics-listen", "127.0.0.1:0", *JSON)
    with serving(folder, *flags) as process:
        with Client(process.target, token="free") as client:
            client.create_crawl(crawl="life")
        yield process


def counted(process: ServerProcess, name: str) -> dict[str, float]:
    """What a metric says of each token."""
    (address,) = (r["message"].split()[-1] for r in process.records() if "metrics on" in r["message"])
    lines = [line.partition('{token="') for line in scrape(address).splitlines()]
    return {rest.partition('"')[0]: float(rest.split()[-1]) for start, _, rest in lines if start == name}


def test_a_token_beyond_its_quota_comes_back_later_and_others_do_not_notice(process: ServerProcess) -> None:
    many = [page(n) for n in range(60)]
    with Client(process.target, token="batches") as beyond, Client(process.target, token="free") as other:
        assert len(beyond.ingest_pages(crawl="life", pages=many).results) == 60
        with pytest.raises(errors.ResourceExhausted) as refused:
            beyond.ingest_pages(crawl="life", pages=[page(60)])
        assert (refused.value.reason, refused.value.retry_after_s) == ("QUOTA_EXCEEDED", 10)
        assert beyond.rank_buckets(crawl="life", buckets=["a"]).order
        assert len(other.ingest_pages(crawl="life", pages=many).results) == 60
    request = pb.IngestPagesRequest(crawl="crawls/life", pages=[page(61)])
    said = post(process, "LinkScoringService/IngestPages", request, token="batches")
    assert (said.status, said.reason, said.retry_after) == (429, "QUOTA_EXCEEDED", "10")
    assert set(counted(process, "linkscore_quota_refusals_total")) == {"batches"}


def test_a_stream_beyond_its_quota_is_held_and_answered(process: ServerProcess) -> None:
    with Client(process.target, token="streams") as client:
        answers = list(client.stream_pages(crawl="life", pages=map(page, range(100, 130))))
    assert len(answers) == 30
    waited = counted(process, "linkscore_quota_wait_seconds_total")
    assert set(waited) == {"streams"}
    assert waited["streams"] > 0


def test_a_token_creates_as_many_crawls_as_its_quota_allows(process: ServerProcess) -> None:
    with Client(process.target, token="few") as client:
        assert client.ensure_crawl(crawl="life").name == "crawls/life"
        with pytest.raises(errors.ResourceExhausted, match="1 crawls of few are there") as refused:
            client.create_crawl(crawl="more")
        assert refused.value.reason == "LIMIT_EXCEEDED"
        assert [crawl.name for crawl in client.list_crawls()] == ["crawls/life"]


@pytest.mark.parametrize("way", ["a call", "a stream"])
def test_who_is_held_when_the_server_ends_is_told_that_it_is_unavailable(tmp_path: Path, way: str) -> None:
    (tmp_path / "tokens").write_text(f"slow write * sha256:{digest_of('slow')} pages_per_s=0.02")
    flags = ("--token-file", str(tmp_path / "tokens"), "--metrics-listen", "127.0.0.1:0")
    with (
        serving(tmp_path, *flags, "--target-delay-s", "60") as process,
        Client(process.target, token="slow", timeout_s=600) as client,
        ThreadPoolExecutor() as beside,
    ):
        client.create_crawl(crawl="life")
        client.ingest_pages(crawl="life", pages=[page(0)])
        more = [page(1)]
        if way == "a call":
            held = beside.submit(client.ingest_pages, crawl="life", pages=more)
        else:
            held = beside.submit(lambda: list(client.stream_pages(crawl="life", pages=more)))
        while not counted(process, "linkscore_quota_wait_seconds_total"):
            assert not held.done()
        assert process.terminate() == 0
        with pytest.raises(errors.Unavailable):
            held.result(60)
