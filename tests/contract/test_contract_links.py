"""ScoreLinks, RankBuckets, RankSites, ReportFeedback and ExplainLinks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
import pytest

from linkscore.v1 import (
    common_pb2 as common,
)
from linkscore.v1 import (
    crawl_service_pb2 as crawl_pb,
)
from linkscore.v1 import (
    link_scoring_service_pb2 as pb,
)
from linkscore.v1 import (
    policy_pb2,
)
from server_process import Stubs, refusal
from small_site import HOST, ROOT, page, url_of

INVALID = grpc.StatusCode.INVALID_ARGUMENT
OK, DUPLICATE, BAD = common.ITEM_CODE_OK, common.ITEM_CODE_DUPLICATE, common.ITEM_CODE_INVALID
UCC = policy_pb2.PolicySpec(source_ucc=policy_pb2.SourceUccParams())
BREADTH = policy_pb2.PolicySpec(breadth_first=policy_pb2.BreadthFirstParams())
UNKNOWN = policy_pb2.PolicySpec(external=policy_pb2.ExternalPolicy(name="no_such"))


def ingest(server: Stubs, crawl: str, *numbers: int) -> list[pb.PageResult]:
    request = pb.IngestPagesRequest(crawl=crawl, pages=[page(n) for n in numbers])
    return list(server.links.IngestPages(request).results)


def score(server: Stubs, crawl: str, *links: str | tuple[str, bytes], **more: Any) -> pb.ScoreLinksResponse:
    pairs = [(link, b"") if isinstance(link, str) else link for link in links]
    candidates = [pb.CandidateLink(url=url, ticket=ticket) for url, ticket in pairs]
    return server.links.ScoreLinks(pb.ScoreLinksRequest(crawl=crawl, links=candidates, **more))


def report(server: Stubs, crawl: str, *feedback: pb.Feedback) -> list[common.ItemStatus]:
    return list(
        server.links.ReportFeedback(pb.ReportFeedbackRequest(crawl=crawl, feedback=feedback)).statuses
    )


def event_seq(server: Stubs, crawl: str) -> int:
    return server.crawls.GetCrawl(crawl_pb.GetCrawlRequest(name=crawl)).crawl.event_seq


# ScoreLinks


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
    before = event_seq(server, crawl)
    first = score(server, crawl, *(url_of(n) for n in range(50)))
    assert score(server, crawl, *(url_of(n) for n in range(50))) == first
    assert event_seq(server, crawl) == before


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
    got = score(server, crawl, *urls, encoding=common.PRIORITY_ENCODING_SCRAPY).links
    assert len(got.scores) == len(got.encoded_priorities) == len(got.buckets) == 7
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
    server: Stubs, crawl: str
) -> None:
    ingest(server, crawl, 0)
    got = score(server, crawl, url_of(1), url_of(2), policy=UCC)
    assert (got.policy, got.stage) == ("source_ucc", common.SITE_STAGE_SAMPLING)
    assert len(got.links.scores) == 2


def test_the_fallback_can_be_forbidden(server: Stubs, crawl: str) -> None:
    ingest(server, crawl, 0)
    told = refusal(lambda: score(server, crawl, url_of(1), policy=UCC, require_learned=True))
    assert (told.code, told.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "SITE_NOT_LEARNED")
    assert HOST in told.message
    assert score(server, crawl, url_of(1), policy=BREADTH, require_learned=True).links.scores


def test_a_learned_site_is_scored_by_its_model(server: Stubs, learned: str) -> None:
    got = score(server, learned, *(url_of(n) for n in range(60, 70)), policy=UCC, require_learned=True)
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


@pytest.mark.parametrize(
    "method", ["ScoreLinks", "RankBuckets", "RankSites", "ExplainLinks", "SuggestExamples"]
)
def test_crawl_and_policy_of_a_question_are_checked(server: Stubs, crawl: str, method: str) -> None:
    ask, kind = getattr(server.links, method), getattr(pb, f"{method}Request")
    told = refusal(lambda: ask(kind(crawl="crawls/no-such")))
    assert (told.code, told.reason) == (grpc.StatusCode.NOT_FOUND, "CRAWL_NOT_FOUND")
    assert set(refusal(lambda: ask(kind())).violations) == {"crawl"}
    told = refusal(lambda: ask(kind(crawl=crawl, policy=UNKNOWN)))
    assert (told.code, told.reason) == (INVALID, "UNKNOWN_POLICY")
    told = refusal(lambda: ask(kind(crawl=crawl, policy=policy_pb2.PolicySpec(source_ucc={"alpha": 7}))))
    assert set(told.violations) == {"policy.source_ucc.alpha"}


def test_too_many_links_or_buckets_are_refused(server: Stubs, crawl: str) -> None:
    told = refusal(lambda: score(server, crawl, *["http://a.test/"] * 20_001))
    assert (told.reason, set(told.violations)) == ("TOO_MANY_ITEMS", {"links"})
    asked = pb.RankBucketsRequest(crawl=crawl, buckets=["x"] * 100_001)
    told = refusal(lambda: server.links.RankBuckets(asked))
    assert (told.reason, set(told.violations)) == ("TOO_MANY_ITEMS", {"buckets"})
    asked = pb.RankSitesRequest(crawl=crawl, sites=[pb.WaitingSite(site="x")] * 100_001)
    told = refusal(lambda: server.links.RankSites(asked))
    assert (told.reason, set(told.violations)) == ("TOO_MANY_ITEMS", {"sites"})
    asked = pb.ExplainLinksRequest(crawl=crawl, links=[pb.CandidateLink(url=ROOT)] * 101)
    told = refusal(lambda: server.links.ExplainLinks(asked))
    assert (told.reason, set(told.violations)) == ("TOO_MANY_ITEMS", {"links"})


# RankBuckets


def test_buckets_are_ordered_by_value_and_ties_by_request(server: Stubs, crawl: str) -> None:
    names = list(dict.fromkeys(b for r in ingest(server, crawl, *range(30)) for b in r.links.bucket_names))
    names += ["no-such.test/x", "", "no-such.test/y"]
    got = server.links.RankBuckets(pb.RankBucketsRequest(crawl=crawl, buckets=names))
    assert sorted(got.order) == list(range(len(names)))
    assert list(got.values) == sorted(got.values, reverse=True)
    ties = [row for row, value in zip(got.order, got.values, strict=True) if value == 0.0]
    assert ties == sorted(ties)
    assert (got.policy, got.event_seq) == ("harvest", event_seq(server, crawl))


def test_only_the_best_buckets_are_returned_when_asked(server: Stubs, crawl: str) -> None:
    names = list(ingest(server, crawl, 0)[0].links.bucket_names)
    every = server.links.RankBuckets(pb.RankBucketsRequest(crawl=crawl, buckets=names, policy=BREADTH))
    best = server.links.RankBuckets(
        pb.RankBucketsRequest(crawl=crawl, buckets=names, policy=BREADTH, max_results=1)
    )
    assert list(best.order) == list(every.order)[:1]
    assert list(best.values) == list(every.values)[:1]


# RankSites


def rank_sites(server: Stubs, crawl: str, *sites: pb.WaitingSite, **more: Any) -> pb.RankSitesResponse:
    return server.links.RankSites(pb.RankSitesRequest(crawl=crawl, sites=sites, **more))


def waits(site: str, n: int | None = None) -> pb.WaitingSite:
    return pb.WaitingSite(site=site, waiting=n)


def test_sites_are_ordered_by_value_and_their_urls_handed_out(server: Stubs, crawl: str) -> None:
    ingest(server, crawl, *range(10))
    asked = [waits("new.test", 2), waits(HOST, 3), waits("empty.test", 0), waits("other.test", 9)]
    got = rank_sites(server, crawl, *asked, n=20)
    assert sorted(got.order) == [0, 1, 2, 3]
    assert list(got.values) == sorted(got.values, reverse=True)
    assert dict(zip(got.order, got.urls, strict=True)) == {0: 2, 1: 3, 2: 0, 3: 9}
    assert (got.policy, got.event_seq) == ("harvest", event_seq(server, crawl))
    assert not got.draw_probs
    values = dict(zip(got.order, got.values, strict=True))
    assert values[0] == values[2] == values[3], "sites never seen are alike"


def test_one_url_is_handed_out_unless_told_otherwise(server: Stubs, crawl: str) -> None:
    ingest(server, crawl, 0)
    asked = [waits(HOST), waits("new.test")]
    assert list(rank_sites(server, crawl, *asked).urls) == [1, 0]
    assert list(rank_sites(server, crawl, *asked, n=0).urls) == [0, 0]
    assert list(rank_sites(server, crawl, *asked, n=5).urls) == [5, 0]
    assert list(rank_sites(server, crawl).order) == []


def test_sites_are_cut_after_those_that_are_given_urls(server: Stubs, crawl: str) -> None:
    asked = [waits(f"s{n}.test", 1) for n in range(5)]
    assert list(rank_sites(server, crawl, *asked, n=0, max_results=2, policy=BREADTH).order) == [0, 1]
    assert list(rank_sites(server, crawl, *asked, n=3, max_results=2, policy=BREADTH).order) == [0, 1, 2]


def test_a_site_may_be_given_by_its_resource_name(server: Stubs, crawl: str) -> None:
    (result,) = ingest(server, crawl, 0)
    by_name, by_host = (rank_sites(server, crawl, waits(site)) for site in (result.site, HOST))
    assert by_name == by_host


def test_the_host_bandit_prefers_sites_that_yielded_and_names_its_probabilities(
    server: Stubs, new_crawl: Callable[..., str]
) -> None:
    policy = policy_pb2.PolicySpec(
        anthelion=policy_pb2.AnthelionParams(value_function="success_rate", explore_prob=0.3)
    )
    crawl = new_crawl(policy=policy)
    told = [pb.Feedback(url=f"http://good.test/{n}", relevant=True) for n in range(4)]
    told += [pb.Feedback(url=f"http://bad.test/{n}", relevant=False) for n in range(4)]
    report(server, crawl, *told)
    asked = [waits(f"{name}.test") for name in ("bad", "new", "good")]
    got = rank_sites(server, crawl, *asked, n=300)
    assert list(got.order) == [2, 1, 0]
    assert list(got.draw_probs) == pytest.approx([0.8, 0.1, 0.1])
    assert sum(got.urls) == 300
    assert got.urls[0] > 210
    assert got == rank_sites(server, crawl, *asked, n=300)


def test_bad_sites_are_all_named(server: Stubs, crawl: str) -> None:
    names = ["", "a.test", "crawls/other/sites/b.test", "a.test", "x" * 1_025, "a/b", f"{crawl}/sites/a.test"]
    told = refusal(lambda: rank_sites(server, crawl, *map(waits, names), n=10_001))
    assert told.code == INVALID
    assert set(told.violations) == {"n", *(f"sites[{row}].site" for row in (0, 2, 3, 4, 5, 6))}


# ReportFeedback


def test_feedback_counts_once_by_its_event_id(server: Stubs, crawl: str) -> None:
    ingest(server, crawl, 0)
    given = pb.Feedback(event_id="f1", url=url_of(0), reward=0.5)
    assert [status.code for status in report(server, crawl, given, given)] == [OK, DUPLICATE]
    assert [status.code for status in report(server, crawl, given)] == [DUPLICATE]
    assert server.crawls.GetCrawl(crawl_pb.GetCrawlRequest(name=crawl)).crawl.feedback_count == 1


def test_feedback_under_the_event_id_of_its_page_counts(server: Stubs, crawl: str) -> None:
    ingest(server, crawl, 0)
    (status,) = report(server, crawl, pb.Feedback(event_id="page-0", url=url_of(0), item_count=3))
    assert status.code == OK


def test_feedback_without_event_id_is_always_new(server: Stubs, crawl: str) -> None:
    given = pb.Feedback(url=url_of(0), relevant=True)
    assert [status.code for status in report(server, crawl, given, given)] == [OK, OK]


def test_feedback_may_name_its_page_by_ticket_alone(server: Stubs, crawl: str) -> None:
    ticket = ingest(server, crawl, 0)[0].links.ticket_values[0]
    assert report(server, crawl, pb.Feedback(ticket=ticket, relevant=False))[0].code == OK


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
    assert server.crawls.GetCrawl(crawl_pb.GetCrawlRequest(name=crawl)).crawl.feedback_count == 1


def test_no_feedback_or_too_much_is_refused(server: Stubs, crawl: str) -> None:
    told = refusal(lambda: report(server, crawl))
    assert (told.reason, set(told.violations)) == ("REQUIRED", {"feedback"})
    told = refusal(lambda: report(server, crawl, *[pb.Feedback()] * 5_001))
    assert (told.reason, set(told.violations)) == ("TOO_MANY_ITEMS", {"feedback"})


# ExplainLinks


@pytest.mark.parametrize("name", ["breadth_first", "depth_first", "uniform_random", "source_ucc", "harvest"])
def test_an_explanation_has_the_score_and_says_why(server: Stubs, learned: str, name: str) -> None:
    spec = policy_pb2.PolicySpec()
    getattr(spec, name).SetInParent()
    urls = [url_of(61), url_of(62)]
    asked = pb.ExplainLinksRequest(
        crawl=learned, links=[pb.CandidateLink(url=url) for url in urls], policy=spec
    )
    got = server.links.ExplainLinks(asked)
    scored = score(server, learned, *urls, policy=spec)
    assert got.policy == name
    assert [why.url for why in got.explanations] == urls
    assert [why.score for why in got.explanations] == pytest.approx(list(scored.links.scores))
    for why in got.explanations:
        assert why.summary
        assert why.bucket.startswith(f"{HOST}/")
        assert why.stage == common.SITE_STAGE_READY
        assert all(term.name and term.description for term in why.terms)


def test_a_bad_link_is_a_status_among_the_explanations(server: Stubs, learned: str) -> None:
    asked = pb.ExplainLinksRequest(crawl=learned, links=[pb.CandidateLink(url=u) for u in ("/x", url_of(1))])
    bad, good = server.links.ExplainLinks(asked).explanations
    assert (bad.status.code, bad.status.problems[0].field) == (BAD, "links[0].url")
    assert good.status.code == OK
