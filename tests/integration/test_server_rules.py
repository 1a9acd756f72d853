"""What a policy knows about URLs reaches the client: types, threads, seeds, wanted pages, rules."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from linkscore import AsyncClient, page, rows
from linkscore.v1 import common_pb2 as common
from linkscore.v1 import site_model_service_pb2 as site_pb
from linkscore_scoring.policies import registry
from linkscore_scoring.policies.guard import guarded
from linkscore_server.app import Application
from linkscore_server.settings import Settings
from support.command_line import run
from support.ruled_policy import RULES, Ruled
from support.small_site import HOST, ROOT, body_of, url_of

TYPES = {"board": common.URL_TYPE_INDEX, "thread": common.URL_TYPE_THREAD}


def sent(n: int) -> common.Page:
    return page(url=url_of(n), body=body_of(n), content_type="text/html", event_id=f"page-{n}")


@pytest.fixture
async def address(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    monkeypatch.setitem(registry._external, Ruled.name, guarded(Ruled))
    app = Application(Settings(listen="127.0.0.1:0", metrics_listen="", data_dir="memory"))
    await app.start()
    yield app.address
    await app.stop()


@pytest.fixture
async def client(address: str) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(address) as connected:
        await connected.create_crawl(crawl="c", policy="toy_ruled")
        yield connected


async def test_links_carry_the_type_of_their_url(client: AsyncClient) -> None:
    got = await client.ingest_pages(crawl="c", pages=[sent(0)])
    found = list(rows(got.results[0].links))
    assert len(found) == 13
    for row in found:
        assert row.url_type == TYPES.get(row.url.split("/")[3], common.URL_TYPE_OTHER)
    again = await client.score_links(crawl="c", links=[url_of(1), "no-url", url_of(0)])
    assert [row.url_type for row in rows(again.links)] == [common.URL_TYPE_THREAD, 0, common.URL_TYPE_INDEX]


async def test_pages_carry_their_type_and_their_thread(client: AsyncClient) -> None:
    got = await client.ingest_pages(crawl="c", pages=[sent(n) for n in (0, 1, 3)])
    assert [result.page_type for result in got.results] == [
        common.PAGE_TYPE_INDEX,
        common.PAGE_TYPE_THREAD,
        common.PAGE_TYPE_OTHER,
    ]
    assert [result.thread_id for result in got.results] == ["", url_of(1), ""]


@pytest.mark.parametrize("site", [HOST, f"crawls/c/sites/{HOST}", url_of(3), f"{ROOT}/new?x=1#y"])
async def test_seeds_are_asked_for_by_site_or_by_any_url_of_it(client: AsyncClient, site: str) -> None:
    await client.ingest_pages(crawl="c", pages=[sent(0)])
    got = await client.suggest_seeds(crawl="c", site=site)
    assert [(seed.url, seed.value) for seed in got.seeds] == [(f"{ROOT}/board/0", 0.8)]
    assert got.seeds[0].reason
    assert (got.site, got.policy, got.event_seq) == (f"crawls/c/sites/{HOST}", "toy_ruled", 2)
    assert got.policy_state == "goes by 2 expressions"


async def test_rules_come_as_files(client: AsyncClient) -> None:
    await client.ingest_pages(crawl="c", pages=[sent(0)])
    got = await client.export_rules(crawl="c", site=HOST)
    assert [file.format for file in got.files] == [1, 2, 3, 5, 6]
    assert len({file.name for file in got.files}) == 5
    told = json.loads(got.files[0].content)["rules"]
    assert [(rule["kind"], rule["pattern"]) for rule in told] == [(r.kind, r.pattern) for r in RULES]
    assert [(rule["match_count"], rule["total_count"]) for rule in told] == [(30, 31), (200, 210)]
    assert (got.policy, got.policy_state, got.event_seq) == ("toy_ruled", "goes by 2 expressions", 2)
    assert got == await client.export_rules(crawl="c", site=HOST, formats=[1, 2, 3, 5, 6])
    (nutch,) = (await client.export_rules(crawl="c", site=HOST, formats=["nutch"])).files
    assert nutch.format == site_pb.RULE_FORMAT_NUTCH
    assert nutch.name == "regex-urlfilter.txt"
    assert rb"+^https?://forum\.test/thread/\d+$" in nutch.content.splitlines()
    assert rb"+^http://forum\.test/board/0$" in nutch.content.splitlines(), "the seed"


async def test_a_format_that_is_not_known_is_told_before_the_call(client: AsyncClient) -> None:
    with pytest.raises(ValueError, match=r"wget.*json, scrapy"):
        await client.export_rules(crawl="c", site=HOST, formats=["wget"])


async def said(command: str, site: str, address: str, *more: object) -> tuple[int, str]:
    """Run a command of the console in a thread; return its exit code and what it printed."""
    got = await asyncio.to_thread(run, *command.split(), site, "--crawl", "c", "--target", address, *more)
    return got.exit_code, got.output


async def test_the_console_writes_the_files(client: AsyncClient, address: str, tmp_path: Path) -> None:
    await client.ingest_pages(crawl="c", pages=[sent(0)])
    out = ("--out", tmp_path / "new")
    code, text = await said("export rules", HOST, address, *out, "--format", "nutch", "--format", "scrapy")
    assert code == 0
    assert "toy_ruled: goes by 2 expressions" in text
    assert {file.name for file in (tmp_path / "new").iterdir()} == {
        "regex-urlfilter.txt",
        "linkscore_rules.py",
    }
    code, text = await said("export rules", HOST, address, *out)
    assert (code, text.count("wrote ")) == (0, 5)


@pytest.mark.parametrize(
    ("site", "formats", "word"),
    [("no-such.test", [], "NOT_FOUND"), (HOST, ["wget"], "is not one of 'json', 'scrapy'")],
)
async def test_the_console_says_why_there_are_no_files(
    client: AsyncClient, address: str, tmp_path: Path, site: str, formats: list[str], word: str
) -> None:
    await client.ingest_pages(crawl="c", pages=[sent(0)])
    more = [part for name in formats for part in ("--format", name)]
    code, text = await said("export rules", site, address, "--out", tmp_path, *more)
    assert code != 0
    assert list(tmp_path.iterdir()) == []
    assert word in text


async def test_the_console_prints_seeds(client: AsyncClient, address: str) -> None:
    await client.ingest_pages(crawl="c", pages=[sent(0)])
    code, text = await said("seeds", url_of(4), address, "-n", 5)
    assert (code, text) == (0, f"0.80  {ROOT}/board/0  most threads are one link away\n")
    code, text = await said("seeds", "no-such.test", address, "-n", 5)
    assert code == 1
    assert "NOT_FOUND" in text
