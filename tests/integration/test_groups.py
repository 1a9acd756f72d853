"""A crawl whose sites are in several groups answers as one of one group, survives kills, and is one crawl."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from linkscore.v1 import browse_log_service_pb2 as browse_pb
from linkscore.v1 import common_pb2 as common
from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import link_scoring_service_pb2 as pb
from support.command_line import run
from support.crawl_calls import change, described, ingest
from support.grouped_crawls import SHARE_NOTHING, SITES, Crawler, comparable, create, page_on, spec
from support.server_process import ServerProcess, Stubs, refusal, serving, stubs

pytestmark = pytest.mark.long

GROUPS = 8


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stubs]:
    with serving(tmp_path_factory.mktemp("groups")) as process, stubs(process.target) as connected:
        yield connected


@pytest.mark.parametrize("policy", SHARE_NOTHING)
def test_a_policy_that_shares_nothing_answers_the_same_whatever_the_groups(
    server: Stubs, policy: str
) -> None:
    one, many = (
        Crawler(server, create(server, f"{policy}-{groups}", groups, policy=spec(policy))).run()
        for groups in (1, GROUPS)
    )
    assert len(one) == len(many) == 15
    for apart, together in zip(many, one, strict=True):
        assert str(apart).replace(f"-{GROUPS}/", "-1/") == str(together)


def test_links_that_settings_forbid_say_why_in_all_groups(server: Stubs) -> None:
    crawl = create(server, "spent", GROUPS, budget=crawl_pb.Budget(max_site_fetches=1))
    pages = [page_on(site, 0) for site in SITES]
    ingest(server, crawl, *pages)
    links = [pb.CandidateLink(url=page_on(site, 1).url) for site in SITES]
    told = server.links.ScoreLinks(pb.ScoreLinksRequest(crawl=crawl, links=links)).links
    assert list(told.skip_reasons) == [common.SKIP_REASON_SITE_STOPPED] * len(SITES)


def test_what_learns_one_model_of_all_sites_refuses_groups(server: Stubs) -> None:
    for policy in ("anthelion", "topic"):
        told = refusal(lambda policy=policy: create(server, "refused", 2, policy=spec(policy)))
        assert list(told.violations) == ["crawl.groups"]
        assert (
            f"must be 1: {policy} learns one model from all sites"
            in told.violations["crawl.groups"].description
        )
    assert create(server, "sums", 2, policy=spec("harvest")) == "crawls/sums"
    told = refusal(lambda: change(server, "crawls/sums", policy=spec("anthelion")))
    assert list(told.violations) == ["crawl.groups"]


def test_groups_are_fixed_and_shards_are_no_crawls(server: Stubs) -> None:
    create(server, "fixed", 4)
    assert create(server, "fixed", 4) == "crawls/fixed"
    assert refusal(lambda: create(server, "fixed", 3)).code == grpc.StatusCode.ALREADY_EXISTS
    for shard in ("crawls/fixed@0-of-4", "crawls/fixed@1-of-4"):
        delete = crawl_pb.DeleteCrawlRequest(name=shard)
        assert (
            refusal(lambda delete=delete: server.crawls.DeleteCrawl(delete)).code == grpc.StatusCode.NOT_FOUND
        )


def test_a_page_without_an_id_that_comes_again_counts_once(server: Stubs) -> None:
    crawl = create(server, "again", 2)
    request = pb.IngestPagesRequest(crawl=crawl, pages=[page_on(site, 1) for site in SITES])
    for one in request.pages:
        one.event_id = ""
        one.fetch_time.CopyFrom(Timestamp(seconds=1_700_000_000))
    codes = [{result.status.code for result in server.links.IngestPages(request).results} for _ in range(2)]
    assert codes == [{common.ITEM_CODE_OK}, {common.ITEM_CODE_DUPLICATE}]


def test_browse_logs_are_of_crawls_of_one_group(server: Stubs) -> None:
    batch = browse_pb.ImportBrowseRecordsRequest(crawl=create(server, "browsed", GROUPS), batch_id="one")
    told = refusal(lambda: server.browse.ImportBrowseRecords(batch))
    assert "create a crawl of one" in told.violations["crawl"].description


def test_all_groups_survive_a_kill_hear_of_changes_and_are_deleted_at_once(tmp_path: Path) -> None:
    with stubs((process := ServerProcess(tmp_path)).target) as server:
        crawl = create(server, "kept", 4)
        request = pb.IngestPagesRequest(crawl=crawl, pages=[page_on(site, 0) for site in SITES])
        before = comparable(server.links.IngestPages(request))
        change(server, crawl, policy=spec("opic"))
    process.kill()
    checked = run("data", "check", tmp_path / "data", "--replay")
    assert checked.output == f"{tmp_path / 'data'}: 1 crawls, 0 problems\n"
    with serving(tmp_path) as again, stubs(again.target) as server:
        kept = described(server, crawl)
        assert (kept.page_count, kept.groups, kept.policy.WhichOneof("policy")) == (12, 4, "opic")
        got = server.links.IngestPages(request)
        assert {result.status.code for result in got.results} == {common.ITEM_CODE_DUPLICATE}
        assert (got.policy, before.policy) == ("opic", "harvest")
        server.crawls.DeleteCrawl(crawl_pb.DeleteCrawlRequest(name=crawl))
        assert list(server.crawls.ListShards(crawl_pb.ListShardsRequest()).shards) == []
        assert create(server, "kept", 2) == crawl
        found = described(server, crawl)
        assert (found.page_count, found.groups) == (0, 2)


def test_a_change_that_a_kill_cut_short_is_heard_of_by_every_group_that_is_opened(tmp_path: Path) -> None:
    with stubs((process := ServerProcess(tmp_path)).target) as server:
        crawl = create(server, "cut", 3)
        change(server, crawl, policy=spec("opic"))
    process.kill()
    with closing(sqlite3.connect(tmp_path / "data" / "linkscore.db")) as con, con:
        # As if the process had ended before the last group heard of the change.
        con.execute(
            "DELETE FROM event WHERE seq = 2 AND shard = (SELECT id FROM shard WHERE name LIKE '%2-of-3')"
        )
    with serving(tmp_path) as again, stubs(again.target) as server:
        on_all = [page_on(site, 0) for site in SITES]
        answers = [
            server.links.IngestPages(pb.IngestPagesRequest(crawl=crawl, pages=[one])).policy for one in on_all
        ]
    assert set(answers) == {"opic"}
