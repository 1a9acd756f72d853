"""InspectionService: what people look at agrees with what crawlers are told."""

from __future__ import annotations

import grpc
import pytest

from linkscore.v1 import common_pb2 as common
from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import inspection_service_pb2 as pb
from linkscore.v1 import link_scoring_service_pb2 as links_pb
from linkscore.v1 import site_model_service_pb2 as sites_pb
from support.crawl_calls import ingest
from support.server_process import Stubs, refusal
from support.small_site import HOST, url_of

PAGES = range(60)


@pytest.fixture
def site(server: Stubs, crawl: str) -> str:
    """The name of the small forum, of which sixty pages were sent and learned from."""
    ingest(server, crawl, *PAGES)
    name = f"{crawl}/sites/{HOST}"
    server.sites.LearnSite(sites_pb.LearnSiteRequest(name=name), timeout=60)
    return name


def test_activity_adds_up_pages_failures_and_rewards_of_all_sites(server: Stubs, crawl: str) -> None:
    ingest(server, crawl, *range(10))
    gone = common.Page(url="http://b.test/", status_code=404)
    server.links.IngestPages(links_pb.IngestPagesRequest(crawl=crawl, pages=[gone]))
    server.links.ReportFeedback(
        links_pb.ReportFeedbackRequest(crawl=crawl, feedback=[links_pb.Feedback(url=url_of(1), reward=0.5)])
    )
    got = server.crawls.GetCrawl(crawl_pb.GetCrawlRequest(name=crawl, with_activity=True)).activity
    assert (got.site_count, got.learned_site_count, got.page_count, got.failed_count) == (2, 0, 11, 1)
    assert (got.fetch_count, got.reported_count, got.reward) == (11, 1, 0.5)
    assert 0.0 < got.text_reward < 1.0


def test_templates_come_most_crawled_first_with_the_links_that_leave_them(server: Stubs, site: str) -> None:
    got = server.inspection.ListTemplates(pb.ListTemplatesRequest(name=site))
    crawled = [template.crawled_pages for template in got.templates]
    assert len(crawled) >= 3
    assert crawled == sorted(crawled, reverse=True)
    assert sum(crawled) == len(PAGES)
    assert got.stage == common.SITE_STAGE_READY
    for template in got.templates:
        assert template.judged_count == template.crawled_pages
        links = [leaving.link_count for leaving in template.exits]
        assert links == sorted(links, reverse=True)
        assert any("a[" in leaving.tag_path for leaving in template.exits)


def test_pages_of_a_template_say_how_they_were_found(server: Stubs, site: str) -> None:
    template = server.inspection.ListTemplates(pb.ListTemplatesRequest(name=site)).templates[0]
    pages = server.inspection.ListTemplatePages(
        pb.ListTemplatePagesRequest(name=site, template=template.name)
    ).pages
    assert len(pages) == template.sample_pages
    assert {page.url.split("/")[3] for page in pages} == {template.example_url.split("/")[3]}
    assert all(page.HasField("reward") for page in pages)
    found = [link for page in pages for link in page.in_links]
    assert any(link.source and link.tag_path for link in found)
    none = server.inspection.ListTemplatePages(pb.ListTemplatePagesRequest(name=site, template="c99999"))
    assert list(none.pages) == []


def test_harvest_adds_up_over_time(server: Stubs, site: str) -> None:
    got = server.inspection.GetHarvest(pb.GetHarvestRequest(name=site))
    assert sum(point.fetch_count for point in got.points) == len(PAGES)
    assert [point.first_fetch for point in got.points] == sorted(point.first_fetch for point in got.points)
    assert got.reward_source == sites_pb.REWARD_SOURCE_NOVELTY
    assert all(0.0 <= point.text_reward <= 1.0 for point in got.points)


def test_a_site_that_is_not_learned_has_no_templates_and_says_how_far_it_is(
    server: Stubs, crawl: str
) -> None:
    ingest(server, crawl, *range(10))
    got = server.inspection.ListTemplates(pb.ListTemplatesRequest(name=f"{crawl}/sites/{HOST}"))
    assert (list(got.templates), got.stage) == ([], common.SITE_STAGE_SAMPLING)
    assert (got.sample_count, got.next_learning_at) == (10, 200)


@pytest.mark.parametrize(
    ("call", "fields", "field"),
    [
        ("ListTemplatePages", {"template": "c1", "max_results": 1_001}, "max_results"),
        ("ListTemplatePages", {}, "template"),
        ("ListTemplatePages", {"template": "<b>"}, "template"),
        ("ListTemplatePages", {"template": "c" + "9" * 30}, "template"),
    ],
)
def test_bad_fields_are_named(server: Stubs, site: str, call: str, fields: dict, field: str) -> None:
    request = getattr(pb, f"{call}Request")(name=site, **fields)
    refused = refusal(lambda: getattr(server.inspection, call)(request))
    assert (refused.code, list(refused.violations)) == (grpc.StatusCode.INVALID_ARGUMENT, [field])
