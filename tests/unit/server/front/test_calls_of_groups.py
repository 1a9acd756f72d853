"""Every call about a crawl is known for crawls of several groups; others end as an internal error."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from linkscore.v1 import link_scoring_service_pb2 as scoring_pb
from linkscore.v1 import site_model_service_pb2 as pb
from linkscore_scoring.errors import InvalidInput
from linkscore_server.front.fan_out import CALLS, ROWS, Groups, merged_seeds, rank_revisits
from linkscore_server.services.contract import RPCS

OF_NO_GROUP = {f"CrawlService/{name}" for name in ("CreateCrawl", "UpdateCrawl", "DeleteCrawl", "ListShards")}


def test_calls_about_a_crawl_are_taken_apart_somewhere() -> None:
    about_a_crawl = {name for name, rpc in RPCS.items() if rpc.crawl}
    routed = {*CALLS, *ROWS, *OF_NO_GROUP}
    assert about_a_crawl - routed == set()
    assert routed - about_a_crawl == set()


def seeds(total: int, state: str, **pages: int) -> pb.SuggestSeedsResponse:
    """Return the answer of a group with so much news, of which each page has so many."""
    found = [pb.Seed(url=url, reason=state, value=n / total, page_count=n) for url, n in pages.items()]
    return pb.SuggestSeedsResponse(seeds=found, policy="news_prefix", policy_state=state, event_seq=3)


def test_a_seed_of_several_groups_counts_for_the_news_of_all() -> None:
    merged = merged_seeds([seeds(10, "x", portal=6, a=4), seeds(30, "y", b=9, portal=8), seeds(1, "z")], 2)
    assert [(seed.url, seed.page_count, seed.value, seed.reason) for seed in merged.seeds] == [
        ("portal", 14, 0.35, "y"),
        ("b", 9, 0.225, "y"),
    ]
    assert merged.policy_state == "2 of 3 groups name seeds; that with most news: y"
    assert merged.policy == "news_prefix"


class Ranked:
    """Groups with due pages of these worths each, one site a group, which answer as a server does."""

    def __init__(self, *worths: list[float]) -> None:
        self.worths = worths
        self.crawl = SimpleNamespace(groups=len(worths), resource=str)

    async def send(self, group: int, request: scoring_pb.RankRevisitsRequest) -> Any:
        start, worths = int(request.page_token), self.worths[group]
        end = start + request.page_size
        pages = [
            scoring_pb.DuePage(worth=worth, site=f"crawls/c/sites/{group}") for worth in worths[start:end]
        ]
        return scoring_pb.RankRevisitsResponse(
            pages=pages,
            next_page_token=str(end) if end < len(worths) else "",
            expected_freshness=group / 2.0,
            event_seq=10,
            known_page_count=len(worths),
        )

    async def rank(self, size: int, token: str = "") -> scoring_pb.RankRevisitsResponse:
        request = scoring_pb.RankRevisitsRequest(crawl="crawls/c", page_size=size, page_token=token)
        answer: scoring_pb.RankRevisitsResponse = await rank_revisits(cast("Groups", self), request)
        return answer


@pytest.mark.parametrize("size", [1, 2, 3, 100])
async def test_due_pages_of_all_groups_come_best_first_and_once(size: int) -> None:
    groups, found, token = Ranked([9.0, 5.0, 5.0, 1.0], [], [float("inf"), 5.0, 4.0]), list[Any](), None
    while token != "":
        answer = await groups.rank(size, token or "")
        assert 0 < len(answer.pages) <= size
        found += [(page.worth, page.site[-1]) for page in answer.pages]
        token = answer.next_page_token
    worths = [(worth, str(group)) for group, of in enumerate(groups.worths) for worth in of]
    assert found == sorted(worths, key=lambda entry: (-entry[0], entry[1]))


@pytest.mark.parametrize("token", ["3", "1.2.3", "1.", "-1.2", "1.x", "1.2\n", "12345678.1", "\u0661.1"])
async def test_a_token_of_other_groups_is_refused(token: str) -> None:
    with pytest.raises(InvalidInput, match="page_token"):
        await Ranked([1.0], [2.0]).rank(1, token)
