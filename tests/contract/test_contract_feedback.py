"""ReportFeedback: late, again, by ticket, and bad events among good ones."""

from __future__ import annotations

from collections.abc import Callable

from linkscore.v1 import (
    link_scoring_service_pb2 as pb,
)
from support.crawl_calls import BAD, DUPLICATE, OK, described, ingest, report
from support.server_process import Stubs, refusal
from support.small_site import ROOT, url_of

IN_GROUPS_TOO = True


def test_feedback_counts_once_by_its_event_id(server: Stubs, crawl: str) -> None:
    ingest(server, crawl, 0)
    given = pb.Feedback(event_id="f1", url=url_of(0), reward=0.5)
    assert [status.code for status in report(server, crawl, given, given)] == [OK, DUPLICATE]
    assert [status.code for status in report(server, crawl, given)] == [DUPLICATE]
    assert described(server, crawl).feedback_count == 1


def test_feedback_under_the_event_id_of_its_page_counts(server: Stubs, crawl: str) -> None:
    ingest(server, crawl, 0)
    (status,) = report(server, crawl, pb.Feedback(event_id="page-0", url=url_of(0), item_count=3))
    assert status.code == OK


def test_bad_feedback_is_named_and_the_rest_counts(
    server: Stubs, crawl: str, new_crawl: Callable[..., str]
) -> None:
    foreign = ingest(server, new_crawl(), 0)[0].links.ticket_values[0]
    given = {
        ("url", "REQUIRED"): pb.Feedback(reward=1.0),
        ("url", "RELATIVE_URL"): pb.Feedback(url="/x", reward=1.0),
        ("outcome", "REQUIRED"): pb.Feedback(url=ROOT),
        ("reward", "INVALID_VALUE"): pb.Feedback(url=ROOT, reward=1.5),
        ("event_id", "INVALID_VALUE"): pb.Feedback(url=ROOT, reward=1.0, event_id="x" * 129),
    }
    more = [pb.Feedback(ticket=foreign, reward=1.0), pb.Feedback(url=ROOT, reward=float("nan"))]
    *bad, foreign_only, nan, good = report(
        server, crawl, *given.values(), *more, pb.Feedback(url=ROOT, reward=1.0)
    )
    assert [(s.problems[0].field, s.problems[0].reason) for s in bad] == list(given)
    assert (foreign_only.code, foreign_only.problems[0].field) == (BAD, "url")
    assert (nan.code, nan.problems[0].field) == (BAD, "reward")
    assert good.code == OK
    assert described(server, crawl).feedback_count == 1


def test_no_feedback_or_too_much_is_refused(server: Stubs, crawl: str) -> None:
    told = refusal(lambda: report(server, crawl))
    assert (told.reason, set(told.violations)) == ("REQUIRED", {"feedback"})
    told = refusal(lambda: report(server, crawl, *[pb.Feedback()] * 5_001))
    assert (told.reason, set(told.violations)) == ("TOO_MANY_ITEMS", {"feedback"})
