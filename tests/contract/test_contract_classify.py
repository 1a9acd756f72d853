"""ClassifyPages: clusters without changing anything."""

from __future__ import annotations

from linkscore.v1 import (
    common_pb2 as common,
)
from linkscore.v1 import (
    crawl_service_pb2 as crawl_pb,
)
from linkscore.v1 import (
    link_scoring_service_pb2 as pb,
)
from support.page_calls import BAD, OK, fetched
from support.server_process import Stubs, refusal
from support.small_site import page

IN_GROUPS_TOO = True


def classify(server: Stubs, crawl: str, *pages: common.Page) -> list[pb.PageClassification]:
    return list(server.links.ClassifyPages(pb.ClassifyPagesRequest(crawl=crawl, pages=pages)).classifications)


def test_pages_of_one_template_share_a_cluster_and_the_call_changes_nothing(
    server: Stubs, learned: str
) -> None:
    before = server.crawls.GetCrawl(crawl_pb.GetCrawlRequest(name=learned))
    found = classify(server, learned, *(page(n) for n in (100, 105, 101, 102, 103, 108)))
    clusters = [entry.cluster for entry in found]
    assert clusters[0] == clusters[1] != ""
    assert clusters[2] == clusters[3] != clusters[0]
    assert clusters[4] == clusters[5] not in {"", clusters[0], clusters[2]}
    assert {entry.stage for entry in found} == {common.SITE_STAGE_READY}
    assert {entry.model_revision for entry in found} == {1}
    assert server.crawls.GetCrawl(crawl_pb.GetCrawlRequest(name=learned)) == before


def test_a_page_like_no_other_is_an_outlier_or_far_away(server: Stubs, learned: str) -> None:
    near, far = classify(server, learned, page(101), fetched(body=b"<dl><dt><b>x</b></dt></dl>" * 30))
    assert far.distance > near.distance
    assert far.cluster == "outlier"


def test_a_page_of_an_unlearned_site_has_no_cluster_and_says_the_stage(server: Stubs, crawl: str) -> None:
    (found,) = classify(server, crawl, page(0))
    assert (found.cluster, found.stage, found.model_revision) == ("", common.SITE_STAGE_SAMPLING, 0)
    assert found.status.code == OK


def test_a_bad_page_is_a_status_of_its_classification(server: Stubs, learned: str) -> None:
    bad, good = classify(server, learned, fetched("/x"), page(0))
    assert (bad.status.code, bad.status.problems[0].reason) == (BAD, "RELATIVE_URL")
    assert good.status.code == OK


def test_classifying_none_is_refused(server: Stubs, crawl: str) -> None:
    assert set(refusal(lambda: classify(server, crawl)).violations) == {"pages"}
