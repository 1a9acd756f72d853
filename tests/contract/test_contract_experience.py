"""Files of experience, and crawls that start from them."""

from __future__ import annotations

import json
from collections.abc import Callable

import grpc
import pytest

from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import site_model_service_pb2 as pb
from support.crawl_calls import BREADTH, INVALID, described, ingest
from support.server_process import Stubs, refusal
from support.small_site import HOST, page

IN_GROUPS_TOO = True


def export(server: Stubs, crawl: str) -> bytes:
    request = pb.ExportRulesRequest(name=f"{crawl}/sites/{HOST}", formats=[pb.RULE_FORMAT_EXPERIENCE])
    (file,) = server.sites.ExportRules(request).files
    return file.content


@pytest.fixture
def learned(server: Stubs, new_crawl: Callable[..., str]) -> bytes:
    crawl = new_crawl()
    ingest(server, crawl, *(page(n) for n in range(30)))
    return export(server, crawl)


def test_what_was_learned_is_a_small_document_without_host_or_url(learned: bytes) -> None:
    assert learned.startswith(b'{"format":"linkscore experience","version":1,')
    assert HOST.encode() not in learned
    assert len(learned) < 100 * (len(json.loads(learned)["groups"]) + 2)


def test_a_crawl_starts_from_it(server: Stubs, new_crawl: Callable[..., str], learned: bytes) -> None:
    cold, warm = new_crawl(), new_crawl(experience=[learned])
    assert [described(server, crawl).experience_count for crawl in (cold, warm)] == [0, 1]
    assert not described(server, warm).experience
    scores = [max(ingest(server, crawl, page(0))[0].links.scores) for crawl in (cold, warm)]
    assert scores[0] != scores[1]
    state = server.sites.GetSite(pb.GetSiteRequest(name=f"{warm}/sites/{HOST}")).site.policy_state
    assert state.startswith("experience of other sites is trusted by ")


def test_creating_it_again_is_fine_and_with_another_experience_is_not(
    server: Stubs, new_crawl: Callable[..., str], learned: bytes
) -> None:
    warm = new_crawl(experience=[learned])
    again = crawl_pb.Crawl(name=warm, experience=[learned], groups=described(server, warm).groups)
    assert server.crawls.CreateCrawl(crawl_pb.CreateCrawlRequest(crawl=again)).crawl.name == warm
    again.ClearField("experience")
    told = refusal(lambda: server.crawls.CreateCrawl(crawl_pb.CreateCrawlRequest(crawl=again)))
    assert (told.code, told.reason) == (grpc.StatusCode.ALREADY_EXISTS, "CRAWL_EXISTS")


def test_what_is_no_experience_is_refused_by_its_place(
    server: Stubs, new_crawl: Callable[..., str], learned: bytes
) -> None:
    told = refusal(lambda: new_crawl(experience=[learned, b"{}"]))
    assert (told.code, set(told.violations)) == (INVALID, {"crawl.experience[1]"})


def test_a_policy_that_learns_nothing_of_the_kind_says_so(
    server: Stubs, new_crawl: Callable[..., str]
) -> None:
    crawl = new_crawl(policy=BREADTH)
    ingest(server, crawl, page(0))
    told = refusal(lambda: export(server, crawl))
    assert (told.code, told.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "NO_RULES")
