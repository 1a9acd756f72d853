"""IngestPages: what comes in, and what is answered."""

from __future__ import annotations

from collections.abc import Callable

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
from support.crawl_calls import DUPLICATE, INVALID, OK, change, described, fetched, ingest, report
from support.server_process import Stubs, refusal
from support.small_site import HOST, ROOT, page, url_of


def test_a_page_is_answered_with_one_score_per_anchor_in_document_order(server: Stubs, crawl: str) -> None:
    (result,) = ingest(server, crawl, page(0))
    links = result.links
    assert result.status.code == OK
    assert result.site == f"{crawl}/sites/{HOST}"
    assert result.stage == common.SITE_STAGE_SAMPLING
    assert result.event_seq > 0
    assert list(links.urls) == [f"{ROOT}/", *(url_of(i) for i in range(12))]
    for column in (links.scores, links.buckets, links.tickets):
        assert len(column) == 13
    assert all(0.0 <= score <= 1.0 for score in links.scores)
    assert max(links.buckets) < len(links.bucket_names)
    assert all(len(name.encode()) <= 200 for name in links.bucket_names)
    assert all(0 < len(ticket) <= 64 for ticket in links.ticket_values)


def test_the_same_url_through_two_tag_paths_is_two_entries(server: Stubs, crawl: str) -> None:
    body = b'<div class="a"><a class="one" href="/t">1</a></div><p><a class="two" href="/t">2</a></p>'
    (result,) = ingest(server, crawl, fetched(body=body))
    assert list(result.links.urls) == [f"{ROOT}/t", f"{ROOT}/t"]
    assert len(set(result.links.tickets)) == 2


def test_links_out_of_scope_are_answered_and_marked(server: Stubs, crawl: str) -> None:
    body = b'<a href="/in">in</a><a href="http://other.test/">out</a>'
    (result,) = ingest(server, crawl, fetched(body=body))
    assert list(result.links.in_scope) == [True, False]


@pytest.mark.parametrize(
    ("url", "inside", "outside", "site"),
    [
        ("http://a.example.co.uk/", "http://b.example.co.uk/", "http://example.com/", "example.co.uk"),
        ("http://www.shop.example/", "http://shop.example/", "http://other.example/", "shop.example"),
        ("http://wiki.corp.internal/", "http://corp.internal:8080/", "http://hr.internal/", "corp.internal"),
        ("http://me.github.io/", "http://www.me.github.io/", "http://you.github.io/", "me.github.io"),
        ("http://localhost/", "http://localhost/a", "http://other/", "localhost"),
        ("http://127.0.0.1/", "http://127.0.0.1/a", "http://127.0.0.2/", "127.0.0.1"),
    ],
)
def test_in_scope_domain_the_site_is_the_registrable_domain(
    server: Stubs, new_crawl: Callable[..., str], url: str, inside: str, outside: str, site: str
) -> None:
    crawl = new_crawl(scope=crawl_pb.CRAWL_SCOPE_DOMAIN)
    body = f'<a href="{inside}">in</a><a href="{outside}">out</a>'.encode()
    (result,) = ingest(server, crawl, fetched(url, body=body))
    assert result.site == f"{crawl}/sites/{site}"
    assert list(result.links.in_scope) == [True, False]


def test_a_repeated_event_is_acknowledged_scored_and_not_counted_twice(server: Stubs, crawl: str) -> None:
    (first,) = ingest(server, crawl, page(0))
    (again,) = ingest(server, crawl, page(0))
    assert again.status.code == DUPLICATE
    assert list(again.links.urls) == list(first.links.urls)
    assert again.event_seq == 0
    assert described(server, crawl).page_count == 1


def test_a_repeated_event_within_one_batch_is_a_duplicate(server: Stubs, crawl: str) -> None:
    codes = [r.status.code for r in ingest(server, crawl, page(0), page(0), page(1))]
    assert codes == [OK, DUPLICATE, OK]
    assert described(server, crawl).page_count == 2


