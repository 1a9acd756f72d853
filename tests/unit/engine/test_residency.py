"""Sites that are evicted and brought back: no answer and no state tells the difference."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.events import (
    ConfigChanged,
    Event,
    FeedbackGiven,
    ModelActivated,
    decode,
    encode,
)
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.engine.reports import inspection
from linkscore_scoring.engine.results import PageOutcome
from linkscore_scoring.errors import CorruptState
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.site.learning import LearningConfig, run
from linkscore_scoring.testing.pages import page_of
from linkscore_scoring.testing.site import GeneratedSite
from linkscore_scoring.testing.subject import packed, unpacked
from linkscore_scoring.types import ExamplePage
from linkscore_server import residency
from linkscore_server.residency import MemoryBudget, ResidentCrawl
from support.recorded_crawls import fetched, page, state

OF_GENERATED = b"site.example"
HOSTS = [f"{name * 4}.example" for name in "abcdef"]  # as long as that of generated sites
EXTRA = tuple(PolicyChoice(name) for name in ("source_ucc", "opic", "pagerank", "uniform_random"))


class Store:
    """Keeps states in a dict; `commit` makes a cut, `again` gives the store as a crash would leave it."""

    def __init__(self) -> None:
        self.rows: dict[int, tuple[str, bytes, bytes, list[bytes]]] = {}
        self.cut: tuple[int, bytes, dict[int, tuple[str, bytes, bytes, list[bytes]]]] | None = None
        self.reads = self.added = 0

    def get(self, place: int) -> bytes:
        self.reads += 1
        return self.rows[place][2]

    def put(self, place: int, name: str, facts: bytes, raw: bytes) -> None:
        self.rows[place] = (name, facts, raw, [])

    def add(self, place: int, name: str, facts: bytes, events: Sequence[bytes]) -> None:
        self.rows[place] = (name, facts, self.rows[place][2], self.rows[place][3] + list(events))
        self.added += len(events)

    def changes(self, place: int) -> list[bytes]:
        return self.rows[place][3]

    def commit(self, seq: int, core: bytes) -> None:
        self.cut = (seq, core, dict(self.rows))

    def again(self, config: CrawlConfig, limit: float) -> ResidentCrawl:
        crawl = new(config, self, limit)
        self.rows = {}  # of what no cut has, a crash leaves nothing
        if self.cut is not None:
            _, core, rows = self.cut
            self.rows = dict(rows)
            crawl.load_core(unpacked(core), iter([rows[n][:2] for n in sorted(rows)]))
        return crawl


def new(config: CrawlConfig, store: Store | None = None, limit: float = float("inf")) -> ResidentCrawl:
    return ResidentCrawl(config, ticket_key=b"key", store=store, budget=MemoryBudget(limit))


def config(policy: str = "harvest", extra: Sequence[PolicyChoice] = EXTRA, **more: Any) -> CrawlConfig:
    learning = LearningConfig(sample_pages=12)
    return CrawlConfig("c", PolicyChoice(policy), extra_policies=extra, learning=learning, **more)


def example(host: str, n: int) -> ExamplePage:
    url = f"http://{host}/example/{n}"
    return ExamplePage(url, url, "", page_of(url, ["html/body/p/text()"]).paths)


def history(start: CrawlConfig, pages: int = 130) -> list[bytes]:
    """Crawl generated sites in random turns, with feedback, learnings and new configurations on the way."""
    rng, crawl, log = random.Random(7), new(start), list[bytes]()
    generated = {host: GeneratedSite(n) for n, host in enumerate(HOSTS)}
    frontier = {host: ([site.home], set[str]()) for host, site in generated.items()}
    tickets: dict[tuple[str, str], bytes] = {}

    def apply(event: Event) -> Any:
        log.append(encode(event).replace(OF_GENERATED, getattr(event, "site", "").encode() or b"-"))
        outcome = crawl.apply(len(log), decode(log[-1]))
        for job in crawl.take_jobs():
            learned = run(job)
            apply(ModelActivated(job.site, job.built_from_seq, learned.digest(), learned.to_state()))
        return outcome

    for n in range(pages):
        host = HOSTS[min(rng.randrange(6), rng.randrange(6))]  # the first are asked for often
        queue, seen = frontier[host]
        if not queue:
            continue
        url = queue.pop(rng.randrange(len(queue)))
        found: PageFeatures | None = generated[host].page(url)
        ticket = tickets.get((host, url), b"")
        outcome = apply(fetched(url, found, site=host, event_id=f"p{n}", ticket=ticket))
        if n % 5 == 0:
            apply(FeedbackGiven(f"f{n}", host, url, ticket, rng.random(), 0.0))
        if n % 40 == 20:
            apply(ConfigChanged(configured(start, n).to_state()))
        for row, link in enumerate(found.links.urls if found else []):
            if link not in seen:
                seen.add(link)
                queue.append(link)
                tickets[host, link] = outcome.links.ticket_values[outcome.links.tickets[row]]
    return log


def configured(start: CrawlConfig, n: int) -> CrawlConfig:
    """Return a configuration of later: a policy comes, goes, and comes again, examples come."""
    extra = start.extra_policies if n % 80 == 20 else start.extra_policies[:2]
    return CrawlConfig(
        "c", start.policy, extra_policies=extra, learning=start.learning, examples=(example(HOSTS[1], n),)
    )


def told(outcome: Any) -> Any:
    """Return an answer as plain values."""
    if not isinstance(outcome, PageOutcome):
        return outcome
    links = outcome.links
    return (
        outcome.seq,
        outcome.duplicate,
        outcome.stage,
        outcome.revision,
        links.scores.tolist(),
        links.bucket_names,
        list(links.buckets),
        links.ticket_values,
        outcome.suggestions,
        outcome.rescored_urls,
        outcome.rescored.scores.tolist(),
    )


def asked(crawl: ResidentCrawl) -> Any:
    """Return answers to questions about all sites."""
    queries = CrawlQueries(crawl)
    urls = [f"http://{host}/thread/7" for host in HOSTS]
    scored = queries.score_links(urls, urls, [b""] * 6, [""] * 6)
    buckets = [scored.bucket_names[i] for i in scored.buckets]
    plan = queries.plan_fetches(buckets, 4, in_flight={buckets[0]: 2})
    ranked = queries.rank_sites(HOSTS, [None] * 6, 9)
    return (
        scored.scores.tolist(),
        buckets,
        plan.values.tolist(),
        plan.takes.tolist(),
        ranked.values.tolist(),
        inspection.activity(facts for _, facts in crawl.sites.facts()),
        [(site, wanted.url, wanted.value) for site, wanted in queries.suggest_examples(9)],
        list(crawl.sites),
        crawl.waiting_sites(),
    )


@pytest.fixture
def events_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the store have a state once a site, and events from then on, wherever these can tell."""
    monkeypatch.setattr(residency, "_SHARE", 0)
    monkeypatch.setattr(residency, "_EVICTED_SHARE", 0)


