"""A running server as scorer: the same crawl over the wire, one page a call."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import grpc

from linkscore.v1 import (
    common_pb2,
    crawl_service_pb2,
    crawl_service_pb2_grpc,
    link_scoring_service_pb2,
    link_scoring_service_pb2_grpc,
    site_model_service_pb2,
    site_model_service_pb2_grpc,
)
from linkscore_lab.datasets.site import identity_or_none
from linkscore_lab.replay.in_process import crawl_config
from linkscore_lab.replay.results import ScoreExplanation
from linkscore_lab.replay.scorer import CrawlScorer, CrawlSetup, GivenExample, PageScores, ReplayVisit
from linkscore_lab.replay.stored import StoredSite
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.policies.registry import policy_class
from linkscore_server.services.crawls import add_limits, wanted_message
from linkscore_server.services.messages import spec_of

# A bound far above a page (the server takes 10 MB by default), so that the server is who refuses.
_MESSAGE_BYTES = 64 << 20
# Seconds between two looks at a site that is being learned. Chosen, not measured.
_LOOK_S = 0.01


def at(target: str) -> Callable[[CrawlSetup], RemoteScorer]:
    """Return what makes scorers at a server, ``host:port``."""
    return lambda setup: RemoteScorer(setup, target)


class RemoteScorer(CrawlScorer):
    """Scores with a server; creates a crawl of its own there and deletes it when closed.

    A real crawl goes on while a site is learned beside it. A replay waits for the model instead, so that its
    order does not depend on how fast the machine is, and equals that of the library in process.
    """

    def __init__(self, setup: CrawlSetup, target: str) -> None:
        self.per_url = policy_class(setup.policy).per_url
        options = [
            ("grpc.max_receive_message_length", _MESSAGE_BYTES),
            ("grpc.max_send_message_length", _MESSAGE_BYTES),
        ]
        self._channel = grpc.insecure_channel(target, options)
        self._links = link_scoring_service_pb2_grpc.LinkScoringServiceStub(self._channel)
        self._sites = site_model_service_pb2_grpc.SiteModelServiceStub(self._channel)
        self._crawls = crawl_service_pb2_grpc.CrawlServiceStub(self._channel)
        self._name = f"crawls/replay-{uuid.uuid4().hex[:20]}"
        _asked(target, lambda: self._crawls.CreateCrawl(_create_request(setup, self._name)))

    def visit(self, site: StoredSite, visit: ReplayVisit) -> PageScores:
        record = site.records[visit.number]
        page = common_pb2.Page(
            url=visit.key, final_url=record.url, status_code=record.status, ticket=visit.ticket
        )
        if record.event.length:
            page.content_type, page.body = record.content_type, site.body(visit.number)
        request = link_scoring_service_pb2.IngestPagesRequest(crawl=self._name, pages=[page])
        (result,) = self._links.IngestPages(request).results
        if result.status.code == common_pb2.ITEM_CODE_INVALID:
            why = "; ".join(f"{p.field}: {p.description}" for p in result.status.problems)
            raise InvalidInput(f"{record.url}: refused by the server: {why}", field="target")
        if result.learning:
            self._wait_for_model(result.site)
        return _answer(result)

    def feedback(self, key: str, url: str, reward: float) -> None:
        item = link_scoring_service_pb2.Feedback(url=url, reward=reward)
        self._links.ReportFeedback(
            link_scoring_service_pb2.ReportFeedbackRequest(crawl=self._name, feedback=[item])
        )

    def plan(
        self, buckets: Sequence[str], waiting: Sequence[int], in_flight: Mapping[str, int], n: int
    ) -> tuple[Sequence[float], Sequence[int]]:
        under_way = [
            link_scoring_service_pb2.BucketInFlight(bucket=bucket, count=count)
            for bucket, count in in_flight.items()
        ]
        answer = self._links.RankBuckets(
            link_scoring_service_pb2.RankBucketsRequest(
                crawl=self._name, buckets=buckets, waiting=waiting, in_flight=under_way, n=n
            )
        )
        values, takes = [0.0] * len(buckets), [0] * len(buckets)
        for row, value, urls in zip(answer.order, answer.values, answer.urls, strict=True):
            values[row], takes[row] = value, urls
        return values, takes

    def skips(self, links: Sequence[tuple[str, bytes]]) -> Sequence[bool]:
        asked = [link_scoring_service_pb2.CandidateLink(url=key, ticket=ticket) for key, ticket in links]
        request = link_scoring_service_pb2.ScoreLinksRequest(crawl=self._name, links=asked)
        verdicts = self._links.ScoreLinks(request).links.verdicts
        return [verdict == common_pb2.VERDICT_SKIP for verdict in verdicts or [0] * len(links)]

    def explain(self, url: str, key: str, ticket: bytes) -> ScoreExplanation | None:
        link = link_scoring_service_pb2.CandidateLink(url=url, ticket=ticket)
        request = link_scoring_service_pb2.ScoreLinksRequest(crawl=self._name, links=[link], explain=True)
        for why in self._links.ScoreLinks(request).explanations:
            return ScoreExplanation(url, why.score, why.bucket, why.summary)
        return None

    def close(self) -> None:
        self._crawls.DeleteCrawl(crawl_service_pb2.DeleteCrawlRequest(name=self._name))
        self._channel.close()

    def _wait_for_model(self, site: str) -> None:
        request = site_model_service_pb2.GetSiteRequest(name=site)
        while self._sites.GetSite(request).site.learning:
            time.sleep(_LOOK_S)


def _create_request(setup: CrawlSetup, name: str) -> crawl_service_pb2.CreateCrawlRequest:
    config = crawl_config(setup)
    config.check()
    if setup.clusterer or setup.paper:
        raise InvalidInput("clusterer and paper need a replay in process, without a server", field="target")
    crawl = crawl_service_pb2.Crawl(
        name=name,
        policy=spec_of(config.policy),
        seed=setup.seed,
        examples=[_example(given) for given in setup.examples],
        wanted=wanted_message(setup.wanted) if setup.wanted is not None else None,
        experience=setup.experience,
    )
    add_limits(crawl, setup.limits)
    return crawl_service_pb2.CreateCrawlRequest(crawl=crawl)


def _example(given: GivenExample) -> crawl_service_pb2.ExamplePage:
    return crawl_service_pb2.ExamplePage(
        url=given.url, body=given.body, content_type=given.content_type, page_type=given.page_type
    )


def _asked(target: str, call: Callable[[], Any]) -> None:
    try:
        call()
    except grpc.RpcError as exc:
        raise InvalidInput(f"{target}: {exc.code().name}: {exc.details()}", field="target") from exc


def _answer(result: link_scoring_service_pb2.PageResult) -> PageScores:
    links, more = result.links, result.rescored
    return PageScores(
        [identity_or_none(url) or "" if url else "" for url in links.urls],
        links.scores,
        links.bucket_names,
        links.buckets,
        links.ticket_values,
        links.tickets,
        [verdict == common_pb2.VERDICT_SKIP for verdict in links.verdicts],
        [identity_or_none(url) or "" for url in more.urls],
        more.scores,
        result.learning or result.stage == common_pb2.SITE_STAGE_READY,
        [identity_or_none(wanted.url) or "" for wanted in result.suggestions],
        result.standing.reason,
    )
