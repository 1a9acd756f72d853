"""A stored site is crawled in one order by one process, by two workers, and by a cluster over brokers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore_lab.datasets.demo_site import USER_CONTENT
from linkscore_lab.datasets.relevance import ByType
from linkscore_lab.replay import remote
from linkscore_lab.replay.policies import read_policy
from linkscore_lab.replay.prepare import SiteSource, prepare_site
from linkscore_lab.replay.runs import Experiment, ReplayProtocol, cases
from linkscore_lab.replay.task import Task, page_rewards, wanted_pages
from support.cluster.brokers import Brokers
from support.cluster.fleet import Fleet, create
from support.server_process import ServerProcess

pytestmark = pytest.mark.slow

SITE = Path(os.environ.get("CORPORA", "corpora")) / "blog_wordpress.warc.gz"
BUDGET = os.environ.get("BUDGET", "200")
"""Fetches: `make test-kafka CORPORA=FOLDER BUDGET=1000`."""


@contextmanager
def workers(folder: Path) -> Iterator[str]:
    server = ServerProcess(folder, "--workers", "2")
    try:
        yield server.target
    finally:
        server.stop()


@contextmanager
def a_cluster(folder: Path, hosts: str) -> Iterator[str]:
    fleet = Fleet(folder, hosts, "orders", session_s=8)
    try:
        for name in "ab":
            fleet.start(name)
        create(fleet.targets()[1], crawl_pb.Crawl(name="crawls/settled", groups=4))
        yield fleet.targets()[1]
    finally:
        fleet.close()


def test_one_process_two_workers_and_a_cluster_crawl_alike(
    brokers: Brokers, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not SITE.exists():
        pytest.skip(f"needs the stored site {SITE}: CORPORA=FOLDER")
    labels = SITE.with_name("blog_wordpress.labels.tsv.gz")
    with (
        prepare_site([SiteSource([SITE], labels)]) as site,
        workers(tmp_path / "workers") as two,
        a_cluster(tmp_path / "cluster", brokers.hosts) as many,
    ):
        here = Experiment(site, ReplayProtocol(budget=BUDGET))
        rewards = page_rewards(site, ByType(USER_CONTENT))
        task = Task("user_content", wanted_pages(site, here.facts, rewards), rewards)
        [case] = cases([task], ["feedback"], [read_policy("harvest")], [1])
        found = {"one process": here.run(case)}
        for name, target in (("two workers", two), ("a cluster", many)):
            found[name] = Experiment(site, here.protocol, make_scorer=remote.at(target)).run(case)
    with capsys.disabled():
        for name, run in found.items():
            print(f"\n{SITE.name}, harvest, {BUDGET} fetches, {name:12} {run.order_digest}", end="")
    assert len({run.order_digest for run in found.values()}) == 1
    assert all(run.metrics == found["one process"].metrics for run in found.values())
