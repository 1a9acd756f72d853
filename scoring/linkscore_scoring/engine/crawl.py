"""A crawl: sites and counters, changed by events only. One writer, no locks."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from linkscore_scoring.browse_logs.mining import MinedSite
from linkscore_scoring.columns import drop_oldest, picking
from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.events import (
    BrowseBatchImported,
    ChangesNotified,
    ConfigChanged,
    Event,
    FeedbackGiven,
    LearningFailed,
    LearningRequested,
    LogsMined,
    ModelActivated,
    PageFetched,
)
from linkscore_scoring.engine.limits import BUDGET
from linkscore_scoring.engine.links import TicketBook, rows_in_scope, strip_session_ids
from linkscore_scoring.engine.results import Outcome, PageOutcome, ScoredLinks, Standing
from linkscore_scoring.engine.shard import Configure, CrawlWide, Make, SiteShard, SiteTable
from linkscore_scoring.errors import NotFound, reading_state
from linkscore_scoring.hashing import hash_of
from linkscore_scoring.limits.budget import Budget, CrawlBudget
from linkscore_scoring.pagination.page_links import find_page_links
from linkscore_scoring.revisits.site import key_of
from linkscore_scoring.site.learning import LearnedSite, LearningJob
from linkscore_scoring.site.model import Fetch, SiteModel
from linkscore_scoring.state import Stateful, Stored, from_state
from linkscore_scoring.types import (
    UNKNOWN_LINK_PATH,
    ExamplePage,
    FeedbackObservation,
    PageObservation,
)
from linkscore_scoring.urls.identity import host_of

MAX_EVENT_IDS = 100_000
"""A bound: ids of the latest events, by which repeats are told."""
MAX_BATCH_IDS = 100_000
"""A bound: browse log batches remembered; one that comes again later changes the counters, nothing else."""
MOST_RECORDS = (1 << 63) - 1
"""A bound: records of one outcome that are counted; answers and states hold 64 bits."""

_ROOT_CHARS = 300
"""Scheme and host that are remembered have no more characters: names have 253 at most (RFC 1035)."""
_host_of_root = lru_cache(maxsize=4_096)(host_of)  # a bound, some 3 MB together


class BrowseLedger(Stateful):
    """What the log of a crawl knows of its browse logs: batches by id, oldest first, and records by outcome.

    `batches`: visits of each batch of the last `MAX_BATCH_IDS` by its id. `outcomes`: records by what became
    of them: visits under the empty name, others under the rule that left them out.
    """

    batches: Stored[OrderedDict[str, int]]
    outcomes: Stored[Counter[str]]

    def take(self, event: BrowseBatchImported) -> bool:
        """Enter a batch; returns whether it is new, a repeat changes nothing."""
        if event.batch_id in self.batches:
            return False
        self.batches[event.batch_id] = event.counts.get("", 0)
        drop_oldest(self.batches, MAX_BATCH_IDS)
        for outcome, count in event.counts.items():
            self.outcomes[outcome] = min(MOST_RECORDS, self.outcomes[outcome] + count)
        return True


def repeat_id(event: Event) -> str:
    """Return what tells a repeat of an event from a new one; empty if nothing does."""
    if isinstance(event, PageFetched):
        return event.event_id
    return f"feedback {event.event_id}" if isinstance(event, FeedbackGiven) and event.event_id else ""


class CrawlModel:
    """The state of one crawl: events in by `apply`; `CrawlQueries` asks it.

    `config`: how the crawl is set up. `ticket_key`: secret for ticket MACs. `domain_of`: host -> registrable
    domain; for scope ``domain`` and redirects. `sites`: makes the table that the sites are kept in.
    `spent_at`: says whether the crawl stops as of an event; of one of which not all sites are there.

    `seq`: number of the latest event. `sites`: its sites by name, in the order in which they came.
    `crawl_wide`: what the policy knows across sites. `budget`: what it has spent, over all sites; None
    without one. `event_ids`: what `repeat_id` gave of the last 100,000 events that have one. `ledger`: its
    browse logs. `book`: writes and reads tickets. `jobs`: learnings that became due, see `take_jobs`.
    """

    def __init__(
        self,
        config: CrawlConfig,
        *,
        ticket_key: bytes,
        domain_of: Callable[[str], str] | None = None,
        sites: Callable[[Make, Configure, CrawlConfig], SiteTable] = SiteTable,
        spent_at: Callable[[int], bool] | None = None,
    ) -> None:
        self.config = config
        self._turns: list[int] = []  # events from which on the crawl as a whole stops, and goes on, in turn
        self.spent_at = spent_at or (lambda seq: bisect_right(self._turns, seq) % 2 == 1)
        self.seq = self.pages = self.feedbacks = 0
        self.crawl_wide = CrawlWide(config)
        self.budget: CrawlBudget | None = None
        self._set_budget(config)
        self.sites = sites(self.new_site, self._configure_site, config)
        self.ledger = BrowseLedger()
        self.book = TicketBook(ticket_key, config.ticket_scope)
        self._ticket_key = ticket_key
        self.jobs: list[LearningJob] = []
        self.event_ids: OrderedDict[str, None] = OrderedDict()
        self._domain_of = domain_of or (lambda host: "" if config.scope == "host" else host)

    def shard(self, site: str) -> SiteShard:
        """Return a site.

        Raises `NotFound` if the crawl has no such site.
        """
        if site not in self.sites:
            raise NotFound(
                f"site {site!r}: not among the {len(self.sites)} sites of crawl {self.config.name!r}"
            )
        return self.sites[site]

    def new_site(self, site: str, config: CrawlConfig | None = None) -> SiteShard:
        """Return a site as it would be before its first page, without keeping it."""
        config = config or self.config
        model = SiteModel(site, config.learning, config.bounds)
        return SiteShard(model, config, self.crawl_wide, self.examples_of(site, config))

    def known_or_new(self, site: str) -> SiteShard:
        """Return a site, or one never seen in its place."""
        return self.sites.get(site) or self.new_site(site)

    def examples_of(self, site: str, config: CrawlConfig) -> list[ExamplePage]:
        """Return the example pages of a site, and those whose URL is not known."""
        return [page for page in config.examples if not page.url or self.site_of(page.url) == site]

    def site_of(self, url: str) -> str:
        """Return the site a URL belongs to: host with port, or registrable domain in scope ``domain``."""
        # By scheme and host: pages link to the same few over and over.
        end = url.find("/", len("https://")) if url.startswith(("http://", "https://")) else -1
        root = url[:end] if end > 0 else url
        host = _host_of_root(root) if len(root) <= _ROOT_CHARS else host_of(url)
        return self._domain_of(host) if self.config.scope == "domain" else host

    def site_of_ticket(self, raw: bytes) -> str:
        """Return the site whose model wrote a ticket; empty if missing or foreign."""
        ticket = self.book.read(raw)
        return self.sites.host(ticket.site) if ticket is not None else ""

    def fetch_of(self, event: PageFetched) -> Fetch:
        """Return a fetch, its event without session ids, as its site takes it in."""
        ticket, page = self.book.read(event.ticket), event.features
        is_own = ticket is not None and self.sites.host(ticket.site) == event.site
        requested = hash_of(event.requested_key)
        fetch = Fetch(
            seq=self.seq,
            url=event.url,
            key=requested,
            requested=requested,
            requested_key=event.requested_key,
            source=ticket.source if ticket and is_own else 0,
            link_path=ticket.link_path if ticket and is_own else UNKNOWN_LINK_PATH,
            depth=ticket.depth if ticket else None,
            seed=self.config.seed,
            now_s=event.now_s,
            status_code=event.status_code,
        )
        if page is not None:
            site_of = None if self.config.scope == "any" else self.site_of
            fetch.features, fetch.key = page, hash_of(page.key)
            fetch.canonical = hash_of(page.canonical_key or page.key)
            links = page.links
            fetch.link_keys = hash_of.of_all(links.keys)
            asked = event.site if site_of is None else site_of(event.requested_key)
            if ticket is None or asked == event.site or self._domain_of(asked) == self._domain_of(event.site):
                fetch.in_scope = rows_in_scope(links.urls, event.site, site_of)
            if asked != event.site:
                fetch.back = rows_in_scope(links.urls, asked, site_of)
            if self.config.reads_layout:
                fetch.page_links = find_page_links(page.url, links.urls, links.anchors)
        return fetch

    def apply(self, seq: int, event: Event, learned: LearnedSite | None = None) -> Outcome:
        """Apply one event that is no repeat and return its outcome; nothing else changes the crawl.

        The same events give the same state, whatever the time, load or queries between. `learned`: what a
        `ModelActivated` holds as values, where somebody has it as it was learned.
        """
        self.seq = seq
        if event_id := repeat_id(event):
            self.event_ids[event_id] = None
            drop_oldest(self.event_ids, MAX_EVENT_IDS)
        try:
            match event:
                case PageFetched():
                    return self._page(event)
                case FeedbackGiven():
                    return self._feedback(event)
                case LearningRequested():
                    return self._request_learning(event.site)
                case BrowseBatchImported():
                    return self.ledger.take(event)
                case ChangesNotified():
                    return self._tell(event)
                case ModelActivated() if event.site in self.sites:  # of others nothing is learned
                    known = learned or LearnedSite.from_state(event.learned, self.config.learning)
                    self.sites.writable(event.site).activate(known)
                case LearningFailed() if event.site in self.sites:
                    model = self.sites.writable(event.site).model
                    if model.learning_since == event.built_from_seq:
                        model.learning_since = 0
                case LogsMined():
                    self.sites.writable(event.site).mined(from_state(MinedSite, event.mined))
                case ConfigChanged():
                    self._reconfigure(CrawlConfig.from_state(event.config))
            return None
        finally:
            self.sites.event_applied()

    def _tell(self, event: ChangesNotified) -> list[int]:
        """Take in a notice; nothing if the site or the setting is gone meanwhile."""
        shard = self.sites.writable(event.site) if event.site in self.sites else None
        if shard is None or shard.revisitor is None:
            return []
        revisits, keys = shard.revisitor, [key_of(url, shard.model) for url in event.urls]
        if event.dates:
            revisits.listed(zip(keys, event.dates, strict=True), event.time)
            return []
        return [revisits.notified(key, event.time) for key in keys]

    def take_jobs(self) -> list[LearningJob]:
        """Return the learnings that became due since the last call; run them beside the request path."""
        jobs, self.jobs = self.jobs, []
        return jobs

    def answer_again(self, event: Event) -> Outcome:
        """Return the outcome of an event that was applied before: as of `apply`, and nothing changes."""
        if not isinstance(event, PageFetched):
            return False
        shard = self.known_or_new(event.site)
        fetch = self.fetch_of(strip_session_ids(event, shard.model.sessions))
        links = shard.score_page(fetch, self.book, is_spent=self.is_spent)
        outcome = self._outcome(event, shard, links)
        outcome.duplicate = True
        return outcome

    def _page(self, event: PageFetched) -> PageOutcome:
        shard = self.sites.writable(event.site)
        model, found = shard.model, event.features
        event = strip_session_ids(event, model.sessions)
        fetch = self.fetch_of(event)
        if shard.limits.respect is not None and shard.limits.respect.notice(event):
            return self._outcome(event, shard)  # to policies it is no page
        counts = not (self.config.tells_other_sites and self.redirecting_site(event))
        self.pages += counts
        if (revisits := shard.revisitor) is not None and fetch.not_modified:
            if shard.limits.budget is not None:  # to policies that is no fetch, but it costs what one costs
                shard.limits.budget.spend(event)
            self._spend(event, shard)
            outcome = self._outcome(event, shard)
            page = model.aliases.get(fetch.requested, fetch.requested)
            outcome.revisit = revisits.unchanged(page, fetch.now_s)
            return outcome
        observation = shard.observe(fetch)
        if shard.limits.is_set:
            shard.limits.observe(event, observation, model, counts=counts)
            self._spend(event, shard, counts=counts)
        if found is not None:
            model.sessions.observe(found.url, picking(fetch.in_scope)(found.links.urls))
        job = model.due_job(self.seq)
        if job is not None:
            self.jobs.append(job)
        links = shard.score_page(fetch, self.book, is_spent=self.is_spent, seen=observation)
        if found is not None and links.verdicts is not None:
            shard.skipped.note(event.url, found.links.urls, links)
        return self._outcome(event, shard, links, observation)

    def redirecting_site(self, event: PageFetched) -> str:
        """Return the other site that redirected to a page, where a fetch counts; empty if there is none.

        That one hears of it by an event of its own: of several groups it may be in another process.
        """
        asked = self.site_of(event.requested_key)
        return asked if asked != event.site else ""

    def _spend(self, event: PageFetched, shard: SiteShard, *, counts: bool = True) -> None:
        """Take a fetch from the budget, which its site knows already."""
        if self.budget is not None:
            if counts:
                self.budget.spend(event)
            self.budget.site_stops(event.site, shard.stop())
            self._turn()

    def _turn(self) -> None:
        """Note if the crawl as a whole stops, or goes on, from this event on."""
        if (self.budget is not None and self.budget.spent is not None) != len(self._turns) % 2:
            self._turns.append(self.seq)

    @property
    def is_spent(self) -> bool:
        """Whether the crawl as a whole stops."""
        return self.spent_at(self.seq)

    def _outcome(
        self,
        event: PageFetched,
        shard: SiteShard,
        links: ScoredLinks | None = None,
        observation: PageObservation | None = None,
    ) -> PageOutcome:
        model, served, respect = shard.model, shard.served, shard.limits.respect
        outcome = PageOutcome(
            seq=self.seq,
            site=event.site,
            duplicate=False,
            observation=observation,
            stage=model.stage,
            policy=shard.order.name,
            links=links or ScoredLinks(np.zeros(0)),
            learning=model.learning_since > 0,
            standing=self.standing(shard) if self.budget is not None else None,
            reserved=sorted(respect.reserved(event)) if respect is not None else [],
        )
        if observation is not None:
            outcome.note = served.page_note(observation, model)
            outcome.revisit = observation.revisit
        return outcome

    def standing(self, shard: SiteShard | None = None) -> Standing:
        """Return whether the crawl and a site go on; with a site one of several groups knows that alone."""
        standing = Standing(spent=self.is_spent)
        if self.budget is not None:
            standing.fetches_left = self.budget.fetches_left()
            if shard is None or self.config.groups == 1:
                standing.crawl = self.budget.stop(len(self.sites))
        if shard is not None:
            standing.site = shard.stop()
            standing.coverage = shard.limits.budget.coverage() if shard.limits.budget is not None else None
        return standing

    def _feedback(self, event: FeedbackGiven) -> bool:
        self.feedbacks += 1
        shard = self.sites.writable(event.site)
        identity = shard.model.sessions.strip(event.key)
        key = hash_of(identity) if identity else 0
        contexts = shard.model.memory.contexts(key)
        ticket = self.book.read(event.ticket)
        if ticket is not None and ticket.link_path not in (
            UNKNOWN_LINK_PATH,
            *(link_path for _, link_path in contexts),
        ):
            contexts.append((ticket.source, ticket.link_path))
        pattern, page = shard.model.pattern_of(key, identity), shard.model.aliases.get(key, key)
        shard.feedback(FeedbackObservation(self.seq, page, identity, pattern, contexts, event.reward))
        return True

    def _request_learning(self, site: str) -> int:
        self.shard(site)
        model = self.sites.writable(site).model
        job = model.due_job(self.seq, force=True)
        if job is not None:
            self.jobs.append(job)
        return model.learning_since

    def _reconfigure(self, config: CrawlConfig) -> None:
        self._configure(config)
        self.crawl_wide.configure(config)
        self.sites.reconfigure(config)
        self._set_budget(config)
        if self.budget is not None:
            for site in list(self.budget.stopped):
                self.budget.site_stops(site, self.sites[site].stop())
        self._turn()

    def _configure_site(self, shard: SiteShard, config: CrawlConfig) -> None:
        shard.configure(config, self.examples_of(shard.model.name, config))

    def to_state(self) -> dict[str, Any]:
        """Return the crawl as plain values, those of sites that are not in memory too."""
        config, ids = self.config.to_state(), list(self.event_ids)
        return {"config": config, "event_ids": ids, **self.own_state(), "sites": self.sites.to_state()}

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the crawl of `to_state`; learnings that were running are due again.

        Raises `CorruptState` if a field is missing or malformed.
        """
        with reading_state(f"crawl {self.config.name}"):
            self.load_own(state, CrawlConfig.from_state(state["config"]), state["event_ids"])
            self.sites.reconfigure(self.config)
            self.sites.load_state(state["sites"])

    def own_state(self) -> dict[str, Any]:
        """Return what is of no site and changes with each event, as plain values."""
        return {
            "counts": [self.seq, self.pages, self.feedbacks],
            "turns": self._turns,
            "browse": self.ledger.to_state(),
            "crawl_wide": self.crawl_wide.to_state(),
            "budget": self.budget.to_state() if self.budget is not None else None,
        }

    def load_own(self, state: dict[str, Any], config: CrawlConfig, event_ids: Iterable[str]) -> None:
        """Take over what is of no site: `own_state` under a configuration, after events of these ids."""
        self._configure(config)
        self.seq, self.pages, self.feedbacks = state["counts"]
        self._turns = list(state["turns"])
        self.event_ids = OrderedDict.fromkeys(event_ids)
        self.ledger.load_state(state["browse"])
        self.crawl_wide = CrawlWide(self.config)
        self.crawl_wide.load_state(state["crawl_wide"])
        self._set_budget(config)
        if self.budget is not None and state["budget"] is not None:
            self.budget.load_state(state["budget"])

    def _set_budget(self, config: CrawlConfig) -> None:
        """Take over the bounds of a configuration; what was counted before counts on."""
        self.budget = (self.budget or CrawlBudget()) if BUDGET in config.limits else None
        if self.budget is not None:
            self.budget.budget = Budget(**(config.limits[BUDGET] or {}))

    def _configure(self, config: CrawlConfig) -> None:
        if config.ticket_scope != self.config.ticket_scope:
            self.book = TicketBook(self._ticket_key, config.ticket_scope)
        self.config = config
