"""A server's crawl is what its events say: each acknowledged one is there once, whatever happened on the way.

Sites are forgotten and read back, rows written, settings changed, the crawl closed and opened, the process
lost in the middle of calls; all drawn by seed.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import Event, FeedbackGiven, PageFetched, decode, encode
from linkscore_scoring.engine.limits import LIMITS
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.errors import InvalidInput, LinkscoreError
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.site.learning import LearningConfig
from linkscore_scoring.testing.crawl import GeneratedSite, page_of
from linkscore_scoring.types import ExamplePage
from linkscore_scoring.wanted import Wanted
from linkscore_server.crawls import actor, sites
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.crawls.opening import opened, replayed
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.observability import Metrics
from linkscore_server.settings import Settings
from linkscore_server.store import open_store
from support.recorded_crawls import fetched

GENERATED = b"site.example"
HOSTS = [f"{name * 4}.example" for name in "abcdef"]  # as long as that of generated sites


class Life:
    """A crawl in a data folder, and what was acknowledged of it."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.draw, self.folder, self.lives = random.Random(seed), folder, 0
        self.generated = {host: GeneratedSite(n) for n, host in enumerate(HOSTS)}
        self.queues = {host: [site.home] for host, site in self.generated.items()}
        self.seen: dict[str, set[str]] = {host: set() for host in HOSTS}
        self.tickets: dict[tuple[str, str], bytes] = {}
        self.acknowledged = Counter[str]()
        self.sent: list[Event] = []

    @property
    def path(self) -> Path:
        return self.folder / str(self.lives)

    def open(self) -> None:
        self.store = open_store(str(self.path))
        self.registry = CrawlRegistry(self.store, Settings(learning_processes=0), Metrics())
        for key in self.store.shards():
            self.registry.take(key)
        self.registry.memory.budget.limit = self.draw.choice([1e9, 1e9, 200_000, 60_000, 1])

    async def close(self) -> None:
        await self.registry.close()
        self.store.close()

    async def crash(self) -> None:
        """Go on with what the disk has in this moment; calls under way hear nothing any more."""
        acknowledged = self.acknowledged.copy()
        following = self.folder / str(self.lives + 1)
        following.mkdir()
        await asyncio.to_thread(self.store.engine.copy_to, following / "linkscore.db")
        for open_one in self.registry.actors():
            await open_one.close(save=False)
        await self.close()
        self.lives += 1
        self.acknowledged = acknowledged
        self.check_store()
        self.open()

    def config(self) -> CrawlConfig:
        draw, policies = self.draw, ["harvest", "source_ucc", "pagerank", "focus"]
        policies += ["topic", "anthelion"] if draw.random() < 0.4 else []  # these know something across sites
        examples = [
            ExamplePage(f"http://{HOSTS[0]}/example/{n}", "", "", page_of("u", ["html/p/text()"]).paths)
            for n in range(draw.randrange(2))
        ]
        most, spent = draw.choice(["max_fetches", "max_site_fetches"]), draw.choice([8, 60, 400])
        limits = {"budget": {most: spent, "max_trap_share": 0.1}, "copies": {"skip_above": 0.5}}
        limits = {name: limit for name, limit in limits.items() if draw.random() < 0.4}
        policy, words = draw.choice(policies), draw.choice(["thread", "text"])
        return CrawlConfig(
            "c",
            PolicyChoice(policy),
            learning=LearningConfig(sample_pages=12),
            examples=tuple(examples),
            limits=limits,
            wanted=Wanted((words,)) if policy == "topic" else None,
        )

    async def actor(self) -> CrawlActor:
        return await self.registry.open("c")

    def event(self) -> Event:
        draw = self.draw
        if self.sent and draw.random() < 0.1:
            return draw.choice(self.sent)
        host = HOSTS[min(draw.randrange(6), draw.randrange(6))]  # the first are asked for often
        queue = self.queues[host]
        if draw.random() < 0.15 or not queue:
            return FeedbackGiven(f"f{len(self.sent)}", host, f"http://{host}/", b"", draw.random(), 0.0)
        url = queue.pop(draw.randrange(len(queue)))
        found: PageFeatures | None = self.generated[host].page(url)
        ticket = self.tickets.get((host, url), b"")
        asked = f"http://{GENERATED.decode()}/member/{draw.randrange(50)}" if draw.random() < 0.1 else url
        made = fetched(url, found, site=host, event_id=f"p{len(self.sent)}", ticket=ticket, requested=asked)
        return decode(encode(made).replace(GENERATED, host.encode()))

    async def send(self) -> None:
        events = [self.event() for _ in range(self.draw.choice([1, 1, 1, 4]))]
        self.sent += events
        with suppress(LinkscoreError):
            outcomes = await (await self.actor()).submit_all(events)
            for event, outcome in zip(events, outcomes, strict=True):
                if isinstance(outcome, Exception):
                    raise outcome
                self.acknowledged[_id(event)] = 1
                if isinstance(event, PageFetched) and event.features is not None and outcome.links.tickets:
                    self.found(event, outcome)

    def found(self, event: PageFetched, outcome: Any) -> None:
        assert event.features is not None
        host = event.site
        for row, link in enumerate(event.features.links.urls):
            if link not in self.seen[host]:
                self.seen[host].add(link)
                self.queues[host].append(link.replace(host, GENERATED.decode()))
                self.tickets[host, link] = outcome.links.ticket_values[outcome.links.tickets[row]]

    async def step(self) -> None:
        draw, what = self.draw, self.draw.random()
        if what < 0.70:
            await asyncio.gather(*(self.send() for _ in range(draw.choice([1, 1, 2, 8]))))
        elif what < 0.76:
            with suppress(InvalidInput):  # words for a policy that does not go by any
                await self.registry.change(
                    "c", **{k: v for k, v in vars_of(self.config()).items() if draw.random() < 0.7}
                )
        elif what < 0.82:
            crawl = await self.actor()
            await asyncio.gather(self.send(), crawl.evict_sites(draw.randrange(6)), self.send())
        elif what < 0.86:
            crawl = await self.actor()
            seq, answers = await crawl.ask(lambda: (crawl.model.seq, asked(crawl.queries)))
            assert answers == asked(CrawlQueries(self.by_events(seq)))
        elif what < 0.89:
            with suppress(LinkscoreError):
                await (await self.actor()).learn(draw.choice(HOSTS))
        elif what < 0.92:
            self.registry.memory.budget.limit = draw.choice([1e9, 100_000, 1])
        elif what < 0.95:
            await self.registry.evict("c")
        elif what < 0.97:
            await self.close()
            self.check_store()
            self.open()
        else:
            sending = [asyncio.ensure_future(self.send()) for _ in range(6)]
            await asyncio.sleep(draw.random() * 0.02)
            await self.crash()
            await asyncio.gather(*sending)

    def by_events(self, until: int | None = None) -> CrawlModel:
        return replayed(self.store.open("c"), ticket_key=self.store.secret(), until=until)

    def check_store(self) -> None:
        """All that was acknowledged is there once, and opened the crawl is what its events say."""
        store = open_store(str(self.path))
        try:
            shard = store.open("c")
            there = Counter(event.id for event in shard.events() if event.id)
            assert max(there.values(), default=1) == 1
            assert set(self.acknowledged) <= set(there)
            by_rows = opened(shard, ticket_key=store.secret(), budget=sites.MemoryBudget(50_000))
            by_events = replayed(shard, ticket_key=store.secret())
            assert unlike(by_rows.to_state(), by_events.to_state()) == []
        finally:
            store.close()


