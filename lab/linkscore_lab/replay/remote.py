"""A running server as scorer: the same crawl over the wire, one page a call."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence

from linkscore import Client, errors, page
from linkscore.v1 import common_pb2, crawl_service_pb2
from linkscore_lab.datasets.site import identity_or_none
from linkscore_lab.replay.in_process import crawl_config
from linkscore_lab.replay.results import ScoreExplanation
from linkscore_lab.replay.scorer import CrawlScorer, CrawlSetup, PageScores, ReplayVisit
from linkscore_lab.replay.stored import StoredSite
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.policies.registry import policy_class
from linkscore_server.services.crawls import wanted_message

# Seconds between two looks at a site that is being learned. Chosen, not measured.
_LOOK_S = 0.01
# A bound far above what a page takes.
_TIMEOUT_S = 120.0


def at(target: str) -> Callable[[CrawlSetup], RemoteScorer]:
    """Return what makes scorers at a server, ``host:port``."""
    return lambda setup: RemoteScorer(setup, target)


class RemoteScorer(CrawlScorer):
    """Scores with a server; creates a crawl of its own there and deletes it when closed.

    A real crawl goes on while a site is learned beside it. A replay waits for the model instead, so that its
    order does not depend on how fast the machine is, and equals that of the library in process.
    """

    def __init__(self, setup: CrawlSetup, target: str) -> None:
        crawl_config(setup).check()
        if setup.clusterer or setup.paper:
            raise InvalidInput(
                "clusterer and paper need a replay in process, without a server", field="target"
            )
        self.per_url = policy_class(setup.policy).per_url
        self._client = Client(target, timeout_s=_TIMEOUT_S)
        self._name = f"replay-{uuid.uuid4().hex[:20]}"
        examples = [
            crawl_service_pb2.ExamplePage(
                url=one.url, body=one.body, content_type=one.content_type, page_type=one.page_type
            )
            for one in setup.examples
        ]
        try:
            self._client.create_crawl(
                crawl=self._name,
                policy=(setup.policy, setup.params),
                seed=setup.seed,
                examples=examples,
                wanted=wanted_message(setup.wanted) if setup.wanted is not None else None,
                experience=setup.experience,
                **setup.limits,
            )
        except errors.LinkscoreError as exc:
            raise InvalidInput(f"{target}: {exc.code.name}: {exc}", field="target") from exc

    def visit(self, site: StoredSite, visit: ReplayVisit) -> PageScores:
        record = site.records[visit.number]
        sent = page(
            url=visit.key, final_url=record.url, status_code=record.status, ticket=visit.ticket, body=None
        )
        if record.event.length:
            sent.content_type, sent.body = record.content_type, site.body(visit.number)
        (result,) = self._client.ingest_pages(crawl=self._name, pages=[sent]).results
        if result.status.code == common_pb2.ITEM_CODE_INVALID:
            why = "; ".join(f"{p.field}: {p.description}" for p in result.status.problems)
            raise InvalidInput(f"{record.url}: refused by the server: {why}", field="target")
        if result.learning:
            while self._client.get_site(crawl=self._name, site=result.site.rpartition("/")[2]).learning:
                time.sleep(_LOOK_S)
        links, more = result.links, result.rescored
        return PageScores(
            [_key(url) for url in links.urls],
            links.scores,
            links.bucket_names,
            links.buckets,
            links.ticket_values,
            links.tickets,
            [verdict == common_pb2.VERDICT_SKIP for verdict in links.verdicts],
            [_key(url) for url in more.urls],
            more.scores,
            result.learning or result.stage == common_pb2.SITE_STAGE_READY,
            [_key(wanted.url) for wanted in result.suggestions],
            result.standing.reason,
        )

    def feedback(self, key: str, url: str, reward: float) -> None:
        self._client.reward(crawl=self._name, url=url, reward=reward)

    def plan(
        self, buckets: Sequence[str], waiting: Sequence[int], in_flight: Mapping[str, int], n: int
    ) -> tuple[Sequence[float], Sequence[int]]:
        asked = dict(zip(buckets, waiting, strict=True))
        answer = self._client.rank_buckets(crawl=self._name, buckets=asked, in_flight=in_flight, n=n)
        values, takes = [0.0] * len(buckets), [0] * len(buckets)
        for row, value, urls in zip(answer.order, answer.values, answer.urls, strict=True):
            values[row], takes[row] = value, urls
        return values, takes

    def skips(self, links: Sequence[tuple[str, bytes]]) -> Sequence[bool]:
        verdicts = self._client.score_links(crawl=self._name, links=links).links.verdicts
        return [verdict == common_pb2.VERDICT_SKIP for verdict in verdicts or [0] * len(links)]

    def explain(self, url: str, key: str, ticket: bytes) -> ScoreExplanation | None:
        for why in self._client.explain_links(crawl=self._name, links=[(url, ticket)]).explanations:
            return ScoreExplanation(url, why.score, why.bucket, why.summary)
        return None

    def close(self) -> None:
        self._client.delete_crawl(crawl=self._name)
        self._client.close()


def _key(url: str) -> str:
    return (identity_or_none(url) or "") if url else ""
