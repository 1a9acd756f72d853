"""Both clients reach every call of the contract, and send what the contract asks for."""

from __future__ import annotations

from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2

from linkscore import AsyncClient, Client, page, rows
from linkscore import errors as err
from linkscore._channel import STREAMS
from linkscore.messages import CrawlOptions
from linkscore.v1 import (
    browse_log_service_pb2,
    common_pb2,
    inspection_service_pb2,
    link_scoring_service_pb2,
    site_model_service_pb2,
)
from linkscore.v1 import crawl_service_pb2 as crawl_pb2
from support.fake_linkscore import FakeLinkscore

SCRAPY = common_pb2.PRIORITY_ENCODING_SCRAPY
HTML = b'<a href="/thread/1">one</a><a href="/tag/x">x</a>'


@pytest.fixture
def client(fake: FakeLinkscore):
    with Client(f"127.0.0.1:{fake.port}") as client:
        client.ensure_crawl(crawl="news")
        yield client


def test_a_page_comes_back_as_one_row_per_anchor(client: Client) -> None:
    got = client.ingest_pages(crawl="news", pages=[page(url="http://s/", body=HTML)], encoding=SCRAPY)
    first, second = rows(got.results[0].links)
    assert (first.url, first.bucket, first.encoded_priority) == ("http://s/thread/1", "thread", 28)
    assert (second.url, second.bucket, second.encoded_priority) == ("http://s/tag/x", "tag", 3)
    assert first.ticket != second.ticket
    assert first.usable


def test_every_unary_call_answers(client: Client, fake: FakeLinkscore) -> None:
    assert client.get_crawl(crawl="news").name == "crawls/news"
    assert client.update_crawl(crawl="news", policy="breadth_first").policy.HasField("breadth_first")
    assert client.classify_pages(crawl="news", pages=[page(url="http://s/", body=b"x")]).classifications
    assert (
        client.score_links(crawl="news", links=["http://s/tag/a", ("http://s/b", b"t")]).links.scores[0]
        == 0.1
    )
    assert list(client.rank_buckets(crawl="news", buckets=["tag", "thread"]).order) == [1, 0]
    waiting = {"tag": 9, "thread": 2}
    ranked = client.rank_buckets(crawl="news", buckets=waiting, n=3, in_flight={"gone": 4}, fill=True)
    assert (list(ranked.order), list(ranked.urls), fake.in_flight[-1]) == ([1, 0], [2, 1], {"gone": 4})
    assert list(client.rank_sites(crawl="news", sites={"a": 3, "b": 0}, n=2).urls) == [2, 0]
    assert list(client.rank_sites(crawl="news", sites=["a", "b"]).urls) == [0, 0]
    assert fake.ranked[-1] == ["a", "b"]
    told = link_scoring_service_pb2.Feedback(url="http://s/", item_count=2)
    assert client.report_feedback(crawl="news", feedback=[told]).statuses
    assert client.explain_links(crawl="news", links=["http://s/"]).explanations[0].url == "http://s/"
    assert len(client.suggest_examples(crawl="news").examples) == 5
    [asked] = client.suggest_examples(crawl="news", site="h", max_results=1).examples
    assert asked.url == "http://h/0"
    assert [s.host for s in client.list_sites(crawl="news")] == ["a", "b"]
    assert client.get_site(crawl="news", site="h:80").name == "crawls/news/sites/h%3A80"
    assert client.learn_site(crawl="news", site="h").name == "crawls/news/sites/h"
    assert client.suggest_fetches(crawl="news", site="h")[0].url == "http://a/1"
    assert [s.url for s in client.suggest_seeds(crawl="news", site="h", max_results=1).seeds] == [
        "http://h/0"
    ]
    told = client.export_rules(crawl="news", site="h", formats=["nutch", 1], min_confidence=0.5)
    assert [file.format for file in told.files] == [3, 1]
    assert (told.url_rules[0].kind, told.url_rules[0].confidence) == ("crawls/news/sites/h", 0.5)
    client.delete_crawl(crawl="news")
    assert not fake.crawls


def test_lists_follow_page_tokens(client: Client) -> None:
    for name in ("a", "b", "c"):
        client.create_crawl(crawl=name)
    assert [c.name for c in client.list_crawls(page_size=2)] == [
        f"crawls/{n}" for n in ("a", "b", "c", "news")
    ]


