"""The lab's crawler over a frontier: what it puts there, and its own order without one."""

from __future__ import annotations

from linkscore import page
from linkscore.outages import OwedPage
from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2
from linkscore_frontier import urlfrontier_pb2 as pb
from linkscore_frontier.advice import places_in
from linkscore_research.crawlers.frontier_crawler import BreadthFirst, _discovered, _scored


def places(item: pb.URLItem) -> list[str] | None:
    metadata = {name: list(texts.values) for name, texts in item.discovered.info.metadata.items()}
    found = places_in(metadata)
    return None if found is None else [place.bucket for place in found]


async def test_without_a_frontier_urls_go_as_they_came_and_once() -> None:
    waiting = BreadthFirst()
    await waiting.put(_discovered(f"http://a.org/{n}") for n in (2, 1, 2))
    taken = [await waiting.take() for _ in range(3)]
    assert [info and info.url for info in taken] == ["http://a.org/2", "http://a.org/1", None]


def test_a_link_is_put_where_linkscore_says_last_if_it_says_nothing_and_as_new_if_it_was_not_asked() -> None:
    invalid = common_pb2.ItemStatus(code=common_pb2.ITEM_CODE_INVALID)
    scores = common_pb2.LinkScores(
        urls=["", "http://a.org/y"],
        scores=[0.0, 0.5],
        bucket_names=["", "list"],
        buckets=[0, 1],
        statuses={0: invalid},
    )
    owed = OwedPage(page(url="http://a.org/"), [("http://a.org/x", 0), ("http://a.org/y", 1)])
    unknown, scored = _scored(owed, scoring_pb2.PageResult(links=scores))
    assert places(unknown) == []
    assert places(scored) == ["list"]
    assert places(_discovered("http://a.org/z")) is None
