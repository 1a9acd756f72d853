"""``make fuzz N=1000000``: inputs over every RPC, streams too, and over the page path.

Inputs come in sessions of `SESSION` on a server of their own in this process; everything of a session follows
from its seed. A finding prints the seed and the command that shows it again. One is: a status that says the
fault is ours, a line of the error log, a score that is no number, a page that could not be stored and read
back, an input that takes more CPU time than its bytes may, and, at the end of a session, a crawl whose log or
snapshot gives another state than the live one.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import random
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import msgpack
from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from campaigns.inprocess import SERVICES, Answer, InProcess
from campaigns.messages import Messages
from linkscore.v1 import crawl_service_pb2
from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import decode, encode
from linkscore_scoring.errors import InvalidInput
from linkscore_server.crawls.libraries import registrable_domain
from linkscore_server.pieces import packed_in_pieces
from linkscore_server.settings import Settings
from linkscore_server.storage.memory import MemoryStore

SESSION = 400
"""Inputs of a session: enough for a site to be learned several times."""

SEEDS = Path(__file__).with_name("seeds.txt")
"""Seeds whose sessions found something once; they run first, always."""

_PAGES = 0.6  # share of inputs that go to the page path alone, without a call
_FIXED_S, _S_PER_MB = (
    2.0,
    4.0,
)  # CPU of an input: "no call above 2 s" of normal size, as tests/unit/features says
_SAMPLE_PAGES = 12  # of a crawl: sites are learned after as many pages
_OURS = {
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.DATA_LOSS,
    grpc.StatusCode.UNAVAILABLE,
}
METHODS = [method for service in SERVICES for method in service.methods]
_OFTEN = ("IngestPages", "StreamPages", "ReportFeedback", "ScoreLinks")
_WEIGHTS = [6 if method.name in _OFTEN else 1 for method in METHODS]
_RARE = {"MineSite": 0.02}  # starts processes


class Finding(Exception):
    """Something that must not be."""


class Session:
    """The inputs of one seed."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._rng = random.Random(seed)
        self._store = MemoryStore(keep=True)
        self._server = InProcess(
            self._store, Settings(max_crawls=6, site_links=500, site_arms=200, snapshot_events=100)
        )
        self.answered: set[str] = set()
        self._messages = Messages(self._rng, ["crawls/a", "crawls/b", "crawls/c"])

    async def run(self, inputs: int) -> list[str]:
        """Make inputs; returns what was found, a line each."""
        found = []
        await self._create_crawls()
        for number in range(inputs):
            one = self._page if self._rng.random() < _PAGES else self._call
            started = time.process_time()
            try:
                what, size = await one()
                if (took := time.process_time() - started) > _FIXED_S + _S_PER_MB * size / 1e6:
                    raise Finding(f"{what} of {size} bytes took {took:.1f} s of CPU time")
                for line in self._server.errors():
                    raise Finding(f"{what}: logged: {line}")
            except Exception as exc:
                found.append(self._line(number, exc))
        try:
            await self._compare_states()
            await self._server.close()
        except Exception as exc:
            found.append(self._line(inputs, exc))
        return found

    def _line(self, number: int, error: Exception) -> str:
        what = str(error) if isinstance(error, Finding) else repr(error)
        return f"seed {self._seed}, input {number}: {what[:2_000]}; again: make fuzz SEED={self._seed}"

    async def _create_crawls(self) -> None:
        """Create three crawls: one as most are, two with any policies, if they can be."""
        learning = crawl_service_pb2.LearningConfig(sample_pages=_SAMPLE_PAGES)
        create = next(method for method in METHODS if method.name == "CreateCrawl")
        for name in ("a", "b", "c"):
            for attempt in range(5 if name != "a" else 0, -1, -1):
                crawl = crawl_service_pb2.Crawl(name=f"crawls/{name}", learning=learning)
                if attempt:
                    crawl.policy.CopyFrom(self._messages.policy())
                    if self._rng.random() < 0.5:
                        crawl.extra_policies.append(self._messages.policy())
                request = crawl_service_pb2.CreateCrawlRequest(crawl=crawl).SerializeToString()
                if (await self._server.call(create, [request])).code is grpc.StatusCode.OK:
                    break

    async def _page(self) -> tuple[str, int]:
        """Read a page, and store and read back its event."""
        page, layout = self._messages.page(), self._rng.random() < 0.3
        try:
            event = self._server.parser.event(page, lambda url: "h", layout=layout)
        except InvalidInput:
            return "a page", len(page.body)
        raw = encode(event)
        if encode(decode(raw)) != raw:
            raise Finding(f"the event of a page is not the same when read back: {page.body[:500]!r}")
        return "a page", len(page.body)

    async def _call(self) -> tuple[str, int]:
        """Make a call of any RPC with any requests."""
        method = self._rng.choices(METHODS, _WEIGHTS)[0]
        while self._rng.random() > _RARE.get(method.name, 1.0):
            method = self._rng.choices(METHODS, _WEIGHTS)[0]
        requests = self._messages.requests(method)
        answer = await self._server.call(method, requests)
        await self._server.idle()
        self._check(method, answer)
        return method.name, sum(map(len, requests))

    def _check(self, method: MethodDescriptor, answer: Answer) -> None:
        if answer.code in _OURS:
            raise Finding(f"{method.name}: {answer.code.name}: {answer.details}")
        if answer.code is grpc.StatusCode.OK and not answer.responses and not method.server_streaming:
            raise Finding(f"{method.name}: OK without a response")
        if answer.code is grpc.StatusCode.OK:
            self.answered.add(method.name)
        for raw in answer.responses:
            response = GetMessageClass(method.output_type)()
            response.ParseFromString(raw)
            for place, value in _leaves(response, method.name):
                if isinstance(value, float) and math.isnan(value):
                    raise Finding(f"{place} is no number")
                if isinstance(value, str) and value.startswith("internal error"):
                    raise Finding(f"{place}: {value}: {self._server.errors()}")
            self._messages.learn(response)

    async def _compare_states(self) -> None:
        """Compare each crawl with what its snapshot and its log make of it."""
        await self._server.idle()
        for actor in self._server.registry.actors():
            live, name = _bytes_of(actor.model), actor.model.config.name
            again = CrawlModel(CrawlConfig(name), ticket_key=self._store.ticket_key())
            again.load_state(msgpack.unpackb(live, strict_map_key=False))
            if _bytes_of(again) != live:
                raise Finding(f"crawl {name}: a snapshot read back gives another state")
            replayed = CrawlModel(
                CrawlConfig(name), ticket_key=self._store.ticket_key(), domain_of=registrable_domain
            )
            for seq, raw in self._store.open(actor.key).read():
                replayed.apply(seq, decode(raw))
            if _bytes_of(replayed) != live:
                raise Finding(f"crawl {name}: the log gives another state than the live one")