@pytest.mark.parametrize(
    ("name", "first", "then"),
    [
        ("policy", "harvest", "depth_first"),
        ("wanted", "prices", "limits"),
        ("budget", {"max_fetches": 5}, {"max_fetches": 9}),
        ("copies", {"skip_above": 0.9}, {"skip_above": 0.95}),
        ("respect", ["tdm"], ["search"]),
        ("revisit", {"fetches_per_day": 1.0}, {"fetches_per_day": 2.0}),
    ],
)
def test_ensure_changes_what_can_be_changed(client: Client, name: str, first: Any, then: Any) -> None:
    made = client.ensure_crawl(crawl="again", **{name: first})  # type: ignore[misc]
    changed = client.ensure_crawl(crawl="again", **{name: then})  # type: ignore[misc]
    assert getattr(changed, name) != getattr(made, name)
    assert client.ensure_crawl(crawl="again") == changed


def test_ensure_knows_every_option_of_a_crawl() -> None:
    """What it neither changes nor compares would be passed over without a word."""
    fixed = {"scope", "seed", "groups", "learn", "learning", "experience", "keep_titles"}
    changed = {"policy", "wanted", "budget", "copies", "respect", "revisit"}
    of_its_creation = {"extra_policies", "observe_only", "examples"}  # the docstring of ensure_crawl says so
    assert set(CrawlOptions.__annotations__) == fixed | changed | of_its_creation


@pytest.fixture
def made(fake: FakeLinkscore) -> None:
    """The crawl `there`, as a server says it is: with the defaults filled in."""
    fake.crawls["crawls/there"] = crawl_pb2.Crawl(
        name="crawls/there",
        scope=crawl_pb2.CRAWL_SCOPE_HOST,
        learn=crawl_pb2.LEARN_ALWAYS,
        learning=crawl_pb2.LearningConfig(sample_pages=40),
        groups=1,
        seed=3,
        experience_count=1,
    )


@pytest.mark.usefixtures("made")
def test_ensure_says_what_it_cannot_change(client: Client) -> None:
    with pytest.raises(err.AlreadyExists) as caught:
        client.ensure_crawl(
            crawl="there",
            policy="depth_first",
            scope=crawl_pb2.CRAWL_SCOPE_DOMAIN,
            seed=4,
            groups=8,
            learn=crawl_pb2.LEARN_ON_DEMAND,
            learning=crawl_pb2.LearningConfig(sample_pages=50),
            experience=[b"{}", b"{}"],
            keep_titles=True,
        )
    named = {violation.field.removeprefix("crawl."): violation for violation in caught.value.field_violations}
    assert set(named) == {
        "scope",
        "seed",
        "groups",
        "learn",
        "learning.sample_pages",
        "experience",
        "keep_titles",
    }
    assert named["seed"].description == "is 3, asked for 4"
    assert "crawl.seed is 3, asked for 4" in str(caught.value)
    assert caught.value.reason == "CRAWL_EXISTS"
    assert not client.get_crawl(crawl="there").policy.HasField("depth_first")


@pytest.mark.usefixtures("made")
def test_ensure_takes_what_is_there_where_nothing_else_was_asked_for(client: Client) -> None:
    assert client.ensure_crawl(crawl="there", groups=0, learn=crawl_pb2.LEARN_ALWAYS).seed == 3
    assert client.ensure_crawl(crawl="there", seed=3, scope=crawl_pb2.CRAWL_SCOPE_HOST).seed == 3


def test_a_stream_answers_in_order(client: Client, fake: FakeLinkscore) -> None:
    sent = [page(url=f"http://s/{i}", body=HTML) for i in range(5)]
    got = list(client.stream_pages(crawl="news", pages=sent, encoding=SCRAPY))
    assert [a.request_id for a in got] == [1, 2, 3, 4, 5]
    assert all(a.result.links.encoded_priorities for a in got)
    assert [p.url for p in fake.pages] == [p.url for p in sent]


def test_the_token_goes_with_every_call(fake: FakeLinkscore) -> None:
    with Client(f"127.0.0.1:{fake.port}", token="secret") as client:
        client.create_crawl(crawl="news")
    assert fake.metadata[-1]["authorization"] == "Bearer secret"
    assert fake.metadata[-1]["user-agent"].startswith("linkscore-python")


def test_unavailable_is_retried(client: Client, fake: FakeLinkscore) -> None:
    fake.failures["RankBuckets"] = [grpc.StatusCode.UNAVAILABLE] * 2
    assert client.rank_buckets(crawl="news", buckets=["tag"]).order == [0]
    assert fake.calls["RankBuckets"] == 3


def test_streams_are_not_tried_again(client: Client, fake: FakeLinkscore) -> None:
    fake.failures["StreamPages"] = [grpc.StatusCode.UNAVAILABLE] * 9
    with pytest.raises(err.Unavailable):
        list(client.stream_pages(crawl="news", pages=[page(url="http://s/", body=HTML)]))
    assert fake.calls["StreamPages"] == 1


