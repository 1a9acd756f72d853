"""Quotas on a real server: calls, streams, JSON and crawls of tokens; for Scrapy see `test_scrapy_budget`."""

from __future__ import annotations

from collections.abc import Iterator

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
    assert (said.status, said.reason) == (429, "QUOTA_EXCEEDED")
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
