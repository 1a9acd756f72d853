"""ReportFeedback in every order, and the advice of GetSite."""

from __future__ import annotations

from typing import Any

import pytest

from linkscore.v1 import common_pb2 as common
from linkscore.v1 import link_scoring_service_pb2 as links_pb
from linkscore.v1 import site_model_service_pb2 as pb
from support.crawl_calls import BAD, DUPLICATE, OK, described, ingest, report
from support.server_process import Stubs
from support.small_site import HOST, ROOT, page, url_of


def advice(server: Stubs, crawl: str, **asked: Any) -> pb.SiteAdvice:
    return server.sites.GetSite(pb.GetSiteRequest(name=f"{crawl}/sites/{HOST}", **asked)).advice


def score(server: Stubs, crawl: str, url: str, ticket: bytes = b"") -> float:
    link = links_pb.CandidateLink(url=url, ticket=ticket)
    return server.links.ScoreLinks(links_pb.ScoreLinksRequest(crawl=crawl, links=[link])).links.scores[0]


def test_a_large_batch_keeps_its_order_and_names_each_outcome(server: Stubs, crawl: str) -> None:
    ingest(server, crawl, page(0))
    given = [links_pb.Feedback(event_id=f"f{n % 900}", url=url_of(n % 30), reward=0.5) for n in range(1_000)]
    given[700] = links_pb.Feedback(event_id="bad", url="/x", reward=0.5)
    statuses = report(server, crawl, *given)
    assert [s.code for s in statuses] == [
        BAD if n == 700 else OK if n < 900 else DUPLICATE for n in range(1_000)
    ]
    assert described(server, crawl).feedback_count == 899


def test_the_last_event_of_a_batch_about_a_page_counts(server: Stubs, crawl: str) -> None:
    ingest(server, crawl, *(page(n) for n in range(20)))
    report(
        server,
        crawl,
        *(links_pb.Feedback(url=url_of(n), reward=r) for r in (0.0, 1.0, 0.25) for n in range(20)),
    )
    got = advice(server, crawl)
    assert (got.reward_source, got.recent_fetches, got.recent_reward) == (
        pb.REWARD_SOURCE_FEEDBACK,
        20,
        0.25,
    )


@pytest.mark.parametrize("named", ["url", "ticket", "both"])
def test_feedback_on_a_page_that_is_never_ingested_teaches_its_link(
    server: Stubs, crawl: str, named: str
) -> None:
    (result,) = ingest(server, crawl, page(1))
    links = result.links
    found = {u: links.ticket_values[t] for u, t in zip(links.urls, links.tickets, strict=True)}
    url = next(u for u in found if u != f"{ROOT}/")
    before = score(server, crawl, url, found[url])
    item = links_pb.Feedback(
        url=url if named != "ticket" else "", ticket=found[url] if named != "url" else b"", relevant=True
    )
    assert [s.code for s in report(server, crawl, *[item] * 5)] == [OK] * 5
    assert score(server, crawl, url, found[url]) > before


def test_feedback_may_come_before_its_page(server: Stubs, new_crawl: Any) -> None:
    waiting = []
    for first in ("page", "feedback"):
        crawl = new_crawl()
        ingest(server, crawl, page(1))
        steps = {
            "page": lambda crawl=crawl: ingest(server, crawl, page(2)),
            "feedback": lambda crawl=crawl: report(
                server, crawl, links_pb.Feedback(url=url_of(2), relevant=True)
            ),
        }
        for step in sorted(steps, key=lambda name: name != first):
            steps[step]()
        got = advice(server, crawl)
        waiting.append((got.waiting_links, sum(y.fetched_count for y in got.yields)))
        assert [y.reported_count for y in got.yields if y.reported_count] == [1]
    assert waiting[0] == waiting[1]


def test_a_ticket_that_is_too_long_is_named(server: Stubs, crawl: str) -> None:
    (status,) = report(server, crawl, links_pb.Feedback(url=ROOT, ticket=b"x" * 65, reward=1.0))
    assert (status.code, status.problems[0].field) == (BAD, "ticket")


def test_advice_says_what_to_expect_and_what_came(server: Stubs, crawl: str) -> None:
    ingest(server, crawl, *(page(n) for n in range(40)))
    got = advice(server, crawl)
    assert (got.reward_source, got.recent_fetches) == (pb.REWARD_SOURCE_NOVELTY, 40)
    assert got.expected_fetches == min(100, got.waiting_links) > 0
    assert 0.0 < got.expected_reward <= got.expected_fetches
    assert 0.0 <= got.recent_reward < 1.0
    assert sum(y.fetched_count for y in got.yields) == 40
    assert sum(y.waiting_count for y in got.yields) <= got.waiting_links


def test_an_endless_calendar_is_named_with_evidence(server: Stubs, crawl: str) -> None:
    pages = []
    for n in range(40):
        text = "<p>There are no events in this month, please come again.</p>"
        body = f'<html><body>{text}<a href="{ROOT}/cal?month={n + 1}">next</a></body></html>'.encode()
        url = f"{ROOT}/cal?month={n}"
        pages.append(common.Page(url=url, status_code=200, content_type="text/html", body=body))
    ingest(server, crawl, *pages)
    (trap,) = advice(server, crawl).traps
    assert (trap.kind, trap.url_pattern) == (pb.TRAP_KIND_ENDLESS, f"{HOST}/cal")
    assert (trap.fetched_count, trap.waiting_count) == (39, 1)
    assert "100% showed only known text" in trap.evidence
    assert trap.example_urls[-1] == f"{ROOT}/cal?month=39"