@pytest.fixture(scope="module")
def log() -> list[bytes]:
    return history(config())


@pytest.mark.parametrize("limit", [0, 200_000])
def test_a_crawl_of_one_site_in_memory_answers_as_one_that_holds_all(log: list[bytes], limit: int) -> None:
    free, store = new(config()), Store()
    tight = new(config(), store, limit)
    for seq, raw in enumerate(log, start=1):
        assert told(tight.apply(seq, decode(raw), raw=raw)) == told(free.apply(seq, decode(raw))), seq
        assert [job.site for job in tight.take_jobs()] == [job.site for job in free.take_jobs()]
        tight.sites.enforce_budget()
        assert limit or len(tight.sites.in_memory) == 1
        if seq % 50 == 0:
            assert asked(tight) == asked(free)
    assert store.reads > 20
    assert store.added
    assert state(tight) == state(free)


@pytest.mark.parametrize("limit", [0, 200_000])
@pytest.mark.usefixtures("events_only")
def test_nor_does_it_tell_states_from_events_applied_again(log: list[bytes], limit: int) -> None:
    free, store = new(config()), Store()
    tight = new(config(), store, limit)
    for seq, raw in enumerate(log, start=1):
        assert told(tight.apply(seq, decode(raw), raw=raw)) == told(free.apply(seq, decode(raw))), seq
        tight.sites.enforce_budget()
    assert store.added > 20
    assert state(tight) == state(free)


