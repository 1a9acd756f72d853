"""IngestPages, StreamPages and ClassifyPages: what comes in, what is answered, what a bad page costs."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import brotli
import grpc
import pytest
import zstandard

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
from server_process import Stubs, refusal, stubs
from small_site import HOST, ROOT, body_of, page, url_of

OK, DUPLICATE, BAD, PARTIAL = (
    common.ITEM_CODE_OK,
    common.ITEM_CODE_DUPLICATE,
    common.ITEM_CODE_INVALID,
    common.ITEM_CODE_PARTIAL,
)
INVALID = grpc.StatusCode.INVALID_ARGUMENT
BREADTH = policy_pb2.PolicySpec(breadth_first=policy_pb2.BreadthFirstParams())


def ingest(server: Stubs, crawl: str, *pages: common.Page, **more: Any) -> list[pb.PageResult]:
    return list(server.links.IngestPages(pb.IngestPagesRequest(crawl=crawl, pages=pages, **more)).results)


def fetched(url: str = f"{ROOT}/x", **fields: Any) -> common.Page:
    return common.Page(
        **{"url": url, "status_code": 200, "content_type": "text/html", "body": b"<p>x", **fields}
    )


def page_count(server: Stubs, crawl: str) -> int:
    return server.crawls.GetCrawl(crawl_pb.GetCrawlRequest(name=crawl)).crawl.page_count


def problem(result: pb.PageResult) -> tuple[str, str]:
    (found,) = result.status.problems
    return found.field, found.reason


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
    assert not links.encoded_priorities


def test_the_same_url_through_two_tag_paths_is_two_entries(server: Stubs, crawl: str) -> None:
    body = b'<div class="a"><a class="one" href="/t">1</a></div><p><a class="two" href="/t">2</a></p>'
    (result,) = ingest(server, crawl, fetched(body=body))
    assert list(result.links.urls) == [f"{ROOT}/t", f"{ROOT}/t"]
    assert len(set(result.links.tickets)) == 2


def test_links_out_of_scope_are_answered_and_marked(server: Stubs, crawl: str) -> None:
    body = b'<a href="/in">in</a><a href="http://other.test/">out</a>'
    (result,) = ingest(server, crawl, fetched(body=body))
    assert list(result.links.in_scope) == [True, False]


def test_in_scope_domain_the_site_is_the_registrable_domain(
    server: Stubs, new_crawl: Callable[..., str]
) -> None:
    crawl = new_crawl(scope=crawl_pb.CRAWL_SCOPE_DOMAIN)
    body = b'<a href="http://b.example.co.uk/">in</a><a href="http://example.com/">out</a>'
    (result,) = ingest(server, crawl, fetched("http://a.example.co.uk/", body=body))
    assert result.site == f"{crawl}/sites/example.co.uk"
    assert list(result.links.in_scope) == [True, False]


def test_a_repeated_event_is_acknowledged_scored_and_not_counted_twice(server: Stubs, crawl: str) -> None:
    (first,) = ingest(server, crawl, page(0))
    (again,) = ingest(server, crawl, page(0))
    assert again.status.code == DUPLICATE
    assert list(again.links.urls) == list(first.links.urls)
    assert again.event_seq == 0
    assert page_count(server, crawl) == 1


def test_a_repeated_event_within_one_batch_is_a_duplicate(server: Stubs, crawl: str) -> None:
    codes = [r.status.code for r in ingest(server, crawl, page(0), page(0), page(1))]
    assert codes == [OK, DUPLICATE, OK]
    assert page_count(server, crawl) == 2


def test_the_same_url_under_another_event_is_a_new_fetch(server: Stubs, crawl: str) -> None:
    codes = [
        r.status.code for r in ingest(server, crawl, page(0), page(0, event_id="again"), page(0, event_id=""))
    ]
    assert codes == [OK, OK, OK]
    assert page_count(server, crawl) == 3


def test_events_of_one_crawl_say_nothing_about_another(server: Stubs, new_crawl: Callable[..., str]) -> None:
    first, second = new_crawl(), new_crawl()
    assert ingest(server, first, page(0))[0].status.code == OK
    assert ingest(server, second, page(0))[0].status.code == OK


BAD_PAGES = {
    "no url": (fetched(""), "url", "REQUIRED"),
    "relative": (fetched("/thread/1"), "url", "RELATIVE_URL"),
    "without scheme": (fetched("forum.test/thread/1"), "url", "RELATIVE_URL"),
    "ftp": (fetched("ftp://forum.test/"), "url", "UNSUPPORTED_SCHEME"),
    "mailto": (fetched("mailto:a@forum.test"), "url", "UNSUPPORTED_SCHEME"),
    "javascript": (fetched("javascript:void(0)"), "url", "UNSUPPORTED_SCHEME"),
    "no host": (fetched("http:///x"), "url", "MALFORMED_URL"),
    "bad port": (fetched("http://forum.test:port/"), "url", "MALFORMED_URL"),
    "bad address": (fetched("http://[::1/"), "url", "MALFORMED_URL"),
    "long": (fetched(f"{ROOT}/{'x' * 2_083}"), "url", "INVALID_VALUE"),
    "relative final url": (fetched(final_url="/x"), "final_url", "RELATIVE_URL"),
    "final url of a failed fetch": (
        fetched(final_url="x" * 10_000, status_code=500),
        "final_url",
        "INVALID_VALUE",
    ),
    "long event id": (fetched(event_id="e" * 129), "event_id", "INVALID_VALUE"),
    "long ticket": (fetched(ticket=b"t" * 65), "ticket", "INVALID_VALUE"),
    "status": (fetched(status_code=1_000), "status_code", "INVALID_VALUE"),
    "negative status": (fetched(status_code=-1), "status_code", "INVALID_VALUE"),
    "unknown encoding": (fetched(content_encoding="lzma"), "content_encoding", "UNSUPPORTED_ENCODING"),
    "truncated gzip": (
        fetched(content_encoding="gzip", body=gzip.compress(body_of(1))[:-20]),
        "body",
        "TRUNCATED_BODY",
    ),
    "corrupt gzip": (
        fetched(content_encoding="gzip", body=b"\x1f\x8b\x08\x00" + b"\xff" * 40),
        "body",
        "CORRUPT_BODY",
    ),
    "truncated brotli": (
        fetched(content_encoding="br", body=brotli.compress(body_of(1))[:-20]),
        "body",
        "TRUNCATED_BODY",
    ),
    "truncated zstd": (
        fetched(content_encoding="zstd", body=zstandard.compress(body_of(1))[:-20]),
        "body",
        "TRUNCATED_BODY",
    ),
    "huge": (fetched(body=b"<p>" + b"x" * 10_000_000), "body", "BODY_TOO_LARGE"),
    "gzip bomb": (
        fetched(content_encoding="gzip", body=gzip.compress(b"\x00" * 200_000_000, compresslevel=1)),
        "body",
        "BODY_TOO_LARGE",
    ),
    "counts of another length": (
        fetched(body=None, extracted=common.ExtractedPage(tag_paths=["html/p"], tag_path_counts=[1, 2])),
        "extracted.tag_path_counts",
        "INVALID_VALUE",
    ),
    "bad tag path": (
        fetched(
            body=None, extracted=common.ExtractedPage(tag_paths=["html", "html//p"], tag_path_counts=[1, 2])
        ),
        "extracted.tag_paths[1]",
        "INVALID_VALUE",
    ),
}


@pytest.mark.parametrize("kind", BAD_PAGES)
def test_a_bad_page_is_named_and_the_rest_of_its_batch_counts(server: Stubs, crawl: str, kind: str) -> None:
    bad, field, reason = BAD_PAGES[kind]
    before, got, after = ingest(server, crawl, page(0), bad, page(1))
    assert (before.status.code, got.status.code, after.status.code) == (OK, BAD, OK)
    assert problem(got) == (field, reason)
    assert got.status.problems[0].description
    assert not got.links.scores
    assert page_count(server, crawl) == 2


def test_a_bad_page_is_not_remembered_by_its_event_id(server: Stubs, crawl: str) -> None:
    assert ingest(server, crawl, fetched("/x", event_id="one"))[0].status.code == BAD
    assert ingest(server, crawl, fetched(event_id="one"))[0].status.code == OK


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("", body_of(0)),
        ("identity", body_of(0)),
        ("gzip", gzip.compress(body_of(0))),
        ("", gzip.compress(body_of(0))),
        ("deflate", zlib.compress(body_of(0))),
        ("br", brotli.compress(body_of(0))),
        ("zstd", zstandard.compress(body_of(0))),
        ("gzip, br", brotli.compress(gzip.compress(body_of(0)))),
    ],
)
def test_every_content_encoding_gives_the_same_links(
    server: Stubs, crawl: str, encoding: str, packed: bytes
) -> None:
    (result,) = ingest(server, crawl, fetched(body=packed, content_encoding=encoding))
    assert result.status.code == OK
    assert len(result.links.urls) == 13


PATHOLOGICAL = {
    "empty body": (b"", "text/html", "empty", 0),
    "white space": (b" \n ", "text/html", "empty", 0),
    "binary as html": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 100, "text/html", "not_html", 0),
    "zeros": (b"\x00" * 100_000, "text/html", "not_html", 0),
    "pdf": (b"%PDF-1.7 x", "application/pdf", "not_html", 0),
    "json": (b'{"a": "<a href=/x>"}', "application/json", "not_html", 0),
    "100,000 deep": (b"<div>" * 100_000 + b"<a href=/x>x</a>", "text/html", "depth_cut", None),
    "a million links": (b"<a href=1>" * 1_000_000, "text/html", "links_cut", 20_000),
    "wrong charset": (
        "<p>käse <a href=/ä>ä</a>".encode("latin-1"),
        "text/html; charset=utf-8",
        "decode_errors",
        1,
    ),
}


@pytest.mark.parametrize("kind", PATHOLOGICAL)
def test_a_pathological_body_is_answered_with_a_note(server: Stubs, crawl: str, kind: str) -> None:
    body, content_type, note, n_links = PATHOLOGICAL[kind]
    result, after = ingest(server, crawl, fetched(body=body, content_type=content_type), page(0))
    assert result.status.code == PARTIAL
    assert note in result.status.notes
    assert n_links is None or len(result.links.scores) == n_links
    assert after.status.code == OK


@pytest.mark.parametrize(
    "body",
    [
        "<p>käse</p><a href='/ä'>ä</a>".encode("utf-16"),
        b"<a href=/x>" + b"\xff\xfe\xfd" * 1_000,
        b"<a" + b" a=1" * 200_000 + b" href=/x>x",
        b"<!--" * 50_000 + b"<a href=/x>x</a>",
        b"<a href='http://forum.test/" + b"y" * 100_000 + b"'>x</a>",
        b"<base href='http://[x'><a href=/x>x</a>",
        b"<table>" * 20_000 + b"<a href=/x>x</a>",
        b"<svg><a xlink:href=/x>x</a>" * 1_000,
        b"<p>" + b"&#xD800;" * 100 + b"<a href='/&#0;'>&#xD800;</a>",
    ],
    ids=[
        "utf16",
        "invalid utf8",
        "attributes",
        "comments",
        "long href",
        "bad base",
        "tables",
        "svg",
        "surrogates",
    ],
)
def test_a_hostile_body_never_fails_the_call(server: Stubs, crawl: str, body: bytes) -> None:
    hostile, after = ingest(
        server, crawl, fetched(body=body, content_type="text/html; charset=bogus"), page(0)
    )
    assert hostile.status.code in (OK, PARTIAL)
    assert after.status.code == OK
    assert page_count(server, crawl) == 2


@pytest.mark.parametrize(
    "failed",
    [
        common.Page(url=f"{ROOT}/x", fetch_error="timeout"),
        common.Page(url=f"{ROOT}/x", status_code=404),
        common.Page(url=f"{ROOT}/x", status_code=500, body=b"<a href=/y>y</a>"),
        common.Page(url=f"{ROOT}/x"),
    ],
    ids=["error", "404", "500 with a body", "nothing"],
)
def test_a_failed_fetch_counts_and_has_no_links(server: Stubs, crawl: str, failed: common.Page) -> None:
    (result,) = ingest(server, crawl, failed)
    assert result.status.code == OK
    assert not result.links.scores
    assert page_count(server, crawl) == 1


def test_the_links_of_the_crawler_are_scored_in_its_order_with_a_status_for_bad_ones(
    server: Stubs, crawl: str
) -> None:
    given = ["/b", "mailto:x@y.test", "http://forum.test/a", "", "http://[x/"]
    outlinks = [common.Outlink(url=url, tag_path="html/body/a") for url in given]
    (result,) = ingest(server, crawl, fetched(body=None, outlinks=outlinks))
    assert list(result.links.urls) == [f"{ROOT}/b", "", f"{ROOT}/a", "", ""]
    assert set(result.links.statuses) == {1, 3, 4}
    assert result.links.statuses[1].code == BAD
    assert result.links.statuses[1].problems[0].field == "outlinks[1].url"
    assert result.links.statuses[1].problems[0].reason == "MALFORMED_URL"


def test_extracted_features_are_as_good_as_a_body(server: Stubs, crawl: str) -> None:
    extracted = common.ExtractedPage(
        tag_paths=["html/body[home]/div/text()", "html/body[home]/div/a"],
        tag_path_counts=[3, 1],
        text_blocks=["A text that is longer than the twenty-five characters of a block."],
        canonical_url="/canonical",
    )
    outlinks = [common.Outlink(url="/t", anchor_text="t", tag_path="html/body[home]/div/a", rel="next")]
    (result,) = ingest(server, crawl, fetched(body=None, extracted=extracted, outlinks=outlinks))
    assert result.status.code == OK
    assert result.novel_chars > 25
    assert list(result.links.urls) == [f"{ROOT}/t"]


@pytest.mark.parametrize("encoding", [name for name, number in common.PriorityEncoding.items() if number])
def test_every_encoding_keeps_the_order_of_the_scores(server: Stubs, crawl: str, encoding: str) -> None:
    lower_first = encoding.removeprefix("PRIORITY_ENCODING_") in {"HERITRIX", "URLFRONTIER", "CRAWLER4J"}
    ingest(server, crawl, *(page(n) for n in range(6)))
    (result,) = ingest(server, crawl, page(6), encoding=encoding)
    scores, priorities = list(result.links.scores), list(result.links.encoded_priorities)
    assert len(priorities) == len(scores)
    pairs = sorted(zip(scores, [-p if lower_first else p for p in priorities], strict=True))
    assert all(a[1] <= b[1] for a, b in pairwise(pairs))


def test_an_unknown_encoding_is_refused(server: Stubs, crawl: str) -> None:
    told = refusal(lambda: ingest(server, crawl, page(0), encoding=99))
    assert (told.code, set(told.violations)) == (INVALID, {"encoding"})
    assert page_count(server, crawl) == 0


def test_a_crawl_that_only_observes_gets_scores_without_priorities(
    server: Stubs, new_crawl: Callable[..., str]
) -> None:
    crawl = new_crawl(observe_only=True)
    (result,) = ingest(server, crawl, page(0), encoding=common.PRIORITY_ENCODING_SCRAPY)
    assert result.links.scores
    assert not result.links.encoded_priorities


def test_the_policy_of_a_request_scores_that_request_only(server: Stubs, crawl: str) -> None:
    asked = pb.IngestPagesRequest(crawl=crawl, pages=[page(0)], policy=BREADTH)
    assert server.links.IngestPages(asked).policy == "breadth_first"
    assert server.links.IngestPages(pb.IngestPagesRequest(crawl=crawl, pages=[page(1)])).policy == "harvest"


@pytest.mark.parametrize("name", ["breadth_first", "depth_first", "uniform_random", "source_ucc", "harvest"])
def test_every_policy_without_required_parameters_answers_before_any_learning(
    server: Stubs, crawl: str, name: str
) -> None:
    spec = policy_pb2.PolicySpec()
    getattr(spec, name).SetInParent()
    got = server.links.IngestPages(pb.IngestPagesRequest(crawl=crawl, pages=[page(0)], policy=spec))
    assert got.policy == name
    assert got.results[0].stage == common.SITE_STAGE_SAMPLING
    assert len(got.results[0].links.scores) == 13


def test_a_target_by_example_answers_from_its_fallback_before_any_learning(server: Stubs, crawl: str) -> None:
    spec = policy_pb2.PolicySpec(source_target=policy_pb2.SourceTargetParams(example_url=url_of(1)))
    got = server.links.IngestPages(pb.IngestPagesRequest(crawl=crawl, pages=[page(0)], policy=spec))
    assert (got.policy, got.results[0].stage) == ("source_target", common.SITE_STAGE_SAMPLING)
    assert len(got.results[0].links.scores) == 13


def test_bad_parameters_of_a_request_are_named_and_nothing_is_taken_in(server: Stubs, crawl: str) -> None:
    spec = policy_pb2.PolicySpec(source_target={"alpha": 2, "beta": 2, "example_url": ROOT})
    told = refusal(lambda: ingest(server, crawl, page(0), policy=spec))
    assert set(told.violations) == {"policy.source_target.alpha", "policy.source_target.beta"}
    spec = policy_pb2.PolicySpec(external=policy_pb2.ExternalPolicy(name="no_such"))
    told = refusal(lambda: ingest(server, crawl, page(0), policy=spec))
    assert (told.reason, set(told.violations)) == ("UNKNOWN_POLICY", {"policy.external.name"})
    assert page_count(server, crawl) == 0


def test_parameters_given_as_a_struct_are_checked_field_by_field(server: Stubs, crawl: str) -> None:
    spec = policy_pb2.PolicySpec(external=policy_pb2.ExternalPolicy(name="source_ucc"))
    spec.external.params.update({"alpha": "much", "without_dsim": 3.0, "colour": "red"})
    told = refusal(lambda: ingest(server, crawl, page(0), policy=spec))
    assert set(told.violations) == {
        "policy.external.params.alpha",
        "policy.external.params.without_dsim",
        "policy.external.params.colour",
    }


def test_whole_numbers_of_a_struct_are_whole_numbers(server: Stubs, crawl: str) -> None:
    spec = policy_pb2.PolicySpec(external=policy_pb2.ExternalPolicy(name="uniform_random"))
    spec.external.params.update({"seed": 7})
    native = policy_pb2.PolicySpec(uniform_random=policy_pb2.UniformRandomParams(seed=7))
    (one,) = ingest(server, crawl, page(0), policy=spec)
    (two,) = ingest(server, crawl, page(0), policy=native)
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


def test_a_ticket_of_another_crawl_is_no_ticket(server: Stubs, new_crawl: Callable[..., str]) -> None:
    foreign = ingest(server, new_crawl(), page(0))[0].links.ticket_values[0]
    with_ticket, without = new_crawl(), new_crawl()
    (one,) = ingest(server, with_ticket, page(1, ticket=foreign))
    (two,) = ingest(server, without, page(1))
    assert one.status.code == OK
    assert list(one.links.scores) == list(two.links.scores)


# StreamPages


def messages(crawl: str, numbers: range, **first: Any) -> Iterator[pb.StreamPagesRequest]:
    for n in numbers:
        head = {"crawl": crawl, **first} if n == numbers[0] else {}
        yield pb.StreamPagesRequest(request_id=1_000 + n, page=page(n), **head)


def test_a_stream_answers_every_page_in_order_with_its_request_id(server: Stubs, crawl: str) -> None:
    got = list(server.links.StreamPages(messages(crawl, range(150))))
    assert [answer.request_id for answer in got] == list(range(1_000, 1_150))
    assert [answer.result.event_seq for answer in got] == sorted(answer.result.event_seq for answer in got)
    assert all(answer.result.links.urls[1] == url_of(7 * n % 400) for n, answer in enumerate(got))
    assert page_count(server, crawl) == 150


def test_policy_and_encoding_of_a_stream_are_those_of_its_first_message(server: Stubs, crawl: str) -> None:
    sent = messages(crawl, range(3), policy=BREADTH, encoding=common.PRIORITY_ENCODING_NUTCH)
    got = list(server.links.StreamPages(sent))
    assert {answer.policy for answer in got} == {"breadth_first"}
    assert all(len(answer.result.links.encoded_priorities) == 13 for answer in got)


def test_an_empty_stream_ends_well(server: Stubs) -> None:
    assert list(server.links.StreamPages(iter(()))) == []


def test_a_bad_page_in_a_stream_is_a_status_and_the_stream_goes_on(server: Stubs, crawl: str) -> None:
    sent = [
        pb.StreamPagesRequest(crawl=crawl, request_id=1, page=fetched("/x")),
        pb.StreamPagesRequest(request_id=2),
        pb.StreamPagesRequest(crawl=crawl, request_id=3, page=page(0)),
    ]
    got = list(server.links.StreamPages(iter(sent)))
    assert [answer.result.status.code for answer in got] == [BAD, BAD, OK]


def test_an_error_in_mid_stream_comes_after_the_answers_before_it(
    server: Stubs, crawl: str, new_crawl: Callable[..., str]
) -> None:
    sent = [*messages(crawl, range(40)), pb.StreamPagesRequest(crawl=new_crawl(), page=page(40))]
    got = []
    call = server.links.StreamPages(iter(sent))

    def read() -> None:
        got.extend(iter(call.__next__, None))

    told = refusal(read)
    assert len(got) == 40
    assert (told.code, set(told.violations)) == (INVALID, {"crawl"})
    assert page_count(server, crawl) == 40


def test_a_stream_without_crawl_is_refused(server: Stubs) -> None:
    told = refusal(lambda: list(server.links.StreamPages(iter([pb.StreamPagesRequest(page=page(0))]))))
    assert (told.reason, set(told.violations)) == ("REQUIRED", {"crawl"})


def test_a_client_that_does_not_read_holds_the_server_back(server: Stubs, target: str, crawl: str) -> None:
    links = "".join(f"<a href=/{'x' * 100}/{i}>x</a>" for i in range(1_000)).encode()
    pages = (fetched(f"{ROOT}/{n}", body=links) for n in range(120))
    with stubs(target, **{"http2.bdp_probe": 0}) as slow:
        call = slow.links.StreamPages(pb.StreamPagesRequest(crawl=crawl, page=each) for each in pages)
        next(call)
        last, same = -1, 0
        while same < 200:  # until no more pages come in
            now = page_count(server, crawl)
            last, same = now, same + 1 if now == last else 0
        assert last < 120
        assert len(list(call)) == 119
    assert page_count(server, crawl) == 120


def test_a_stream_that_is_left_keeps_what_was_answered_and_others_go_on(server: Stubs, crawl: str) -> None:
    call = server.links.StreamPages(messages(crawl, range(300)))
    answered = [next(call) for _ in range(5)]
    call.cancel()
    assert refusal(lambda: list(call)).code == grpc.StatusCode.CANCELLED
    again = ingest(server, crawl, *(page(answer.request_id - 1_000) for answer in answered))
    assert [result.status.code for result in again] == [DUPLICATE] * 5
    assert len(list(server.links.StreamPages(messages(crawl, range(300))))) == 300


def test_a_stream_to_a_crawl_that_is_deleted_meanwhile_ends_with_an_error(server: Stubs, crawl: str) -> None:
    def sent() -> Iterator[pb.StreamPagesRequest]:
        yield pb.StreamPagesRequest(crawl=crawl, request_id=1, page=page(0))
        while not deleted:
            pass
        yield pb.StreamPagesRequest(request_id=2, page=page(1))

    deleted: list[bool] = []
    call = server.links.StreamPages(sent(), timeout=30)
    assert next(call).request_id == 1
    server.crawls.DeleteCrawl(crawl_pb.DeleteCrawlRequest(name=crawl))
    deleted.append(True)
    told = refusal(lambda: list(call))
    assert told.code == grpc.StatusCode.UNAVAILABLE
    server.crawls.CreateCrawl(crawl_pb.CreateCrawlRequest(crawl=crawl_pb.Crawl(name=crawl)))


# ClassifyPages


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