def test_every_stream_of_the_contract_is_known_as_one() -> None:
    files = (link_scoring_service_pb2, crawl_pb2, browse_log_service_pb2, inspection_service_pb2)
    methods = [
        (service.full_name, method.name)
        for file in (*files, site_model_service_pb2)
        for service in file.DESCRIPTOR.services_by_name.values()
        for method in service.methods
        if method.client_streaming or method.server_streaming
    ]
    assert sorted(methods) == sorted(STREAMS)


def test_no_server_is_unavailable() -> None:
    with Client("127.0.0.1:1") as client, pytest.raises(err.Unavailable):
        client.get_crawl(crawl="news")


def test_a_call_ends_at_its_deadline(client: Client, fake: FakeLinkscore) -> None:
    fake.hang.set()
    with pytest.raises(err.DeadlineExceeded):
        client.get_crawl(crawl="news", timeout_s=0.1)


def test_errors_carry_reason_and_violations(client: Client, fake: FakeLinkscore) -> None:
    bad = error_details_pb2.BadRequest(
        field_violations=[{"field": "pages[3].url", "description": "relative: /a"}]
    )
    info = error_details_pb2.ErrorInfo(reason="RELATIVE_URL", metadata={"got": "/a"})
    retry = error_details_pb2.RetryInfo()
    retry.retry_delay.FromMilliseconds(1500)
    fake.failures["ClassifyPages"] = [grpc.StatusCode.INVALID_ARGUMENT]
    fake.failure_details = [bad, info, retry]
    with pytest.raises(err.InvalidArgument) as caught:
        client.classify_pages(crawl="news", pages=[])
    assert caught.value.field_violations == (err.FieldViolation("pages[3].url", "relative: /a"),)
    assert (caught.value.reason, caught.value.metadata) == ("RELATIVE_URL", {"got": "/a"})
    assert caught.value.retry_after_s == 1.5


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (grpc.StatusCode.NOT_FOUND, err.NotFound),
        (grpc.StatusCode.FAILED_PRECONDITION, err.FailedPrecondition),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, err.ResourceExhausted),
        (grpc.StatusCode.UNAUTHENTICATED, err.Unauthenticated),
        (grpc.StatusCode.PERMISSION_DENIED, err.PermissionDenied),
        (grpc.StatusCode.INTERNAL, err.InternalError),
        (grpc.StatusCode.UNIMPLEMENTED, err.LinkscoreError),
    ],
)
def test_every_status_has_its_type(client: Client, fake: FakeLinkscore, code, kind) -> None:
    fake.failures["GetCrawl"] = [code]
    with pytest.raises(kind) as caught:
        client.get_crawl(crawl="news")
    assert type(caught.value) is kind
    assert caught.value.code is code


async def test_the_aio_client_does_the_same(fake: FakeLinkscore) -> None:
    async with AsyncClient(f"127.0.0.1:{fake.port}") as client:
        await client.ensure_crawl(crawl="news")
        await client.ensure_crawl(crawl="news", policy=("uniform_random", {"seed": 7}))
        got = await client.ingest_pages(
            crawl="news", pages=[page(url="http://s/", body=HTML)], encoding=SCRAPY
        )
        assert [r.bucket for r in rows(got.results[0].links)] == ["thread", "tag"]
        assert (await client.score_links(crawl="news", links=["http://s/tag/a"])).links.scores == [0.1]
        assert list((await client.rank_buckets(crawl="news", buckets=["tag", "thread"])).order) == [1, 0]
        assert list((await client.rank_sites(crawl="news", sites={"a": 3, "b": 0}, n=2)).urls) == [2, 0]
        assert [c.name async for c in client.list_crawls()] == ["crawls/news"]
        assert [s.host async for s in client.list_sites(crawl="news")] == ["a", "b"]
        assert (await client.get_site(crawl="news", site="h")).name.endswith("/h")
        assert (await client.learn_site(crawl="news", site="h")).name
        assert (await client.suggest_fetches(crawl="news", site="h"))[0].url
        assert (await client.explain_links(crawl="news", links=["http://s/"])).explanations
        assert len((await client.suggest_examples(crawl="news", max_results=2)).examples) == 2
        assert (await client.classify_pages(crawl="news", pages=[])).classifications == []
        assert (await client.report_feedback(crawl="news", feedback=[])).statuses == []
        assert (await client.get_crawl(crawl="news")).policy.uniform_random.seed == 7
        await client.delete_crawl(crawl="news")