@pytest.mark.usefixtures("events_only")
def test_repeats_are_not_applied_again_with_the_others() -> None:
    start = config(extra=())
    store = Store()
    tight, free = new(start, store, 0), new(start)
    events: list[Event] = [page(f"http://{host}/", f"http://{host}/x", site=host) for host in HOSTS[:2]]
    for n in range(8):
        host, again = HOSTS[n // 4], n // 2
        events.append(page(f"http://{host}/{again}", f"http://{host}/{n}", site=host, event_id=f"p{again}"))
        events.append(FeedbackGiven(f"f{again}", host, f"http://{host}/{again}", b"", 1.0, 0.0))
    for seq, event in enumerate([*events, page(f"http://{HOSTS[0]}/z", site=HOSTS[0])], start=1):
        raw = encode(event)
        tight.apply(seq, decode(raw), raw=raw)
        free.apply(seq, decode(raw))
        tight.sites.enforce_budget()
    assert store.added == 8  # of 16, half are repeats
    assert (tight.pages, tight.feedbacks) == (free.pages, free.feedbacks) == (7, 4)
    assert state(tight) == state(free)


def test_what_sites_share_is_learned_once() -> None:
    start = config("anthelion", ())
    store = Store()
    crawl = new(start, store, 0)
    for seq, raw in enumerate(history(start, 30), start=1):
        crawl.apply(seq, decode(raw), raw=raw)
        crawl.sites.enforce_budget()
    assert (store.reads > 0, store.added) == (True, 0)


@pytest.mark.parametrize("policy", ["anthelion", "focus"])
@pytest.mark.usefixtures("events_only")
def test_other_policies_do_not_notice_either(policy: str) -> None:
    extra = (PolicyChoice("anthelion"),) if policy == "anthelion" else ()
    start = config(policy, extra, examples=(example(HOSTS[0], 0),))
    free, tight = new(start), new(start, Store(), 0)
    for seq, raw in enumerate(history(start, 60), start=1):
        assert told(tight.apply(seq, decode(raw), raw=raw)) == told(free.apply(seq, decode(raw))), seq
        tight.sites.enforce_budget()
    assert state(tight) == state(free)


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 4))])
@pytest.mark.usefixtures("events_only")
def test_after_a_crash_the_last_cut_and_the_log_give_the_same(log: list[bytes], seed: int) -> None:
    """Cuts are begun, written site by site between events, finished or not; then the process ends."""
    rng, store, start = random.Random(seed), Store(), config()
    crawl, core, cuts = new(start, store, 300_000), (0, b""), 0
    seq = 0
    while seq < len(log):
        seq += 1
        crawl.apply(seq, decode(log[seq - 1]), raw=log[seq - 1])
        crawl.sites.enforce_budget()
        if not core[1] and rng.random() < 0.1:
            core = (seq, packed(crawl.core_state()))
            crawl.sites.checkpoint.begin()
        elif core[1] and rng.random() < 0.5:
            crawl.sites.checkpoint.copy_on_write(crawl.sites.checkpoint.some(1))
            if not crawl.sites.checkpoint.pending:
                store.commit(*core)
                crawl.sites.checkpoint.end()
                core, cuts = (0, b""), cuts + 1
        if rng.random() < 0.03:  # kill -9
            crawl, core = store.again(start, 300_000), (0, b"")
            seq = crawl.seq
    free = new(start)
    for seq, raw in enumerate(log, start=1):
        free.apply(seq, decode(raw))
    assert cuts >= 2
    assert store.added > 20
    assert state(crawl) == state(free)
    assert asked(crawl) == asked(free)


