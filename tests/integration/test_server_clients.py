"""Clients, console and a policy from outside against a real server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from linkscore import AsyncClient, Client, errors, page, rows
from linkscore.v1 import (
    common_pb2 as common,
)
from linkscore.v1 import (
    link_scoring_service_pb2 as pb,
)
from linkscore.v1 import (
    policy_pb2,
)
from linkscore_scoring.policies import registry
from linkscore_scoring.policies.baselines import BreadthFirst
from linkscore_scoring.policies.guard import guarded
from linkscore_server.app import Application
from linkscore_server.settings import Settings
from support.command_line import run
from support.server_process import serving
from support.small_site import HOST, body_of, url_of


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Addresses of a server: gRPC and metrics."""
    with serving(tmp_path_factory.mktemp("clients"), "--metrics-listen", "127.0.0.1:0") as server:
        (metrics,) = (r["message"].split()[-1] for r in server.records() if "metrics on" in r["message"])
        yield server.target, metrics


def sent(n: int) -> common.Page:
    return page(url=url_of(n), body=body_of(n), content_type="text/html", event_id=f"page-{n}")


def test_the_blocking_client_reaches_every_call(running: tuple[str, str]) -> None:
    with Client(running[0]) as client:
        made = client.create_crawl(crawl="blocking", policy="source_ucc", seed=3)
        assert client.ensure_crawl(crawl="blocking").name == made.name == "crawls/blocking"
        assert client.get_crawl(crawl="blocking") == made
        assert made.name in {crawl.name for crawl in client.list_crawls(page_size=1)}
        got = client.ingest_pages(crawl="blocking", pages=[sent(n) for n in range(30)])
        links = list(rows(got.results[0].links))
        assert len(links) == 13
        assert all(row.usable and row.ticket for row in links)
        assert client.learn_site(crawl="blocking", site=HOST).model_revision == 1
        scored = client.score_links(crawl="blocking", links=[(links[1].url, links[1].ticket), url_of(3)])
        assert scored.stage == common.SITE_STAGE_READY
        ranked = client.rank_buckets(crawl="blocking", buckets=[row.bucket for row in links])
        assert len(ranked.order) == 13
        told = client.report_feedback(crawl="blocking", feedback=[pb.Feedback(url=url_of(0), reward=1.0)])
        assert told.statuses[0].code == common.ITEM_CODE_OK
        assert client.explain_links(crawl="blocking", links=[url_of(3)]).policy == "source_ucc"
        assert [site.host for site in client.list_sites(crawl="blocking")] == [HOST]
        assert client.get_site(crawl="blocking", site=HOST).page_count == 30
        changed = client.update_crawl(crawl="blocking", policy=("pagerank", {"every": 4}), observe_only=True)
        assert (changed.policy.pagerank.every, changed.observe_only) == (4, True)
        client.delete_crawl(crawl="blocking")
        with pytest.raises(errors.NotFound) as caught:
            client.get_crawl(crawl="blocking")
        assert caught.value.reason == "CRAWL_NOT_FOUND"


def test_advise_prints_outlook_yields_and_traps(running: tuple[str, str]) -> None:
    text = "<p>There are no events in this month.</p>"
    pages = [
        page(
            url=f"http://{HOST}/cal?month={n}",
            body=f'{text}<a href="/cal?month={n + 1}">on</a>'.encode(),
            content_type="text/html",
        )
        for n in range(30)
    ]
    with Client(running[0]) as client:
        client.create_crawl(crawl="advised")
        client.ingest_pages(crawl="advised", pages=pages)
        got = client.get_site_advice(crawl="advised", site=HOST)
    assert len(got.traps) == 1
    shown = run("advise", HOST, "--crawl", "advised", "--target", running[0])
    assert shown.exit_code == 0
    for said in ("30 pages", "links waiting", "forum.test/cal?month", "Trap? forum.test/cal", "29 fetched"):
        assert said in shown.output


@asynccontextmanager
async def serving_here(settings: Settings) -> AsyncIterator[Application]:
    """A server in this process. One that is left running holds gRPC's thread, and whoever waits for that."""
    app = Application(settings)
    await app.start()
    try:
        yield app
    finally:
        await app.stop()


class Outside(BreadthFirst):
    """A policy of somebody else."""

    name = "outside"


async def test_a_policy_from_outside_serves_is_stored_and_needed_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(registry._external, "outside", guarded(Outside))
    settings = Settings(listen="127.0.0.1:0", metrics_listen="", data_dir=str(tmp_path))
    spec = policy_pb2.PolicySpec(external=policy_pb2.ExternalPolicy(name="outside"))
    async with serving_here(settings) as app, AsyncClient(app.address) as client:
        made = await client.create_crawl(crawl="c", policy="outside")
        assert made.policy == spec
        got = await client.ingest_pages(crawl="c", pages=[sent(0)])
        assert (got.policy, len(got.results[0].links.scores)) == ("outside", 13)
        with pytest.raises(errors.InvalidArgument) as caught:
            await client.update_crawl(crawl="c", policy=("outside", {"depth": 1}))
        assert [v.field for v in caught.value.field_violations] == ["crawl.policy.external.params.depth"]
    monkeypatch.delitem(registry._external, "outside")
    async with serving_here(settings) as app, AsyncClient(app.address) as client:
        with pytest.raises(errors.FailedPrecondition) as refused:
            await client.get_crawl(crawl="c")
        assert "outside" in str(refused.value)
    assert not [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    monkeypatch.setitem(registry._external, "outside", guarded(Outside))
    async with serving_here(settings) as app, AsyncClient(app.address) as client:
        assert (await client.get_crawl(crawl="c")).page_count == 1
