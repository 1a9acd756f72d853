"""ScoreLinks: context from tickets, one status per link, fallbacks."""

from __future__ import annotations

from collections.abc import Callable

import grpc
import pytest

from linkscore.v1 import (
    common_pb2 as common,
)
from linkscore.v1 import (
    link_scoring_service_pb2 as pb,
)
from support.crawl_calls import UCC, described, ingest, score
from support.server_process import Stubs, refusal
from support.small_site import ROOT, url_of

IN_GROUPS_TOO = True


def test_a_link_scored_again_with_its_ticket_has_the_score_it_had(server: Stubs, crawl: str) -> None:
    (result,) = ingest(server, crawl, 0)
    found = result.links
    links = [(url, found.ticket_values[t]) for url, t in zip(found.urls, found.tickets, strict=True)]
    again = score(server, crawl, *links)
    assert list(again.links.scores) == pytest.approx(list(found.scores))
    assert [again.links.bucket_names[b] for b in again.links.buckets] == [
        found.bucket_names[b] for b in found.buckets
    ]
    assert not again.links.urls
    assert again.event_seq == result.event_seq


def test_scoring_changes_nothing(server: Stubs, crawl: str) -> None:
    ingest(server, crawl, *range(5))
    before = described(server, crawl).event_seq
    first = score(server, crawl, *(url_of(n) for n in range(50)))
    assert score(server, crawl, *(url_of(n) for n in range(50))) == first
    assert described(server, crawl).event_seq == before


def test_bad_links_have_a_status_and_the_others_their_scores(server: Stubs, crawl: str) -> None:
    ingest(server, crawl, 0)
    urls = [
        url_of(1),
        "/relative",
        "ftp://forum.test/",
        "",
        "http://[x/",
        url_of(2),
        "http://a.test/" + "x" * 3_000,
    ]
    got = score(server, crawl, *urls).links
    assert len(got.scores) == len(got.buckets) == 7
    reasons = {row: (item.problems[0].field, item.problems[0].reason) for row, item in got.statuses.items()}
    assert reasons == {
        1: ("links[1].url", "RELATIVE_URL"),
        2: ("links[2].url", "UNSUPPORTED_SCHEME"),
        3: ("links[3].url", "REQUIRED"),
        4: ("links[4].url", "MALFORMED_URL"),
        6: ("links[6].url", "INVALID_VALUE"),
    }
    alone = score(server, crawl, url_of(1), url_of(2)).links
    assert [got.scores[0], got.scores[5]] == list(alone.scores)


def test_no_links_are_no_scores_and_no_stage(server: Stubs, crawl: str) -> None:
    got = score(server, crawl)
    assert not got.links.scores
    assert got.stage == common.SITE_STAGE_UNSPECIFIED


def test_a_policy_that_needs_learning_answers_from_its_fallback_and_says_the_stage(
    server: Stubs, new_crawl: Callable[..., str]
) -> None:
    crawl = new_crawl(policy=UCC)
    ingest(server, crawl, 0)
    got = score(server, crawl, url_of(1), url_of(2))
    assert (got.policy, got.stage) == ("source_ucc", common.SITE_STAGE_SAMPLING)
    assert len(got.links.scores) == 2


def test_a_learned_site_is_scored_by_its_model(server: Stubs, learned_ucc: str) -> None:
    got = score(server, learned_ucc, *(url_of(n) for n in range(60, 70)))
    assert got.stage == common.SITE_STAGE_READY
    assert all(0.0 <= value <= 1.0 for value in got.links.scores)


def test_the_lowest_stage_of_the_sites_is_told(server: Stubs, learned: str) -> None:
    got = score(server, learned, url_of(1), "http://never-seen.test/")
    assert got.stage == common.SITE_STAGE_SAMPLING


def test_a_ticket_of_another_crawl_or_a_damaged_one_is_no_ticket(
    server: Stubs, new_crawl: Callable[..., str]
) -> None:
    first, second = new_crawl(), new_crawl()
    mine, foreign = (ingest(server, crawl, 0)[0].links.ticket_values[0] for crawl in (first, second))
    damaged = mine[:-1] + bytes([mine[-1] ^ 1])
    tickets = [b"", foreign, damaged, b"x", b"x" * 1_000]
    got = score(server, first, *(("http://forum.test/never/linked", ticket) for ticket in tickets)).links
    assert len(set(got.scores)) == 1
    assert not got.statuses


@pytest.mark.parametrize("method", ["ScoreLinks", "RankBuckets", "RankSites", "SuggestExamples"])
def test_the_crawl_of_a_question_is_checked(server: Stubs, method: str) -> None:
    ask, kind = getattr(server.links, method), getattr(pb, f"{method}Request")
    told = refusal(lambda: ask(kind(crawl="crawls/no-such")))
    assert (told.code, told.reason) == (grpc.StatusCode.NOT_FOUND, "CRAWL_NOT_FOUND")
    assert set(refusal(lambda: ask(kind())).violations) == {"crawl"}


def test_too_many_links_or_buckets_are_refused(server: Stubs, crawl: str) -> None:
    told = refusal(lambda: score(server, crawl, *["http://a.test/"] * 20_001))
    assert (told.reason, set(told.violations)) == ("TOO_MANY_ITEMS", {"links"})
    asked = pb.RankBucketsRequest(crawl=crawl, buckets=["x"] * 100_001)
    told = refusal(lambda: server.links.RankBuckets(asked))
    assert (told.reason, set(told.violations)) == ("TOO_MANY_ITEMS", {"buckets"})
    asked = pb.RankSitesRequest(crawl=crawl, sites=[pb.WaitingSite(site="x")] * 100_001)
    told = refusal(lambda: server.links.RankSites(asked))
    assert (told.reason, set(told.violations)) == ("TOO_MANY_ITEMS", {"sites"})
    asked = pb.ScoreLinksRequest(explain=True, crawl=crawl, links=[pb.CandidateLink(url=ROOT)] * 101)
    told = refusal(lambda: server.links.ScoreLinks(asked))
    assert (told.reason, set(told.violations)) == ("TOO_MANY_ITEMS", {"links"})