def unlike(found: Any, expected: Any, at: str = "") -> list[str]:
    """Return where two states differ, the first few places."""
    if isinstance(found, dict) and isinstance(expected, dict) and list(found) == list(expected):
        rows = [(f"{at}.{key}", found[key], expected[key]) for key in found]
    elif (
        isinstance(found, list | tuple) and isinstance(expected, list | tuple) and len(found) == len(expected)
    ):
        rows = [(f"{at}.{n}", *pair) for n, pair in enumerate(zip(found, expected, strict=True))]
    else:
        return [] if repr(found) == repr(expected) else [f"{at}: {found!r:.300} is not {expected!r:.300}"]
    return [line for path, one, other in rows for line in unlike(one, other, path)][:5]


def _id(event: Event) -> str:
    return (
        f"feedback {event.event_id}" if isinstance(event, FeedbackGiven) else getattr(event, "event_id", "")
    )


def vars_of(config: CrawlConfig) -> dict[str, Any]:
    return {
        "policy": config.policy,
        "limits": dict.fromkeys(LIMITS) | config.limits,
        "examples": config.examples,
        "wanted": config.wanted,
    }


def asked(queries: CrawlQueries) -> Any:
    """Return answers to questions about all sites."""
    urls = [f"http://{host}/thread/7" for host in HOSTS]
    scored = queries.score_links(urls, urls, [b""] * 6, [""] * 6)
    buckets = [scored.bucket_names[i] for i in scored.buckets]
    ranked = queries.rank_sites(HOSTS, [None] * 6, 9)
    return scored.scores.tolist(), buckets, ranked.values.tolist()


