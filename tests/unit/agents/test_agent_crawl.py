"""What tools of agents do, without a server: a client that answers what it was told to."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_cli.agents import AgentCrawl, ToolError, _as_html

HOST = "http://a.example"


class Server:
    """Answers pages with their links in buckets, and gives those of the bucket asked about first."""

    def __init__(self) -> None:
        self.pages: list[common_pb2.Page] = []
        self.asked: list[dict[str, Any]] = []
        self.links: dict[str, list[tuple[str, str, float]]] = {}
        self.skips: dict[str, common_pb2.SkipReason] = {}

    async def ensure_crawl(self, **options: Any) -> None:
        """Any is there."""

    async def ingest_pages(self, *, crawl: str, pages: list[common_pb2.Page]) -> pb.IngestPagesResponse:
        (page,) = pages
        self.pages.append(page)
        result = pb.PageResult()
        for at, (url, bucket, score) in enumerate(self.links.get(page.url, [])):
            result.links.urls.append(url)
            result.links.scores.append(score)
            result.links.buckets.append(at)
            result.links.bucket_names.append(bucket)
            result.links.bucket_values.append(1.0)
            result.links.tickets.append(0)
            result.links.skip_reasons.append(self.skips.get(url, common_pb2.SKIP_REASON_UNSPECIFIED))
        result.links.ticket_values.append(b"ticket")
        return pb.IngestPagesResponse(results=[result])

    async def rank_buckets(self, *, buckets: dict[str, int], n: int, **more: Any) -> Any:
        self.asked.append({"buckets": buckets, "n": n, **more})
        left, urls = n, []
        for count in buckets.values():
            urls.append(min(left, count))
            left -= urls[-1]
        return SimpleNamespace(order=list(range(len(buckets))), values=[0.5] * len(buckets), urls=urls)


@pytest.fixture
def server() -> Server:
    return Server()


async def begun(server: Any, **options: Any) -> AgentCrawl:
    made = AgentCrawl(lambda: server, **options)
    await made.begin([f"{HOST}/"])
    return made


def urls(found: dict[str, Any]) -> list[str]:
    return [one["url"] for one in found["urls"]]


async def test_links_of_the_hosts_begun_with_wait_the_best_of_a_bucket_first(server: Server) -> None:
    server.links[f"{HOST}/"] = [
        (f"{HOST}/1", "list", 0.2),
        (f"{HOST}/2", "list", 0.9),
        ("http://b.example/", "list", 1.0),
        (f"{HOST}/2", "menu", 0.1),
    ]
    agent = await begun(server)
    assert urls(await agent.next_urls(5)) == [f"{HOST}/"]
    assert (await agent.report_page(f"{HOST}/", "<p>hello"))["new_links"] == 2
    assert urls(await agent.next_urls()) == [f"{HOST}/2"]
    assert server.asked[-1] == {
        "crawl": agent.crawl,
        "buckets": {"list": 2, "menu": 1},
        "n": 1,
        "in_flight": {},
        "fill": True,
    }
    assert urls(await agent.next_urls()) == [f"{HOST}/1"]
    assert server.asked[-1]["in_flight"] == {"list": 1}
    assert "report what came of" in (await agent.next_urls())["stop"]
    await agent.report_page(f"{HOST}/1", "text")
    await agent.report_page(f"{HOST}/2", status=404)
    assert [(page.status_code, page.ticket) for page in server.pages[1:]] == [
        (200, b"ticket"),
        (404, b"ticket"),
    ]
    assert "everything that was found" in (await agent.next_urls())["stop"]


async def test_a_page_without_content_is_refused_and_half_a_surrogate_pair_is_not(server: Server) -> None:
    agent = await begun(server)
    with pytest.raises(ToolError, match="content: is empty"):
        await agent.report_page(f"{HOST}/")
    assert not server.pages
    await agent.report_page(f"{HOST}/", "<p>\ud800</p>")
    assert server.pages[0].body == b"<p>?</p>"


async def test_links_that_a_setting_of_the_crawl_forbids_are_not_given(server: Server) -> None:
    """Found so, or waiting since before they were known as such; what the agent began with is given."""
    server.links[f"{HOST}/"] = [(f"{HOST}/{name}", "list", 0.5) for name in ("copy", "trap", "page")]
    server.links[f"{HOST}/page"] = [(f"{HOST}/trap", "list", 0.9)]
    server.skips = {f"{HOST}/": common_pb2.SKIP_REASON_COPY, f"{HOST}/copy": common_pb2.SKIP_REASON_COPY}
    agent = await begun(server)
    assert urls(await agent.next_urls()) == [f"{HOST}/"]
    assert (await agent.report_page(f"{HOST}/", "text"))["new_links"] == 2
    server.skips[f"{HOST}/trap"] = common_pb2.SKIP_REASON_TRAP
    await agent.report_page(f"{HOST}/page", "text")
    assert "everything that was found" in (await agent.next_urls())["stop"]


@pytest.mark.parametrize(
    ("content", "body"),
    [
        ("<p>as it is</p>", "<p>as it is</p>"),
        ("one\n\ntwo & three", "<p>one</p><p>two &amp; three</p>"),
        ('see [the list](/list "title") of', '<p>see <a href="/list">the list</a> of</p>'),
        ("![a picture](/x.png)", "<p>![a picture](/x.png)</p>"),
        ('[a < b](/?a="b")', '<p><a href="/?a=&quot;b&quot;">a &lt; b</a></p>'),
        ("[a](<http://b/c>)", '<p><a href="http://b/c">a</a></p>'),
    ],
)
def test_markdown_becomes_paragraphs_with_its_links(content: str, body: str) -> None:
    assert _as_html(content) == body
