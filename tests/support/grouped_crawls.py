"""A crawl of many sites, done alike whatever its groups, and what is asked of it."""

from __future__ import annotations

import itertools
from typing import Any

from linkscore.v1 import common_pb2 as common
from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore.v1 import policy_pb2
from support import crawl_calls
from support.server_process import Stubs
from support.small_site import HOST, page

SITES = [f"site{n}.test" for n in range(12)]
SHARE_NOTHING = (
    "harvest",
    "breadth_first",
    "uniform_random",
    "opic",
    "pagerank",
    "in_degree",
    "focus",
)
"""Policies whose groups answer as one crawl does."""


def page_on(site: str, n: int, **fields: Any) -> common.Page:
    """Return page `n` of the small site as if it were of another host."""
    made = page(n, event_id=f"{site} {n}", **fields)
    made.url = made.url.replace(HOST, site)
    made.body = made.body.replace(HOST.encode(), site.encode())
    return made


def create(server: Stubs, name: str, groups: int, **config: Any) -> str:
    return crawl_calls.create(server, f"crawls/{name}", groups=groups, **config).name


def spec(policy: str) -> policy_pb2.PolicySpec:
    made = policy_pb2.PolicySpec()
    getattr(made, policy).SetInParent()
    return made


def comparable(message: Any) -> Any:
    """Return an answer without counts of events and tickets."""
    for result in getattr(message, "results", ()):
        for field in ("event_seq", "site"):
            result.ClearField(field)
        result.links.ClearField("ticket_values")
    if "event_seq" in message.DESCRIPTOR.fields_by_name:
        message.ClearField("event_seq")
    return message


class Crawler:
    """Does the same to a crawl whatever its groups, and keeps the answers."""

    def __init__(self, server: Stubs, crawl: str) -> None:
        self.server, self.crawl = server, crawl
        self.answers: list[Any] = []
        self.links: list[pb.CandidateLink] = []
        self.buckets: list[str] = []

    def run(self) -> list[Any]:
        self.send(0, 9)
        self.ask()
        return self.answers

    def send(self, first: int, end: int) -> None:
        """Send so many pages of each site, three at a time, with feedback."""
        for n in range(first, end, 3):
            pages = [page_on(site, row) for row in range(n, n + 3) for site in SITES]
            self.ingest(pages)
            self.report(pages[::5], n)

    def ingest(self, pages: list[common.Page]) -> None:
        got = self.server.links.IngestPages(pb.IngestPagesRequest(crawl=self.crawl, pages=pages))
        for result in got.results[::2]:
            links = result.links
            self.links += [
                pb.CandidateLink(url=url, ticket=links.ticket_values[ticket])
                for url, ticket in itertools.islice(zip(links.urls, links.tickets, strict=True), 3)
            ]
            self.buckets += [name for name in links.bucket_names if name not in self.buckets]
        self.answers.append(comparable(got))

    def report(self, pages: list[common.Page], n: int) -> None:
        feedback = [
            pb.Feedback(event_id=f"{n} {row}", url=page.url, reward=row % 2) for row, page in enumerate(pages)
        ]
        ticket = self.links[n % 9].ticket  # of the first, which stay where they are as more come
        feedback += [pb.Feedback(event_id=f"{n} t", ticket=ticket, reward=1.0), pb.Feedback()]
        request = pb.ReportFeedbackRequest(crawl=self.crawl, feedback=feedback)
        self.answers.append(self.server.links.ReportFeedback(request))

    def ask(self) -> None:
        links, crawl = self.server.links, self.crawl
        candidates = [*self.links, pb.CandidateLink(url="no url"), pb.CandidateLink(url="http://new.test/x")]
        in_flight = [
            pb.BucketInFlight(bucket=name, count=1 + n % 3) for n, name in enumerate(self.buckets[::4])
        ]
        sites = [pb.WaitingSite(site=site, waiting=n) for n, site in enumerate([*SITES, "new.test"])]
        asked = [
            links.ScoreLinks(pb.ScoreLinksRequest(crawl=crawl, links=candidates)),
            links.ScoreLinks(pb.ScoreLinksRequest(explain=True, crawl=crawl, links=candidates[-80:])),
            links.RankSites(pb.RankSitesRequest(crawl=crawl, sites=sites, n=20)),
            links.SuggestExamples(pb.SuggestExamplesRequest(crawl=crawl, max_results=3)),
            self.server.crawls.GetCrawl(crawl_pb.GetCrawlRequest(name=crawl, with_activity=True)).activity,
        ]
        asked += [
            links.RankBuckets(
                pb.RankBucketsRequest(crawl=crawl, buckets=[*self.buckets, "new.test/x"], **more)
            )
            for more in (
                {},
                {"n": 40, "in_flight": in_flight},
                {"n": 500, "waiting": [n % 4 for n in range(len(self.buckets) + 1)]},
                {"n": 16, "fill": True},
            )
        ]
        self.answers += map(comparable, asked)
