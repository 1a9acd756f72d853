"""`Crawl.copies`: links to copies are to skip above the bound, and are exported as rules."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from linkscore.v1 import common_pb2, crawl_service_pb2, site_model_service_pb2
from linkscore.v1 import link_scoring_service_pb2 as pb
from support.crawl_calls import INVALID, change, ingest, score
from support.server_process import Stubs, refusal

NewCrawl = Callable[..., str]
ROOT = "http://copies.test"
LINKS = "".join(f'<a href="/item/{n}">one</a><a href="/print/{n}">two</a>' for n in range(30))


def copies(skip_above: float | None = None) -> crawl_service_pb2.Copies:
    return crawl_service_pb2.Copies(skip_above=skip_above)


def page(path: str, text: str, links: str = "") -> common_pb2.Page:
    body = f"<html><body><p>{text}</p>{links}</body></html>".encode()
    return common_pb2.Page(url=ROOT + path, status_code=200, content_type="text/html", body=body)


def crawled(server: Stubs, crawl: str) -> list[pb.PageResult]:
    """Ingest a front page, and twenty items with a copy each."""
    pages = [page("/", "The front page of everything that is here to see", LINKS)]
    for n in range(20):
        text = f"Number {n} has a long text of its own, and nobody else shows it. " * 3
        pages += [page(f"/item/{n}", text), page(f"/print/{n}", text)]
    pages.append(page("/more", "One more page", '<a href="/item/29">one</a><a href="/print/29">two</a>'))
    return ingest(server, crawl, *pages)


@pytest.mark.parametrize("bound", [None, 0.9])
def test_links_to_copies_are_to_skip(server: Stubs, new_crawl: NewCrawl, bound: float | None) -> None:
    *_, last = crawled(server, crawl := new_crawl(copies=copies(bound)))
    assert list(last.links.skip_reasons) == [0, common_pb2.SKIP_REASON_COPY]
    assert list(last.links.verdicts) == [0, common_pb2.VERDICT_SKIP]
    again = score(server, crawl, f"{ROOT}/item/28", f"{ROOT}/print/28").links
    assert list(again.skip_reasons) == [0, common_pb2.SKIP_REASON_COPY]
    assert not last.HasField("standing")


def test_without_copies_nothing_is_to_skip(server: Stubs, new_crawl: NewCrawl) -> None:
    *_, last = crawled(server, new_crawl())
    assert not last.links.skip_reasons


def test_a_bound_can_be_changed_and_copies_lifted(server: Stubs, new_crawl: NewCrawl) -> None:
    crawl = new_crawl(copies=copies(0.99))
    crawled(server, crawl)
    for wanted, reason in ((copies(0.5), common_pb2.SKIP_REASON_COPY), (None, None)):
        change(server, crawl, copies=wanted)
        got = score(server, crawl, f"{ROOT}/print/28").links.skip_reasons
        assert list(got) == ([] if reason is None else [reason])


def test_a_bound_that_is_no_probability_is_refused(server: Stubs, new_crawl: NewCrawl) -> None:
    error = refusal(lambda: new_crawl(copies=copies(1.5)))
    assert error.code == INVALID
    assert "crawl.copies.skip_above" in str(error.violations)


def test_what_is_skipped_is_exported_as_rules(server: Stubs, new_crawl: NewCrawl) -> None:
    crawled(server, crawl := new_crawl(copies=copies(0.9)))
    request = site_model_service_pb2.ExportRulesRequest(name=f"{crawl}/sites/copies.test")
    answer = server.sites.ExportRules(request)
    files = {file.name: file.content.decode() for file in answer.files}
    (rule,) = json.loads(files["linkscore-rules.json"])["denied"]
    assert (rule["kind"], rule["match_count"], rule["total_count"]) == ("copy", 20, 20)
    assert rule["pattern"] == r"^https?://copies\.test/print/[0-9]+$"
    assert f"-{rule['pattern']}\n" in files["regex-urlfilter.txt"]


def test_nothing_is_exported_without_copies(server: Stubs, new_crawl: NewCrawl) -> None:
    crawled(server, crawl := new_crawl())
    request = site_model_service_pb2.ExportRulesRequest(name=f"{crawl}/sites/copies.test")
    assert refusal(lambda: server.sites.ExportRules(request)).reason == "NO_RULES"


def test_why_a_link_is_to_skip_is_explained_and_counted(server: Stubs, new_crawl: NewCrawl) -> None:
    crawled(server, crawl := new_crawl(copies=copies(0.9)))
    links = [pb.CandidateLink(url=f"{ROOT}/{kind}/28") for kind in ("item", "print")]
    told = server.links.ScoreLinks(pb.ScoreLinksRequest(explain=True, crawl=crawl, links=links)).explanations
    assert [each.skip_reason for each in told] == [0, common_pb2.SKIP_REASON_COPY]
