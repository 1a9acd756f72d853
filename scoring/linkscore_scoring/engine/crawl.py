"""A crawl: sites, policies and counters, changed by events only. One writer, no locks."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from linkscore_scoring.browse_logs.mined import MinedSite
from linkscore_scoring.engine.browse_ledger import BrowseLedger
from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl_wide import CrawlWide
from linkscore_scoring.engine.events import (
    BrowseBatchImported,
    ConfigChanged,
    Event,
    FeedbackGiven,
    LearningFailed,
    LearningRequested,
    LogsMined,
    ModelActivated,
    PageFetched,
)
from linkscore_scoring.engine.link_batches import hash_of
from linkscore_scoring.engine.queries import CrawlQuestions
from linkscore_scoring.engine.results import PageOutcome, ScoredLinks
from linkscore_scoring.engine.shard import SiteShard
from linkscore_scoring.engine.strip_session_ids import session_free
from linkscore_scoring.errors import reading_state
from linkscore_scoring.policies import capabilities
from linkscore_scoring.site.learning import LearnedSite, LearningJob
from linkscore_scoring.state import from_state
from linkscore_scoring.types import UNKNOWN_APATH, FeedbackObservation, PageObservation, Suggestion

MAX_EVENT_IDS = 100_000
MAX_SITES = 10_000
_SUGGESTIONS = 4


class CrawlModel(CrawlQuestions):
    """The state of one crawl: events in (`apply`), answers out (`CrawlQuestions`).

    Parameters are those of `CrawlSites`.
    """

    def __init__(
        self, config: CrawlConfig, *, ticket_key: bytes, domain_of: Callable[[str], str] | None = None
    ) -> None:
        super().__init__(config, ticket_key=ticket_key, domain_of=domain_of)
        self.pages = self.feedbacks = 0
        self.jobs: list[LearningJob] = []
        self._event_ids: OrderedDict[str, None] = OrderedDict()
        self.ledger = BrowseLedger()

    def apply(self, seq: int, event: Event) -> Any:
        """Apply one event and return its outcome.

        That is a `PageOutcome`, whether feedback or a batch of browse logs was new, the event number at
        which the learning asked for started, else None.

        Deterministic: the same events give the same state, whatever the time, machine load or interleaved
        questions.
        """
        self.seq = seq
        match event:
            case PageFetched():
                return self._page(seq, event)
            case FeedbackGiven():
                return self._feedback(seq, event)
            case LearningRequested():
                return self._request_learning(seq, event.site)
            case ModelActivated():
                return self.activate(event.site, LearnedSite.from_state(event.learned, self.config.learning))
            case LearningFailed():
                return self._give_up_learning(event)
            case LogsMined():
                return self._shard(event.site).mined(from_state(MinedSite, event.mined))
            case BrowseBatchImported():
                return self.ledger.take(event)
            case ConfigChanged():
                return self._reconfigure(CrawlConfig.from_state(event.config))

    def activate(self, site: str, learned: LearnedSite) -> None:
        """Make a learned model active; a site that was dropped meanwhile is left alone."""
        if site in self.sites:
            self.sites[site].activate(learned)

    def take_jobs(self) -> list[LearningJob]:
        """Return the learnings that became due since the last call; run them beside the request path."""
        jobs, self.jobs = self.jobs, []
        return jobs

    def is_known(self, event_id: str) -> bool:
        """Say whether an event of this id was applied within the window of the last 100,000."""
        return event_id in self._event_ids

    def _page(self, seq: int, event: PageFetched) -> PageOutcome:
        shard = self._shard(event.site)
        found, event = event.features, session_free(event, shard.model.sessions)
        fetch = self._fetch(seq, event)
        if not self._is_new(event.event_id):
            return self._outcome(seq, event, shard, self.score_page(event), None)
        self.pages += 1
        relearned = capabilities.relearned(shard.served)
        observation = shard.observe(fetch)
        if found is not None:
            shard.model.sessions.see(found.url, [found.links.urls[row] for row in fetch.in_scope])
        job = shard.model.due_job(seq)
        if job is not None:
            self.jobs.append(job)
        links = self._score_page(shard, shard.served, event, fetch, observation.depth, observation.cluster)
        shard.handed_out(dict.fromkeys(links.scores.tolist()))
        outcome = self._outcome(seq, event, shard, links, observation)
        outcome.relearned = capabilities.relearned(shard.served) - relearned
        self._add_rescored(outcome, shard)
        return outcome

    def _outcome(
        self,
        seq: int,
        event: PageFetched,
        shard: SiteShard,
        links: ScoredLinks,
        observation: PageObservation | None,
    ) -> PageOutcome:
        return PageOutcome(
            seq=seq,
            site=event.site,
            duplicate=observation is None,
            observation=observation,
            stage=shard.model.stage,
            revision=shard.model.revision,
            policy=shard.served.name,
            links=links,
            suggestions=self._suggestions(event.site, shard),
            learning=shard.model.learning_since > 0,
            thread_id=capabilities.thread_of(shard.served, observation, shard.model) if observation else "",
            page_type=capabilities.page_type_of(shard.served, observation, shard.model) if observation else 0,
        )

    def _suggestions(self, site: str, shard: SiteShard) -> list[Suggestion]:
        if shard.served.needs_learning:
            return self.fetch_plan(site, _SUGGESTIONS)
        return capabilities.suggest_fetches(shard.served, _SUGGESTIONS, shard.model)

    def _add_rescored(self, outcome: PageOutcome, shard: SiteShard) -> None:
        """Add what the page changed elsewhere, for policies whose values move per URL."""
        if not (found := capabilities.rescored(shard.served, shard.model)):
            return
        outcome.rescored_urls = [url for _, url in found]
        outcome.rescored = self._score_known(shard, shard.served, found)
        shard.handed_out(dict.fromkeys(outcome.rescored.scores.tolist()))

    def _feedback(self, seq: int, event: FeedbackGiven) -> bool:
        if not self._is_new(event.event_id and f"feedback {event.event_id}"):
            return False
        self.feedbacks += 1
        shard = self._shard(event.site)
        identity = shard.model.sessions.strip(event.key)
        key = hash_of(identity) if identity else 0
        contexts = shard.model.memory.contexts(key)
        ticket = self._book.read(event.ticket)
        if ticket is not None and ticket.apath not in (UNKNOWN_APATH, *(apath for _, apath in contexts)):
            contexts.append((ticket.source, ticket.apath))
        pattern, page = shard.model.pattern_of(key, identity), shard.model.aliases.get(key, key)
        shard.feedback(FeedbackObservation(seq, page, identity, pattern, contexts, event.reward))
        return True

    def _request_learning(self, seq: int, site: str) -> int:
        model = self.shard(site).model
        job = model.due_job(seq, force=True)
        if job is not None:
            self.jobs.append(job)
        return model.learning_since

    def _give_up_learning(self, event: LearningFailed) -> None:
        shard = self.sites.get(event.site)
        if shard is not None and shard.model.learning_since == event.built_from_seq:
            shard.model.learning_since = 0

    def _reconfigure(self, config: CrawlConfig) -> None:
        self.config = config
        self.crawl_wide.configure(config)
        for shard in self.sites.values():
            shard.configure(config, self.examples_of(shard.model.name))

    def _is_new(self, event_id: str) -> bool:
        if event_id and event_id in self._event_ids:
            return False
        if event_id:
            self._event_ids[event_id] = None
            if len(self._event_ids) > MAX_EVENT_IDS:
                self._event_ids.popitem(last=False)
        return True

    def _shard(self, site: str) -> SiteShard:
        shard = self.sites.get(site)
        if shard is None:
            shard = self.sites[site] = self.stranger(site)
            self._hosts[hash_of(site)] = site
            if len(self.sites) > MAX_SITES:
                dropped, _ = self.sites.popitem(last=False)
                self._hosts.pop(hash_of(dropped), None)
        self.sites.move_to_end(site)
        return shard

    def to_state(self) -> dict[str, Any]:
        """Return the crawl as plain values."""
        return {
            "config": self.config.to_state(),
            "counts": [self.seq, self.pages, self.feedbacks],
            "event_ids": list(self._event_ids),
            "browse": self.ledger.to_state(),
            "crawl_wide": self.crawl_wide.to_state(),
            "sites": [[name, shard.to_state()] for name, shard in self.sites.items()],
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the crawl of `to_state`; learnings that were running are due again.

        Raises
        ------
        CorruptState
            If a field is missing or malformed.
        """
        with reading_state(f"crawl {self.config.name}"):
            self.config = CrawlConfig.from_state(state["config"])
            self.seq, self.pages, self.feedbacks = state["counts"]
            self._event_ids = OrderedDict.fromkeys(state["event_ids"])
            self.ledger.load_state(state["browse"])
            self.crawl_wide = CrawlWide(self.config)
            self.crawl_wide.load_state(state["crawl_wide"])
            for name, shard in state["sites"]:
                self._shard(name).load_state(shard)

    def unfinished_jobs(self) -> list[LearningJob]:
        """Return the learnings that were running when the log ended."""
        return [shard.model.job() for shard in self.sites.values() if shard.model.learning_since]
