"""Sitemaps that are due are kept from the spider, and what they name is followed within bounds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from scrapy import Request
from scrapy.http import XmlResponse

from linkscore.scrapy.middleware import LISTING, Revisits
from linkscore.scrapy.session import PageAnswer
from linkscore.sitemaps import MAX_DEPTH, MAX_SITEMAPS
from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2

INDEX = b"<sitemapindex/>"


def response_to(request: Any, body: bytes) -> XmlResponse:
    return XmlResponse(request.url, body=body, request=request)


def followed(body: bytes, urls: list[str], above: int = 0, spider: Any = None) -> list[Any]:
    response = response_to(Request("http://h/s.xml", meta={LISTING: above}), body)
    links = common_pb2.LinkScores(urls=urls, scores=[0.5] * len(urls))
    answer = PageAnswer(scoring_pb2.PageResult(links=links))
    return list(Revisits(SimpleNamespace(spider=spider), Any).follow(response, answer))


def test_an_index_leads_to_sitemaps_of_its_own_host_each_a_step_further() -> None:
    found = followed(INDEX, ["http://h/a.xml", "http://other/b.xml", "http://h:81/c.xml"])
    assert [(each.url, each.meta[LISTING], each.dont_filter) for each in found] == [
        ("http://h/a.xml", 1, False)
    ]
    assert followed(INDEX, ["http://h/a.xml"], above=MAX_DEPTH) == []


def test_no_more_sitemaps_are_followed_than_there_may_be() -> None:
    found = followed(INDEX, [f"http://h/{n}.xml" for n in range(MAX_SITEMAPS + 5)])
    assert len(found) == MAX_SITEMAPS
