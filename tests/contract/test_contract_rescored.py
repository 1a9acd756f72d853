"""Policies whose values move per URL: what a page changes elsewhere comes with its answer."""

from __future__ import annotations

from collections.abc import Callable

from linkscore.v1 import (
    common_pb2 as common,
)
from linkscore.v1 import (
    link_scoring_service_pb2 as pb,
)
from linkscore.v1 import (
    policy_pb2,
)
from support.page_calls import BREADTH, ingest
from support.server_process import Stubs
from support.small_site import page, url_of

EVERY_PAGE = policy_pb2.PolicySpec(pagerank=policy_pb2.PagerankParams(every=1))
# Page 0 links pages 0 to 11, page 1 links 7 to 18; both link the front page.
ELSEWHERE = {url_of(n) for n in range(2, 7)}


def test_a_page_answers_with_the_urls_it_rescored(server: Stubs, new_crawl: Callable[..., str]) -> None:
    crawl = new_crawl(policy=EVERY_PAGE)
    (first,) = ingest(server, crawl, page(0))
    assert not first.HasField("rescored")
    (second,) = ingest(server, crawl, page(1), encoding=common.PRIORITY_ENCODING_NUTCH)
    moved = second.rescored
    assert set(moved.urls) == ELSEWHERE
    assert len(moved.scores) == len(moved.encoded_priorities) == len(moved.buckets) == 5
    asked = pb.ScoreLinksRequest(crawl=crawl, links=[pb.CandidateLink(url=url) for url in moved.urls])
    assert list(server.links.ScoreLinks(asked).links.scores) == list(moved.scores)


def test_another_policy_named_by_the_request_rescores_nothing(
    server: Stubs, new_crawl: Callable[..., str]
) -> None:
    crawl = new_crawl(policy=EVERY_PAGE)
    ingest(server, crawl, page(0))
    (second,) = ingest(server, crawl, page(1), policy=BREADTH)
    assert not second.HasField("rescored")


def test_a_url_whose_identity_is_spelled_otherwise_is_rescored_as_what_it_is(
    server: Stubs, new_crawl: Callable[..., str]
) -> None:
    crawl = new_crawl(policy=EVERY_PAGE)
    links = b'<a href="/t?b=1&amp;a=2#p7">a topic</a> <a href="/u">another page</a>'
    ingest(server, crawl, common.Page(url=url_of(0), status_code=200, content_type="text/html", body=links))
    (second,) = ingest(server, crawl, page(1))
    row = [url.partition("?")[2] for url in second.rescored.urls].index("b=1&a=2")
    assert second.rescored.scores[row] > 0