def test_the_same_url_under_another_event_is_a_new_fetch(server: Stubs, crawl: str) -> None:
    codes = [
        r.status.code for r in ingest(server, crawl, page(0), page(0, event_id="again"), page(0, event_id=""))
    ]
    assert codes == [OK, OK, OK]
    assert described(server, crawl).page_count == 3


def test_events_of_one_crawl_say_nothing_about_another(server: Stubs, new_crawl: Callable[..., str]) -> None:
    first, second = new_crawl(), new_crawl()
    assert ingest(server, first, page(0))[0].status.code == OK
    assert ingest(server, second, page(0))[0].status.code == OK


def test_a_crawl_that_only_observes_keeps_its_own_order_while_its_policy_learns(
    server: Stubs, new_crawl: Callable[..., str]
) -> None:
    crawl = new_crawl(observe_only=True)
    for n in range(20):
        (result,) = ingest(server, crawl, page(n))
        reward = pb.Feedback(url=page(n).url, reward=float(n % 2))
        report(server, crawl, reward)
    assert set(result.links.scores)
    names = list(result.links.bucket_names)
    own = server.links.RankBuckets(pb.RankBucketsRequest(crawl=crawl, buckets=names))
    assert own.policy == "breadth_first"
    assert not change(server, crawl, observe_only=False).observe_only
    names = list(ingest(server, crawl, page(20))[0].links.bucket_names)
    now = server.links.RankBuckets(pb.RankBucketsRequest(crawl=crawl, buckets=names))
    assert now.policy == "harvest"
    assert len(set(now.values)) > 1


@pytest.mark.parametrize("name", ["breadth_first", "newest", "uniform_random", "source_ucc", "harvest"])
def test_every_policy_without_required_parameters_answers_before_any_learning(
    server: Stubs, new_crawl: Callable[..., str], name: str
) -> None:
    spec = policy_pb2.PolicySpec()
    getattr(spec, name).SetInParent()
    crawl = new_crawl(policy=spec)
    got = server.links.IngestPages(pb.IngestPagesRequest(crawl=crawl, pages=[page(0)]))
    assert got.policy == name
    assert got.results[0].stage == common.SITE_STAGE_SAMPLING
    assert len(got.results[0].links.scores) == 13


@pytest.mark.parametrize(("alpha", "wrong"), [("much", ".alpha"), (float("inf"), "")])
def test_a_struct_is_checked(new_crawl: Callable[..., str], alpha: str | float, wrong: str) -> None:
    spec = policy_pb2.PolicySpec(external=policy_pb2.ExternalPolicy(name="source_ucc"))
    spec.external.params.update({"alpha": alpha})
    told = refusal(lambda: new_crawl(policy=spec))
    assert set(told.violations) == {f"crawl.policy.external.params{wrong}"}


def test_whole_numbers_of_a_struct_are_whole_numbers(server: Stubs, new_crawl: Callable[..., str]) -> None:
    spec = policy_pb2.PolicySpec(external=policy_pb2.ExternalPolicy(name="pagerank"))
    spec.external.params.update({"every": 7})
    native = policy_pb2.PolicySpec(pagerank=policy_pb2.PagerankParams(every=7))
    one, two = (ingest(server, new_crawl(policy=each), page(0))[0] for each in (spec, native))
    assert list(one.links.scores) == list(two.links.scores)


@pytest.mark.parametrize("name", ["", "news", "crawls/", "crawls/no-such"])
def test_an_unusable_crawl_is_refused(server: Stubs, name: str) -> None:
    told = refusal(lambda: ingest(server, name, page(0)))
    if name == "crawls/no-such":
        assert (told.code, told.reason) == (grpc.StatusCode.NOT_FOUND, "CRAWL_NOT_FOUND")
    else:
        assert (told.code, set(told.violations)) == (INVALID, {"crawl"})


def test_a_batch_of_none_or_too_many_is_refused(server: Stubs, crawl: str) -> None:
    told = refusal(lambda: ingest(server, crawl))
    assert (told.reason, set(told.violations)) == ("REQUIRED", {"pages"})
    told = refusal(lambda: ingest(server, crawl, *[common.Page(url=ROOT)] * 501))
    assert (told.reason, set(told.violations)) == ("TOO_MANY_ITEMS", {"pages"})
