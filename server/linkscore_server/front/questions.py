"""What servers ask each other beside the contract, in plain values."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.exposition import generate_latest

from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_scoring.engine.config import CrawlConfig
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.services import results
from linkscore_server.services.crawls import shard_row
from linkscore_server.services.scoring import LinkScoringService

_Answer = Callable[..., Awaitable[dict[str, Any]]]


class Questions:
    """Answers for the shards of this process."""

    def __init__(
        self, registry: CrawlRegistry, scoring: LinkScoringService, metrics: CollectorRegistry
    ) -> None:
        self._registry = registry
        self._scoring = scoring
        self._counted = metrics
        self._answers: dict[str, _Answer] = {
            "probe": self._probe,
            "configure": self._configure,
            "drop": self._drop,
            "bids": self._offers,
            "examples": self._examples,
            "shards": self._shards,
            "standing": self._standing,
            "metrics": self._metrics,
        }

    async def answer(self, question: str, values: dict[str, Any]) -> dict[str, Any]:
        """Answer a question by its name."""
        return await self._answers[question](**values)

    async def _probe(self) -> dict[str, Any]:
        """Answer."""
        return {}

    async def _shards(self) -> dict[str, Any]:
        """Return the keys of all shards that are here, damaged or not."""
        return {"keys": self._registry.keys()}

    async def _standing(self, keys: list[str]) -> dict[str, Any]:
        """Return what shards take, see `shards`; those that are gone by now are left out."""
        rows = [await shard_row(self._registry, key) for key in keys if self._registry.has(key)]
        return {"rows": [row.SerializeToString() for row in rows]}

    async def _metrics(self) -> dict[str, Any]:
        """Return the metrics of this process in the text format of OpenMetrics."""
        return {"text": (await asyncio.to_thread(generate_latest, self._counted)).decode()}

    async def _configure(self, shard: str, config: dict[str, Any]) -> dict[str, Any]:
        await self._registry.configure(shard, CrawlConfig.from_state(config))
        return {}

    async def _drop(self, crawl: str) -> dict[str, Any]:
        """Forget a crawl that the store has no more."""
        await self._registry.drop(crawl)
        return {}

    async def _offers(self, request: bytes) -> dict[str, Any]:
        """Return the values of buckets, and the fetches that the group offers, see `fetch_plan`."""
        asked = pb.RankBucketsRequest.FromString(request)
        actor, choice, _ = await self._scoring.resolve(asked)
        values, offered = await actor.ask(
            lambda: actor.queries.offer_fetches(
                asked.buckets,
                asked.n,
                waiting=asked.waiting,
                in_flight=results.fetches_in_flight(asked),
                fill=asked.fill,
                choice=choice,
            )
        )
        return {
            "values": values.tolist(),
            "bids": [list(offer) for offer in offered],
            "policy": (choice or actor.model.config.policy).name,
            "event_seq": actor.model.seq,
        }

    async def _examples(self, request: bytes) -> dict[str, Any]:
        """Return the answer to SuggestExamples with what each example would teach."""
        asked = pb.SuggestExamplesRequest.FromString(request)
        worth, answer = await self._scoring.examples(asked)
        return {"worth": worth, "answer": answer.SerializeToString()}
