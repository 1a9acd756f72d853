"""Both clients reach every call of the contract, and send what the contract asks for."""

from __future__ import annotations

from typing import Any

import pytest

from linkscore import Client
from linkscore import errors as err
from linkscore.messages import CrawlOptions
from linkscore.v1 import crawl_service_pb2 as crawl_pb2
from support.fake_linkscore import FakeLinkscore


@pytest.fixture
def client(fake: FakeLinkscore):
    with Client(f"127.0.0.1:{fake.port}") as client:
        client.ensure_crawl(crawl="news")
        yield client


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
