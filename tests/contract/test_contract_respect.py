"""`Crawl.respect`: what a site reserves, by its files and headers; a crawl without it hears nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from linkscore.v1 import common_pb2, site_model_service_pb2
from support.crawl_calls import INVALID, change, described, ingest, score
from support.server_process import Stubs, refusal
from support.small_site import HOST, page, url_of

RESERVED = common_pb2.SKIP_REASON_RESPECT
NewCrawl = Callable[..., str]


def robots(text: str = "User-agent: *\nContent-Signal: search=yes, ai-train=no\n") -> common_pb2.Page:
    return common_pb2.Page(
        url=f"http://{HOST}/robots.txt", status_code=200, content_type="text/plain", body=text.encode()
    )


def with_headers(n: int, *headers: tuple[str, str]) -> common_pb2.Page:
    made = page(n)
    made.headers.extend(common_pb2.Header(name=name, value=value) for name, value in headers)
    return made


def test_links_of_what_a_site_reserves_are_to_skip(server: Stubs, new_crawl: NewCrawl) -> None:
    crawl = new_crawl(respect=["ai-train"])
    [said, first] = ingest(server, crawl, robots(), page(0))
    assert (list(said.status.notes), len(said.links.scores)) == (["not_html"], 0)
    assert set(first.links.verdicts) == {common_pb2.VERDICT_SKIP}
    assert set(first.links.skip_reasons) == {RESERVED}
    assert (first.reserved_uses, first.HasField("standing")) == (["ai-train"], False)
    assert score(server, crawl, url_of(7)).links.skip_reasons == [RESERVED]
    asked = site_model_service_pb2.GetSiteRequest(name=f"{crawl}/sites/{HOST}", max_skipped=2)
    site = server.sites.GetSite(asked)
    assert {(left.reason, left.page_url) for left in site.skipped_links} == {(RESERVED, url_of(0))}
    assert (len(site.skipped_links), site.skipped_counts) == (2, {"respect": len(first.links.scores)})
    assert (described(server, crawl).page_count, described(server, crawl).respect) == (1, ["ai-train"])


@pytest.mark.parametrize("location", ["/\\ud800", "/\\udfff*", "\\ud83d"])
def test_a_file_with_half_a_character_costs_nobody_else_anything(
    server: Stubs, new_crawl: NewCrawl, location: str
) -> None:
    crawl = new_crawl(respect=["tdm"])
    file = common_pb2.Page(url=f"http://{HOST}/.well-known/tdmrep.json", status_code=200)
    file.body = f'[{{"location": "{location}", "tdm-reservation": 1}}]'.encode()
    found = ingest(server, crawl, page(0), file, page(7))
    assert [result.status.code for result in found][::2] == [common_pb2.ITEM_CODE_OK] * 2
    assert described(server, crawl).page_count == 2


def test_a_crawl_that_respects_nothing_answers_as_if_nobody_had_said_anything(
    server: Stubs, new_crawl: NewCrawl
) -> None:
    crawls = [new_crawl(), new_crawl()]
    headers = ("X-Robots-Tag", "none"), ("Content-Signal", "ai-train=no")
    [plain] = ingest(server, crawls[0], page(0))
    [said] = ingest(server, crawls[1], with_headers(0, *headers))
    for result in (plain, said):
        del result.links.ticket_values[:]  # of each crawl its own
        result.site = ""
    assert plain == said
    assert not described(server, crawls[1]).respect


def test_headers_of_a_page_are_heard(server: Stubs, new_crawl: NewCrawl) -> None:
    crawl = new_crawl(respect=["search", "tdm"])
    pages = with_headers(0, ("x-robots-tag", "noindex, nofollow")), with_headers(1, ("TDM-Reservation", "1"))
    first, second = ingest(server, crawl, *pages)
    assert (first.reserved_uses, set(first.links.skip_reasons)) == (["search"], {RESERVED})
    assert (second.reserved_uses, set(second.links.skip_reasons)) == (["tdm"], set())


@pytest.mark.parametrize("n", [1, 4])
def test_a_site_of_a_crawl_of_groups_is_heard_too(server: Stubs, new_crawl: NewCrawl, n: int) -> None:
    crawl = new_crawl(respect=["ai-train"], **({"groups": n} if n > 1 else {}))
    assert ingest(server, crawl, robots(), page(0))[1].reserved_uses == ["ai-train"]


def test_what_a_crawl_respects_can_change(server: Stubs, new_crawl: NewCrawl) -> None:
    crawl = new_crawl(respect=["search"])
    ingest(server, crawl, robots(), page(0))
    assert not score(server, crawl, url_of(7)).links.skip_reasons
    change(server, crawl, respect=["ai-train"])
    assert score(server, crawl, url_of(7)).links.skip_reasons == [RESERVED]
    change(server, crawl, respect=[])
    assert not score(server, crawl, url_of(7)).links.skip_reasons
    assert not described(server, crawl).respect


def test_thousands_of_headers_are_cut_and_nothing_breaks(server: Stubs, new_crawl: NewCrawl) -> None:
    crawl = new_crawl(respect=["search"])
    many = [("X-Robots-Tag", "\x00\r\n\x7f" * 2_000)] * 100 + [("X-Robots-Tag", "noindex")] * 3_000
    [result] = ingest(server, crawl, with_headers(0, *many))
    assert (result.status.code, result.reserved_uses) == (common_pb2.ITEM_CODE_OK, [])


def test_a_use_that_there_is_not_is_refused(server: Stubs, new_crawl: NewCrawl) -> None:
    refused = refusal(lambda: new_crawl(respect=["ai-trian"]))
    assert refused.code == INVALID
    assert "crawl.respect[0]" in str(refused.violations)
    assert "ai-train" in str(refused.violations)


def test_the_links_of_other_pages_are_as_before(server: Stubs, new_crawl: NewCrawl) -> None:
    crawl = new_crawl(respect=["ai-train"])
    assert not ingest(server, crawl, 0)[0].links.skip_reasons
