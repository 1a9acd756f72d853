from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import grpc
import pytest

from linkscore.v1 import browse_log_service_pb2 as browse_pb
from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore.v1 import site_model_service_pb2 as site_pb
from support.crawl_calls import UCC
from support.server_process import Stubs, serving, stubs
from support.small_site import HOST, page

_numbers = itertools.count(1)
MANY = 8
"""Groups of the crawls that some modules make too."""
_RUN = uuid.uuid4().hex[:8]  # a server that is already running may know crawls of another run


@pytest.fixture(scope="session")
def target(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    given = request.config.getoption("--target")
    if given:
        yield given
        return
    workers = request.config.getoption("--workers")
    flags = ("--workers", str(workers)) if workers > 1 else ()
    with serving(tmp_path_factory.mktemp("contract"), *flags) as server:
        yield server.target


@pytest.fixture(scope="session")
def server(target: str) -> Iterator[Stubs]:
    with stubs(target) as connected:
        yield connected


@pytest.fixture(scope="session")
def takes_logs(server: Stubs) -> None:
    """Skip what needs browse logs, of a server that takes none: its crawls are in a database."""
    with pytest.raises(grpc.RpcError) as told:
        server.browse.GetBrowseStats(browse_pb.GetBrowseStatsRequest(crawl="crawls/none"))
    if told.value.code() is grpc.StatusCode.UNIMPLEMENTED and "in a database" in told.value.details():
        pytest.skip(told.value.details())


@contextmanager
def crawls_on(server: Stubs, groups: int = 0) -> Iterator[Callable[..., str]]:
    """Give a function that makes crawls, of so many groups; they are deleted afterwards."""
    made: list[str] = []

    def make(**config: Any) -> str:
        name = f"crawls/contract-{_RUN}-{next(_numbers)}"
        config = {"groups": groups, **config}
        server.crawls.CreateCrawl(crawl_pb.CreateCrawlRequest(crawl=crawl_pb.Crawl(name=name, **config)))
        made.append(name)
        return name

    yield make
    for name in made:
        server.crawls.DeleteCrawl(crawl_pb.DeleteCrawlRequest(name=name))


@pytest.fixture
def new_crawl(server: Stubs, groups: int) -> Iterator[Callable[..., str]]:
    with crawls_on(server, groups) as make:
        yield make


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Let modules that say `IN_GROUPS_TOO` make crawls of several groups too; others as --groups says."""
    if "groups" in metafunc.fixturenames:
        given = metafunc.config.getoption("--groups")
        many = {given, MANY} if getattr(metafunc.module, "IN_GROUPS_TOO", False) else {given}
        metafunc.parametrize("groups", sorted(many), ids=lambda n: f"{n or 1}_groups", scope="session")


@pytest.fixture
def crawl(new_crawl: Callable[..., str]) -> str:
    return new_crawl()


@pytest.fixture(scope="session")
def learned(server: Stubs, groups: int) -> Iterator[str]:
    """A crawl whose only site is learned; tests that use it change nothing."""
    with learned_site(server, groups) as crawl:
        yield crawl


@pytest.fixture(scope="session")
def learned_ucc(server: Stubs, groups: int) -> Iterator[str]:
    """The same under `source_ucc`."""
    with learned_site(server, groups, policy=UCC) as crawl:
        yield crawl


@contextmanager
def learned_site(server: Stubs, groups: int, **config: Any) -> Iterator[str]:
    """Give a crawl whose only site is learned."""
    with crawls_on(server, groups) as make:
        name = make(learning=crawl_pb.LearningConfig(sample_pages=2_000), **config)
        server.links.IngestPages(pb.IngestPagesRequest(crawl=name, pages=[page(n) for n in range(60)]))
        server.sites.LearnSite(site_pb.LearnSiteRequest(name=f"{name}/sites/{HOST}"))
        yield name
