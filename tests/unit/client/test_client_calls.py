"""Both clients reach every call of the contract, and send what the contract asks for."""

from __future__ import annotations

from typing import Any

import pytest

from linkscore import Client, page
from linkscore import errors as err
from linkscore.messages import CrawlOptions
from linkscore.v1 import (
    common_pb2,
    link_scoring_service_pb2,
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
