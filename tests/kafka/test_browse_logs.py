"""Browse logs that come into a cluster of real servers: what is known of them outlives each of these."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from linkscore.v1 import browse_log_service_pb2 as pb
from linkscore.v1 import common_pb2 as common
from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import policy_pb2
from support.cluster.brokers import Brokers
from support.cluster.fleet import Fleet, create, insistently
from support.server_process import Stubs, serving, stubs

pytestmark = pytest.mark.slow

CRAWL = "crawls/logs"
SITES, DAYS, BATCHES = [f"site{n}.test" for n in range(8)], 3, 6
OK, DUPLICATE = common.ITEM_CODE_OK, common.ITEM_CODE_DUPLICATE
KEPT = ("--browse-retention-days", "30")


def batch(n: int) -> pb.ImportBrowseRecordsRequest:
    """Return a batch of a visit of each site on each day, of one client."""
    pages = [f"http://{site}/news/{n}" for site in SITES]
    rows = [(day, page) for day in range(DAYS) for page in range(len(SITES))]
    columns = pb.BrowseColumns(
        texts=[f"client {n}", *pages],
        epoch_ms=[86_400_000 * (20_000 + day) for day, _ in rows],
        clients=[0] * len(rows),
        urls=[1 + page for _, page in rows],
        referrers=[0] * len(rows),
    )
    return pb.ImportBrowseRecordsRequest(crawl=CRAWL, batch_id=str(n), columns=columns)


def crawl(groups: int) -> crawl_pb.Crawl:
    policy = policy_pb2.PolicySpec(news_prefix=policy_pb2.NewsPrefixParams())
    return crawl_pb.Crawl(name=CRAWL, groups=groups, policy=policy)


def send(server: Stubs, n: int) -> int:
    answer = insistently(lambda: server.browse.ImportBrowseRecords(iter([batch(n)]), timeout=30))
    return answer.batches[0].status.code


def known(server: Stubs) -> tuple[object, ...]:
    """Return what is there of visits, and what is mined of them."""
    request = pb.GetBrowseStatsRequest(crawl=CRAWL)
    stats = insistently(lambda: server.browse.GetBrowseStats(request, timeout=30))
    mined = [
        insistently(
            lambda site=site: server.browse.MineSite(pb.MineSiteRequest(name=f"{CRAWL}/sites/{site}"))
        )
        for site in SITES
    ]
    visits = sorted((site.site, site.visit_count, site.last_day.seconds) for site in stats.sites)
    return (
        visits,
        [day.start.seconds for day in stats.days],
        stats.visit_count,
        [(one.visit_count, one.page_count, str(one.policies)) for one in mined],
    )


@pytest.mark.parametrize("groups", [1, 4])
def test_visits_outlive_owners(brokers: Brokers, tmp_path: Path, groups: int) -> None:
    prefix = f"visits{groups}"
    fleet = Fleet(tmp_path, brokers.hosts, prefix, session_s=8.0, flags=KEPT)
    try:
        for name in "ab":
            fleet.start(name)
        create(fleet.targets()[0], crawl(groups))
        for n in range(BATCHES):
            with stubs(fleet.targets()[0]) as server:
                assert send(server, n) in (OK, DUPLICATE)  # also one whose answer went with its server
                assert send(server, n) == DUPLICATE
            if n % 2:
                name = "ab"[n // 2 % 2]
                fleet.end(name, signal.SIGKILL if n % 4 == 1 else signal.SIGTERM)
                fleet.start(name)
        with stubs(fleet.targets()[0]) as server:
            found = known(server)
        assert found == alone(tmp_path / "alone")
        assert retention_ms(brokers, f"{prefix}.visits.logs") == str(30 * 86_400_000)
        with stubs(fleet.targets()[0]) as server:
            insistently(lambda: server.crawls.DeleteCrawl(crawl_pb.DeleteCrawlRequest(name=CRAWL)))
        topics = AdminClient({"bootstrap.servers": brokers.hosts}).list_topics(timeout=30).topics
        assert not [topic for topic in topics if topic.startswith(f"{prefix}.visits")]
    finally:
        fleet.close()


def alone(folder: Path) -> tuple[object, ...]:
    """Return what a server with files knows after the same batches."""
    with serving(folder, *KEPT) as process, stubs(process.target) as server:
        create(process.target, crawl(1))
        for n in range(BATCHES):
            assert send(server, n) == OK
        return known(server)


def retention_ms(brokers: Brokers, topic: str) -> str:
    resource = ConfigResource(ResourceType.TOPIC, topic)
    admin = AdminClient({"bootstrap.servers": brokers.hosts})
    return str(admin.describe_configs([resource])[resource].result(30)["retention.ms"].value)
