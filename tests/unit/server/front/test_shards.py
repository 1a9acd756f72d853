"""Rows of shards from several processes: in order, in pages, and a process that does not answer is said."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from linkscore.v1 import crawl_service_pb2 as pb
from linkscore_scoring.engine.groups import Shard
from linkscore_server.front.owners import Owner, Owners
from linkscore_server.front.shards import list_shards
from linkscore_server.services.errors import NotServing


class Having:
    """An owner that has some shards."""

    def __init__(self, *keys: str) -> None:
        self.keys = list(keys)

    async def ask(self, question: str, *, keys: list[str] | None = None) -> dict[str, Any]:
        if question == "shards":
            return {"keys": self.keys}
        assert set(keys or []) <= set(self.keys)
        rows = [pb.Shard(crawl=f"crawls/{s.crawl}", group=s.group) for s in map(Shard.of, keys or [])]
        return {"rows": [row.SerializeToString() for row in rows]}


class Away(Having):
    async def ask(self, question: str, *, keys: list[str] | None = None) -> dict[str, Any]:
        raise NotServing("it starts again")


def listed(*owners: Having, foreign: str = "", **request: Any) -> list[list[tuple[str, int, str]]]:
    """Return the pages that a caller gets who may not touch one crawl."""
    pages, token = [], None
    asked = Owners([cast(Owner, owner) for owner in owners])
    while token != "":
        question = pb.ListShardsRequest(page_token=token or "", **request)
        got = asyncio.run(list_shards(asked, question, lambda crawl: crawl != foreign))
        pages.append([(row.crawl, row.group, row.owner) for row in got.shards])
        token = got.next_page_token
    return pages


TWO = (Having("books@0-of-3", "books@2-of-3", "news"), Having("books@1-of-3", "alone"))
BOOKS = [("crawls/books", n, f"worker {n % 2}") for n in range(3)]


def test_a_caller_gets_rows_of_its_crawls_only() -> None:
    assert listed(*TWO, crawl="crawls/books") == [BOOKS]
    assert listed(*TWO, foreign="books", page_size=1) == [
        [("crawls/alone", 0, "worker 1")],
        [("crawls/news", 0, "worker 0")],
    ]


def test_a_process_that_does_not_answer_has_a_row_on_the_first_page() -> None:
    pages = listed(TWO[0], Away(), page_size=1)
    assert pages[0][0] == ("", 0, "worker 1")
    assert [row for page in pages for row in page][1:] == [BOOKS[0], BOOKS[2], ("crawls/news", 0, "worker 0")]