async def live(folder: Path, seed: int, steps: int) -> int:
    """Live so many steps; returns how many events were acknowledged."""
    life = Life(folder, seed)
    life.open()
    await life.registry.create(life.config())
    for _ in range(steps):
        await life.step()
        if (crawl := life.registry.opened_now("c")) is not None and life.draw.random() < 0.1:
            seq, state = await crawl.ask(lambda crawl=crawl: (crawl.model.seq, crawl.model.to_state()))
            assert unlike(state, life.by_events(seq).to_state()) == []
    await life.close()
    life.check_store()
    return life.acknowledged.total()


@pytest.mark.parametrize(
    ("seed", "steps"),
    [
        *((seed, 25) for seed in range(3)),
        (33, 60),  # a site is read back as another policy, or other words, had it
        *(pytest.param(seed, 60, marks=pytest.mark.slow) for seed in range(3, 60) if seed != 33),
    ],
)
def test_a_crawl_is_what_its_events_say(
    seed: int, steps: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(seed)
    monkeypatch.setattr(sites, "_LEAST_BYTES", draw.choice([1, 10_000, 1 << 16]))
    monkeypatch.setattr(actor, "_CORE_EVENTS", draw.choice([1, 7, 128]))
    monkeypatch.setattr(actor, "_WIDE_EVENTS", draw.choice([1, 9, 500]))
    assert asyncio.run(live(tmp_path, seed, steps)) > 0


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database of a crawl with events and states."""
    folder = tmp_path_factory.mktemp("whole")

    async def lived() -> Path:
        life = Life(folder, 4)
        life.open()
        life.registry.memory.budget.limit = 1e9
        await life.registry.create(CrawlConfig("c", learning=LearningConfig(sample_pages=12)))
        for _ in range(60):
            await life.send()
        await life.close()
        return life.path / "linkscore.db"

    return asyncio.run(lived())


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 30))]
)
def test_a_flipped_bit_is_named_or_changes_nothing(whole: Path, tmp_path: Path, seed: int) -> None:
    expected = state_in(whole.parent)
    assert expected is not None
    draw, raw = random.Random(seed), bytearray(whole.read_bytes())
    for _ in range(3):
        at, bit = draw.randrange(len(raw)), 1 << draw.randrange(8)
        raw[at] ^= bit
        (tmp_path / "linkscore.db").write_bytes(raw)
        raw[at] ^= bit
        found = state_in(tmp_path)
        assert found is None or unlike(found, expected) == []
        for left in tmp_path.glob("linkscore.db*"):
            left.unlink()


def state_in(folder: Path) -> Any:
    """Return the state of the crawl in a folder, None if what is wrong with it is said."""
    try:
        store = open_store(str(folder))
    except (LinkscoreError, OSError):
        return None
    try:
        return opened(store.open("c"), ticket_key=store.secret()).to_state()
    except (LinkscoreError, OSError, KeyError):
        return None
    finally:
        store.close()
