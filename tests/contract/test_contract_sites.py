"""SiteModelService, health and reflection."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from linkscore.v1 import (
    common_pb2 as common,
)
from linkscore.v1 import (
    crawl_service_pb2 as crawl_pb,
)
from linkscore.v1 import (
    inspection_service_pb2 as look_pb,
)
from linkscore.v1 import (
    link_scoring_service_pb2 as links_pb,
)
from linkscore.v1 import (
    site_model_service_pb2 as pb,
)
from support.crawl_calls import described, ingest
from support.server_process import Stubs, refusal
from support.small_site import HOST, page

SERVICES = (
    "linkscore.v1.CrawlService",
    "linkscore.v1.LinkScoringService",
    "linkscore.v1.SiteModelService",
)


def get(server: Stubs, name: str) -> pb.Site:
    return server.sites.GetSite(pb.GetSiteRequest(name=name)).site


def learn(server: Stubs, name: str) -> pb.Site:
    return server.sites.LearnSite(pb.LearnSiteRequest(name=name), timeout=60).site


def test_sites_are_listed_by_name_in_pages_and_their_names_are_escaped(server: Stubs, crawl: str) -> None:
    hosts = ["b.test", "a.test:8080", "c.test", "[::1]:81"]
    ingest(server, crawl, *(common.Page(url=f"http://{host}/", status_code=404) for host in hosts))
    found, token = list[pb.Site](), ""
    while True:
        got = server.sites.ListSites(pb.ListSitesRequest(crawl=crawl, page_size=3, page_token=token))
        found += got.sites
        token = got.next_page_token
        if not token:
            break
    assert [site.host for site in found] == sorted(hosts)
    assert f"{crawl}/sites/a.test%3A8080" in {site.name for site in found}
    assert all(get(server, site.name) == site for site in found)


def test_a_site_counts_its_pages_failures_and_links(server: Stubs, crawl: str) -> None:
    failed = common.Page(url=f"http://{HOST}/gone", status_code=404)
    ingest(server, crawl, page(0), page(1), failed)
    site = get(server, f"{crawl}/sites/{HOST}")
    assert (site.page_count, site.failed_count, site.sample_count) == (3, 1, 2)
    assert (site.stage, site.model_revision, site.next_learning_at) == (common.SITE_STAGE_SAMPLING, 0, 200)
    assert site.link_count > 12


def test_a_site_names_the_session_ids_in_its_urls(server: Stubs, crawl: str) -> None:
    """Every link comes with the session of the fetch; the names are learned from links seen again."""
    pages = []
    for n in range(4):
        token = f"0a{n}b1c2d3e4f5a6b7c8d9e0f"
        body = "".join(f'<a href="/thread?t={t}&amp;sid={token}">thread {t}</a>' for t in range(4))
        pages.append(common.Page(url=f"http://{HOST}/board?f={n}", status_code=200, body=body.encode()))
    ingest(server, crawl, *pages)
    site = get(server, f"{crawl}/sites/{HOST}")
    assert site.session_names == ["sid"]
    assert site.link_count == 4 + 3 * 4  # two sessions, then none: the last page shows no new link


@pytest.mark.parametrize("method", ["GetSite", "LearnSite"])
def test_a_name_that_is_no_site_is_refused(server: Stubs, crawl: str, method: str) -> None:
    ask, kind = getattr(server.sites, method), getattr(pb, f"{method}Request")
    for bad in ("", crawl, f"{crawl}/sites/", f"{crawl}/pages/x", f"{crawl}/sites/a/b"):
        told = refusal(lambda bad=bad: ask(kind(name=bad)))
        assert (told.code, set(told.violations)) == (grpc.StatusCode.INVALID_ARGUMENT, {"name"})
    told = refusal(lambda: ask(kind(name=f"{crawl}/sites/no-such.test")))
    assert (told.code, told.reason) == (grpc.StatusCode.NOT_FOUND, "SITE_NOT_FOUND")
    told = refusal(lambda: ask(kind(name="crawls/no-such/sites/a.test")))
    assert (told.code, told.reason) == (grpc.StatusCode.NOT_FOUND, "CRAWL_NOT_FOUND")


def templates(server: Stubs, name: str, **more: int) -> list[look_pb.Template]:
    return list(server.inspection.ListTemplates(look_pb.ListTemplatesRequest(name=name, **more)).templates)


def test_a_site_without_pages_cannot_be_learned(server: Stubs, crawl: str) -> None:
    ingest(server, crawl, common.Page(url=f"http://{HOST}/", status_code=404))
    told = refusal(lambda: learn(server, f"{crawl}/sites/{HOST}"))
    assert (told.code, told.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "SITE_NOT_LEARNED")


@pytest.mark.parametrize("n_pages", [1, 2, 30])
def test_a_site_of_any_size_learns_on_demand(
    server: Stubs, new_crawl: Callable[..., str], n_pages: int
) -> None:
    crawl = new_crawl()
    ingest(server, crawl, *(page(n) for n in range(n_pages)))
    site = learn(server, f"{crawl}/sites/{HOST}")
    assert (site.stage, site.model_revision) == (common.SITE_STAGE_READY, 1)


def test_requests_to_learn_at_the_same_time_are_all_answered(server: Stubs, crawl: str) -> None:
    ingest(server, crawl, *(page(n) for n in range(20)))
    name = f"{crawl}/sites/{HOST}"
    with ThreadPoolExecutor(4) as pool:
        sites = list(pool.map(lambda _: learn(server, name), range(4)))
    assert all(site.stage == common.SITE_STAGE_READY for site in sites)


def test_cluster_names_survive_relearning(server: Stubs, crawl: str) -> None:
    name = f"{crawl}/sites/{HOST}"
    ingest(server, crawl, *(page(n) for n in range(40)))
    learn(server, name)
    before = {template.name for template in templates(server, name)}
    ingest(server, crawl, *(page(n) for n in range(40, 80)))
    assert learn(server, name).model_revision == 2
    assert {template.name for template in templates(server, name)} == before


def test_every_service_is_healthy(server: Stubs) -> None:
    health = health_pb2_grpc.HealthStub(server.channel)
    for service in ("", *SERVICES):
        got = health.Check(health_pb2.HealthCheckRequest(service=service))
        assert got.status == health_pb2.HealthCheckResponse.SERVING
    told = refusal(lambda: health.Check(health_pb2.HealthCheckRequest(service="no.such")))
    assert told.code == grpc.StatusCode.NOT_FOUND


def test_reflection_lists_the_services_and_gives_the_contract(server: Stubs) -> None:
    ask = reflection_pb2_grpc.ServerReflectionStub(server.channel).ServerReflectionInfo
    asked = [
        reflection_pb2.ServerReflectionRequest(list_services=""),
        reflection_pb2.ServerReflectionRequest(file_containing_symbol=SERVICES[0]),
    ]
    listed, described = ask(iter(asked))
    names = {service.name for service in listed.list_services_response.service}
    assert {*SERVICES, "grpc.health.v1.Health"} <= names
    assert described.file_descriptor_response.file_descriptor_proto


def test_a_message_that_is_none_is_refused_without_a_traceback(server: Stubs) -> None:
    call = server.channel.unary_unary("/linkscore.v1.CrawlService/GetCrawl")
    told = refusal(lambda: call(b"\xff\xff\xff"))
    assert told.code == grpc.StatusCode.INVALID_ARGUMENT
    assert "Traceback" not in told.message


def test_a_deadline_that_passes_leaves_the_server_in_order(server: Stubs, crawl: str) -> None:
    request = links_pb.IngestPagesRequest(crawl=crawl, pages=[page(n) for n in range(300)])
    told = refusal(lambda: server.links.IngestPages(request, timeout=0.005))
    # A server that still works on a call before it refuses what cannot be done in time.
    assert told.code in (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.RESOURCE_EXHAUSTED)
    again = server.links.IngestPages(request)
    assert all(r.status.code in (common.ITEM_CODE_OK, common.ITEM_CODE_DUPLICATE) for r in again.results)
    assert described(server, crawl).page_count == 300


def test_a_crawl_of_the_default_policy_names_the_templates_of_its_pages(
    server: Stubs, new_crawl: Callable[..., str]
) -> None:
    crawl = new_crawl(learning=crawl_pb.LearningConfig(sample_pages=40))
    ingest(server, crawl, *(page(n) for n in range(60)))
    name, until = f"{crawl}/sites/{HOST}", time.monotonic() + 60.0
    while not get(server, name).model_revision:
        assert time.monotonic() < until
        time.sleep(0.05)
    sent = links_pb.IngestPagesRequest(crawl=crawl, pages=[page(61)])
    assert server.links.IngestPages(sent).results[0].cluster
    assert len(templates(server, name)) > 1
