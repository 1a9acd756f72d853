"""Both clients reach every call of the contract, and send what the contract asks for."""

from __future__ import annotations

from typing import Any

import pytest

from linkscore import Client
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
        ("policy", "harvest", "newest"),
        ("wanted", "prices", "limits"),
        ("budget", {"max_fetches": 5}, {"max_fetches": 9}),
        ("copies", {"skip_above": 0.9}, {"skip_above": 0.95}),
        ("respect", ["tdm"], ["search"]),
        ("revisit", {"fetches_per_day": 1.0}, {"fetches_per_day": 2.0}),
        ("examples", ["http://a.org/1"], ["http://a.org/2"]),
    ],
)
def test_ensure_changes_what_can_be_changed(client: Client, name: str, first: Any, then: Any) -> None:
    made = client.ensure_crawl(crawl="again", **{name: first})  # type: ignore[misc]
    changed = client.ensure_crawl(crawl="again", **{name: then})  # type: ignore[misc]
    assert getattr(changed, name) != getattr(made, name)
    assert client.ensure_crawl(crawl="again") == changed
