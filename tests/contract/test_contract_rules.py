"""SuggestSeeds and ExportRules, and what answers say of types when the policy tells none."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import grpc
import pytest

from linkscore.v1 import inspection_service_pb2 as look_pb
from linkscore.v1 import site_model_service_pb2 as pb
from support.crawl_calls import BREADTH, INVALID, described, ingest
from support.server_process import Stubs, refusal
from support.small_site import HOST, page

NOT_FOUND = grpc.StatusCode.NOT_FOUND


def export(server: Stubs, crawl: str, **more: Any) -> pb.ExportRulesResponse:
    return server.sites.ExportRules(pb.ExportRulesRequest(**{"name": f"{crawl}/sites/{HOST}", **more}))


def seeds(server: Stubs, crawl: str, /, **more: Any) -> pb.SuggestSeedsResponse:
    return server.sites.SuggestSeeds(pb.SuggestSeedsRequest(**{"crawl": crawl, "site": HOST, **more}))


def test_a_policy_without_types_tells_none(server: Stubs, new_crawl: Callable[..., str]) -> None:
    (result,) = ingest(server, new_crawl(policy=BREADTH), page(1))
    assert (result.page_type, result.thread_id, list(result.links.url_types)) == (0, "", [])


def test_of_a_learned_site_the_best_tag_paths_are_handed_out(server: Stubs, learned_ucc: str) -> None:
    got = export(server, learned_ucc)
    assert [file.format for file in got.files] == [pb.RULE_FORMAT_JSON, pb.RULE_FORMAT_SCRAPY]
    document = json.loads(got.files[0].content)
    assert (got.policy, document["revision"], document["rules"]) == ("source_ucc", 1, [])
    templates = server.inspection.ListTemplates(
        look_pb.ListTemplatesRequest(name=f"{learned_ucc}/sites/{HOST}")
    ).templates
    known = {template.name for template in templates} | {"outlier"}
    assert document["tag_paths"]
    for rule in document["tag_paths"]:
        assert {rule["source"], rule["destination"]} <= known
        assert 0.0 < rule["destination_prob"] <= 1.0
        assert rule["link_count"] > 0
    values = [rule["value"] for rule in document["tag_paths"]]
    assert values == sorted(values, reverse=True)
    assert b"restrict_xpaths" in got.files[1].content
    assert got == export(server, learned_ucc)


def test_tag_paths_do_not_fit_a_crawler_that_filters_by_url(server: Stubs, learned_ucc: str) -> None:
    told = refusal(lambda: export(server, learned_ucc, formats=[pb.RULE_FORMAT_NUTCH]))
    assert (told.code, told.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "NO_RULES")
    assert "source_ucc" in told.message
    assert "json and scrapy" in told.message


def test_a_site_of_which_nothing_is_known_has_no_rules(server: Stubs, new_crawl: Callable[..., str]) -> None:
    crawl = new_crawl(policy=BREADTH)
    ingest(server, crawl, page(0))
    for formats in ([], [pb.RULE_FORMAT_JSON], [pb.RULE_FORMAT_SCRAPY]):
        told = refusal(lambda formats=formats: export(server, crawl, formats=formats))
        assert (told.code, told.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "NO_RULES")
        assert HOST in told.message


@pytest.mark.parametrize(
    ("fields", "code", "violation"),
    [
        ({"formats": [99]}, INVALID, {"formats[0]"}),
        ({"formats": [0]}, INVALID, {"formats[0]"}),
        ({"formats": [1, 2, 1]}, INVALID, {"formats[2]"}),
        ({"formats": [1] * 17}, INVALID, {"formats"}),
        ({"name": "crawls/no-such/sites/h"}, NOT_FOUND, set()),
        ({"name": "crawls/no-such"}, INVALID, {"name"}),
    ],
)
def test_bad_requests_for_rules_are_refused(
    server: Stubs, learned: str, fields: dict[str, Any], code: grpc.StatusCode, violation: set[str]
) -> None:
    told = refusal(lambda: export(server, learned, **fields))
    assert (told.code, set(told.violations)) == (code, violation)


def test_a_policy_without_seeds_suggests_none(server: Stubs, new_crawl: Callable[..., str]) -> None:
    crawl = new_crawl(policy=BREADTH)
    ingest(server, crawl, page(0))
    got = seeds(server, crawl)
    assert (list(got.seeds), got.site, got.policy) == ([], f"{crawl}/sites/{HOST}", "breadth_first")
    assert got.event_seq == described(server, crawl).event_seq
    for site in (f"{crawl}/sites/{HOST}", f"http://{HOST}/x?y#z", f"HTTP://{HOST}:80/"):
        assert seeds(server, crawl, site=site) == got


@pytest.mark.parametrize(
    ("fields", "code", "violation"),
    [
        ({"site": ""}, INVALID, {"site"}),
        ({"site": "x" * 1_025}, INVALID, {"site"}),
        ({"site": "crawls/other/sites/h"}, INVALID, {"site"}),
        ({"site": "ftp://h/"}, INVALID, {"site"}),
        ({"site": "http://"}, INVALID, {"site"}),
        ({"site": f"http://{HOST}/" + "x" * 2_083}, INVALID, {"site"}),
        ({"site": "no-such.test"}, NOT_FOUND, set()),
        ({"site": "http://no-such.test/"}, NOT_FOUND, set()),
        ({"max_results": 1_001}, INVALID, {"max_results"}),
        ({"crawl": ""}, INVALID, {"crawl"}),
        ({"crawl": "crawls/no-such"}, NOT_FOUND, set()),
    ],
)
def test_bad_questions_for_seeds_are_refused(
    server: Stubs, learned: str, fields: dict[str, Any], code: grpc.StatusCode, violation: set[str]
) -> None:
    told = refusal(lambda: seeds(server, learned, **fields))
    assert (told.code, set(told.violations)) == (code, violation)