def _bytes_of(model: CrawlModel) -> bytes:
    return b"".join(packed_in_pieces(model.to_state()))


def _leaves(message: Message, place: str) -> Iterator[tuple[str, Any]]:
    """Yield every value of a message with its place."""
    for field, value in message.ListFields():
        where = f"{place}.{field.name}"
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            if field.message_type.fields[1].message_type is not None:
                value = value.values()
            else:
                continue
        values = value if field.is_repeated else [value]
        for each in values:
            if field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE and isinstance(each, Message):
                yield from _leaves(each, where)
            else:
                yield where, each


def kept_seeds() -> list[int]:
    """Return the seeds that found something once."""
    return [int(line.split()[0]) for line in SEEDS.read_text().splitlines() if line and line[0] != "#"]


def campaign(inputs: int, first_seed: int, *, until_s: float = math.inf) -> tuple[int, list[str]]:
    """Run sessions until as many inputs were made; returns their number and what was found."""
    done, found, started, said = 0, [], time.monotonic(), 0
    seeds = iter([*kept_seeds(), *range(first_seed, first_seed + inputs // SESSION + 1)])
    for seed in seeds:
        if done >= inputs or time.monotonic() - started > until_s:
            break
        n = min(SESSION, inputs - done)
        for line in asyncio.run(Session(seed).run(n)):
            found.append(line)
            print(line, flush=True)
        done += n
        if done - said >= 20_000:
            said = done
            rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(
                f"{done} inputs, {len(found)} findings, {time.monotonic() - started:.0f} s, {rss} MB",
                flush=True,
            )
    return done, found


def main() -> int:
    """Run a campaign, or one seed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--first-seed", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop after as long")
    parser.add_argument("--seed", type=int, help="run the session of this seed")
    given = parser.parse_args()
    if given.seed is not None:
        found = asyncio.run(Session(given.seed).run(SESSION))
        print(*found, f"seed {given.seed}: {len(found)} findings", sep="\n")
        return bool(found)
    started = time.process_time()
    done, found = campaign(given.inputs, given.first_seed, until_s=given.seconds)
    print(f"{done} inputs, {len(found)} findings, {time.process_time() - started:.0f} s of CPU time")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