def test_learnings_cut_short_are_due_again_of_evicted_sites_too() -> None:
    start = config(extra=())
    store = Store()
    crawl = new(start, store, 0)
    for n in range(14):
        url = f"http://{HOSTS[0]}/{n}"
        crawl.apply(n + 1, page(url, f"{url}/x", site=HOSTS[0]))
    crawl.apply(15, page("http://z/", site="z"))
    crawl.sites.enforce_budget()
    assert [job.site for job in crawl.unfinished_jobs()] == [HOSTS[0]]


def test_few_configurations_of_before_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(residency, "_MOST_CONFIGS", 2)
    store, free = Store(), new(config(extra=()))
    tight = new(config(extra=()), store, 0)
    for crawl in (free, tight):
        seq = 0
        for n, host in enumerate(HOSTS):
            crawl.apply(seq := seq + 1, page(f"http://{host}/", f"http://{host}/x", site=host))
            changed = config(extra=(), examples=(example(host, n),))
            crawl.apply(seq := seq + 1, ConfigChanged(changed.to_state()))
            crawl.sites.enforce_budget()
    assert len(tight.sites.configs_state()) <= 3
    assert state(tight) == state(free)


def test_a_question_keeps_a_site_in_memory_only_if_there_is_room() -> None:
    crawl = new(config(extra=()), Store(), 0)
    for n, host in enumerate(HOSTS):
        crawl.apply(n + 1, page(f"http://{host}/", f"http://{host}/x", site=host))
    crawl.sites.enforce_budget()
    assert crawl.shard(HOSTS[0]).model.pages == 1
    assert len(crawl.sites.in_memory) == 1
    assert crawl.sites[HOSTS[0]] is not crawl.sites[HOSTS[0]]


@pytest.mark.usefixtures("events_only")
@pytest.mark.parametrize("stays", [False, True])
def test_a_site_that_is_evicted_anew_while_it_is_read_is_read_again(*, stays: bool) -> None:
    class Racing(Store):
        def changes(self, place: int) -> list[bytes]:
            self.meanwhile()
            return super().changes(place)

        def meanwhile(self) -> None:
            pass

    def give(n: int, raw: bytes | None) -> None:
        event = FeedbackGiven(f"f{n}", "a.example", f"http://a.example/{n}", b"", 1.0, 0.0)
        crawl.apply(n, event, raw=raw and encode(event))

    def write_its_state() -> None:
        store.meanwhile = lambda: None
        crawl.sites.bring_back(["a.example"])
        give(4, None)  # of what only a state tells
        if not stays:
            crawl.sites.enforce_budget()

    store = Racing()
    crawl = new(config(extra=()), store, limit=0)
    give(1, None)
    crawl.apply(2, FeedbackGiven("other", "b.example", "http://b.example/", b"", 1.0, 0.0))
    crawl.sites.enforce_budget()
    give(3, b"as events")
    crawl.sites.evict(["a.example"])
    assert store.rows[0][3], "the third event was written in place of a state"
    store.meanwhile = write_its_state
    found = crawl.sites["a.example"]
    assert packed(found.to_state()) == packed(crawl.sites["a.example"].to_state())


def test_a_site_that_is_nowhere_is_an_error_of_its_own() -> None:
    crawl = new(config(extra=()))
    crawl.sites.restore(crawl.sites.configs_state(), iter([("h", b"\x90")]))
    with pytest.raises(CorruptState, match="'h'"):
        crawl.shard("h")
