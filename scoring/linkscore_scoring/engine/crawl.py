"""A crawl: sites, policies and counters, changed by events only. One writer, no locks."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.encodings import encoding
from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.events import (
    ConfigChanged,
    Event,
    FeedbackGiven,
    LearningFailed,
    LearningRequested,
    ModelActivated,
    PageFetched,
)
from linkscore_scoring.engine.results import LinkExplained, PageOutcome, ScoredLinks, Suggestion, indexed
from linkscore_scoring.engine.shard import SiteShard
from linkscore_scoring.engine.tickets import NO_TICKET, Ticket, TicketBook
from linkscore_scoring.errors import CorruptState, NotFound, NotLearned
from linkscore_scoring.features.hashing import hash64
from linkscore_scoring.features.urls import host_of
from linkscore_scoring.policies.base import Policy
from linkscore_scoring.site.learning import LearnedSite, LearningJob
from linkscore_scoring.site.links import (
    UNKNOWN_APATH,
    UNKNOWN_CLUSTER,
    FeedbackObservation,
    LinkBatch,
    PageObservation,
    links_of_page,
)
from linkscore_scoring.site.model import Fetch, SiteModel, Stage

MAX_EVENT_IDS = 100_000
MAX_SITES = 10_000
_SUGGESTIONS = 4

hash_of = lru_cache(maxsize=1 << 18)(hash64)


class CrawlModel:
    """The state of one crawl and everything that can be asked of it.

    Parameters
    ----------
    config
        How the crawl is set up.
    ticket_key
        Secret for ticket MACs.
    domain_of
        Host -> registrable domain; used by crawls of scope ``domain`` only.
    """

    def __init__(
        self, config: CrawlConfig, *, ticket_key: bytes, domain_of: Callable[[str], str] | None = None
    ) -> None:
        self.config = config
        self.seq = 0
        self.pages = self.feedbacks = 0
        self.sites: OrderedDict[str, SiteShard] = OrderedDict()
        self.jobs: list[LearningJob] = []
        self._hosts: dict[int, str] = {}
        self._event_ids: OrderedDict[str, None] = OrderedDict()
        self._book = TicketBook(ticket_key, config.name)
        self._domain_of = domain_of or (lambda host: host)

    # Writing ------------------------------------------------------------------------------------------------

    def apply(self, seq: int, event: Event) -> Any:
        """Apply one event and return its outcome.

        That is a `PageOutcome`, whether feedback was new, the event number at which the learning asked for started,
        else None.

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
        fetch = self._fetch(seq, event)
        if not self._is_new(event.event_id):
            return self._outcome(seq, event, shard, self.score_page(event), None)
        self.pages += 1
        observation = shard.observe(fetch)
        job = shard.model.due_job(seq)
        if job is not None:
            self.jobs.append(job)
        links = self._score_page(shard, shard.served, event, fetch, observation.depth, observation.cluster)
        shard.scale_of(shard.served.name).update(set(links.scores.tolist()))
        return self._outcome(seq, event, shard, links, observation)

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
            suggestions=self.sample_plan(event.site, _SUGGESTIONS) if shard.served.needs_learning else [],
        )

    def _feedback(self, seq: int, event: FeedbackGiven) -> bool:
        if not self._is_new(event.event_id and f"feedback {event.event_id}"):
            return False
        self.feedbacks += 1
        shard = self._shard(event.site)
        key = hash_of(event.key) if event.key else 0
        contexts = shard.model.memory.contexts(key)
        ticket = self._book.read(event.ticket)
        if ticket is not None and ticket.apath not in (UNKNOWN_APATH, *(apath for _, apath in contexts)):
            contexts.append((ticket.source, ticket.apath))
        pattern = shard.model.pattern_of(key, event.key)
        shard.feedback(FeedbackObservation(seq, key, event.key, pattern, contexts, event.reward))
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
        for shard in self.sites.values():
            shard.configure(config)

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
            shard = self.sites[site] = SiteShard(
                SiteModel(site, self.config.learning, self.config.bounds), self.config
            )
            self._hosts[hash_of(site)] = site
            if len(self.sites) > MAX_SITES:
                dropped, _ = self.sites.popitem(last=False)
                self._hosts.pop(hash_of(dropped), None)
        self.sites.move_to_end(site)
        return shard

    # Reading ------------------------------------------------------------------------------------------------

    def shard(self, site: str) -> SiteShard:
        """Return a site.

        Raises
        ------
        NotFound
            If the crawl has no such site.
        """
        if site not in self.sites:
            raise NotFound(
                f"site {site!r}: not among the {len(self.sites)} sites of crawl {self.config.name!r}"
            )
        return self.sites[site]

    def site_of(self, url: str) -> str:
        """Return the site a URL belongs to: host with port, or registrable domain in scope ``domain``."""
        host = host_of(url)
        return self._domain_of(host) if self.config.scope == "domain" else host

    def site_of_ticket(self, raw: bytes) -> str:
        """Return the site whose model wrote a ticket; empty if missing, foreign or of a dropped site."""
        ticket = self._book.read(raw)
        return self._hosts.get(ticket.site, "") if ticket is not None else ""

    def classify(self, event: PageFetched) -> tuple[int, float, int, int]:
        """Return cluster, distance to the nearest one, stage and model revision of a page. Only reads."""
        shard = self.sites.get(event.site) or self._stranger(event.site)
        model = shard.model
        if model.templates is None or event.features is None or not event.features.paths.parents:
            return UNKNOWN_CLUSTER, 0.0, model.stage, model.revision
        cluster, distance = model.templates.nearest(event.features.paths)
        return cluster, distance, model.stage, model.revision

    def score_page(self, event: PageFetched, choice: PolicyChoice | None = None) -> ScoredLinks:
        """Score the links of a page that was applied before, with today's model; changes nothing."""
        shard = self.shard(event.site)
        fetch = self._fetch(self.seq, event)
        depth = shard.model.memory.depth(fetch.requested) or 0
        return self._score_page(
            shard, shard.policy(choice), event, fetch, depth, shard.model.cluster_of(fetch.key)
        )

    def score_links(
        self,
        urls: Sequence[str],
        keys: Sequence[str],
        tickets: Sequence[bytes],
        anchors: Sequence[str],
        *,
        choice: PolicyChoice | None = None,
        encode: str = "",
        require_learned: bool = False,
    ) -> ScoredLinks:
        """Score links from URL, identity and ticket; changes nothing. Cost O(n) plus the policy's.

        Raises
        ------
        NotLearned
            If `require_learned` is set, the policy needs a learned site and one is not.
        """
        found = ScoredLinks(
            np.zeros(len(urls)), priorities=np.zeros(len(urls)) if encode else None, stage=Stage.READY
        )
        buckets = [""] * len(urls)
        verdicts = [0] * len(urls)
        for shard, rows, batch in self._by_site(urls, keys, tickets, anchors):
            policy = shard.policy(choice)
            if require_learned and policy.needs_learning and shard.model.stage < Stage.READY:
                raise NotLearned(
                    f"site {shard.model.name!r} is {shard.model.stage.name}, {policy.name} needs it READY"
                )
            scored = policy.score(batch, shard.model)
            found.scores[rows] = scored.scores
            found.stage = min(found.stage, shard.model.stage)
            if found.priorities is not None:
                found.priorities[rows] = encoding(encode)(scored.scores, shard.scale_of(policy.name))
            for row, bucket in zip(rows, scored.buckets, strict=True):
                buckets[row] = f"{shard.model.name}/{bucket}"
            for row, verdict in zip(rows, scored.verdicts or (), strict=False):
                verdicts[row] = verdict
        found.bucket_names, found.buckets = indexed(buckets)
        found.verdicts = verdicts if any(verdicts) else None
        return found

    def rank_buckets(
        self, buckets: Sequence[str], choice: PolicyChoice | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the order of buckets, best first (ties as given), and the value of each bucket given.

        Buckets of sites that are not known are worth 0. Cost O(n log n) plus the policy's.
        """
        values = np.zeros(len(buckets))
        by_site: dict[str, list[int]] = {}
        for row, name in enumerate(buckets):
            by_site.setdefault(name.partition("/")[0], []).append(row)
        for site, rows in by_site.items():
            if (shard := self.sites.get(site)) is not None:
                local = [buckets[row].partition("/")[2] for row in rows]
                values[rows] = shard.policy(choice).value(local, shard.model)
        return np.argsort(-values, kind="stable"), values

    def explain(
        self,
        urls: Sequence[str],
        keys: Sequence[str],
        tickets: Sequence[bytes],
        anchors: Sequence[str],
        choice: PolicyChoice | None = None,
    ) -> list[LinkExplained]:
        """Say why links have their scores, in input order."""
        explained: list[LinkExplained | None] = [None] * len(urls)
        for shard, rows, batch in self._by_site(urls, keys, tickets, anchors):
            policy = shard.policy(choice)
            scored = policy.score(batch, shard.model)
            for i, (row, why) in enumerate(zip(rows, policy.explain(batch, shard.model), strict=True)):
                explained[row] = LinkExplained(
                    float(scored.scores[i]),
                    f"{shard.model.name}/{scored.buckets[i]}",
                    why,
                    batch.sources[i],
                    shard.model.apaths.get(batch.apaths[i]).raw,
                    shard.model.stage,
                )
        return [entry for entry in explained if entry is not None]

    def sample_plan(self, site: str, n: int) -> list[Suggestion]:
        """Return up to `n` pages that would teach most about a site that is not learned yet."""
        model = self.shard(site).model
        words = {
            "one_per_apath": "one link of each tag path of a page",
            "unused_link": "a link of a tag path seen before",
        }
        return [
            Suggestion(model.plan_urls[p.url], words[p.reason], 1.0 / (1.0 + i))
            for i, p in enumerate(model.plan.plan(n))
        ]

    def _by_site(
        self, urls: Sequence[str], keys: Sequence[str], tickets: Sequence[bytes], anchors: Sequence[str]
    ) -> list[tuple[SiteShard, list[int], LinkBatch]]:
        """Group links by the site whose model scores them: the ticket's, else that of the URL's host."""
        read = {raw: self._book.read(raw) or NO_TICKET for raw in set(tickets)}
        rows: dict[str, list[int]] = {}
        for row, url in enumerate(urls):
            site = self._hosts.get(read[tickets[row]].site) or self.site_of(url)
            rows.setdefault(site, []).append(row)
        return [
            (
                shard,
                of_site,
                self._batch(shard.model, of_site, urls, keys, [read[t] for t in tickets], anchors),
            )
            for site, of_site in rows.items()
            for shard in [self.sites.get(site) or self._stranger(site)]
        ]

    def _stranger(self, site: str) -> SiteShard:
        return SiteShard(SiteModel(site, self.config.learning, self.config.bounds), self.config)

    def _batch(
        self,
        model: SiteModel,
        rows: Sequence[int],
        urls: Sequence[str],
        keys: Sequence[str],
        tickets: Sequence[Ticket],
        anchors: Sequence[str],
    ) -> LinkBatch:
        hashes = [hash_of(keys[row]) for row in rows]
        known = [self._context(model, key, tickets[row]) for row, key in zip(rows, hashes, strict=True)]
        return LinkBatch(
            [urls[row] for row in rows],
            hashes,
            [apath for apath, _, _ in known],
            [source for _, source, _ in known],
            [depth for _, _, depth in known],
            model.patterns_of(hashes, [keys[row] for row in rows]),
            [anchors[row] for row in rows],
        )

    def _context(self, model: SiteModel, key: int, ticket: Ticket) -> tuple[int, int, int]:
        """Return Apath, source cluster and depth of a link: by its ticket, else remembered, else unknown."""
        if ticket is not NO_TICKET:
            return ticket.apath, model.cluster_of(ticket.source, default=ticket.cluster), ticket.depth
        for source, apath in model.memory.contexts(key):
            return apath, model.cluster_of(source), model.memory.depth(key) or 0
        return UNKNOWN_APATH, model.cluster_of(0), model.memory.depth(key) or 0

    def _fetch(self, seq: int, event: PageFetched) -> Fetch:
        features = event.features
        ticket = self._book.read(event.ticket) or NO_TICKET
        mine = ticket is not NO_TICKET and self._hosts.get(ticket.site) == event.site
        return Fetch(
            seq=seq,
            url=event.url,
            key=hash_of(features.key) if features else hash_of(event.requested_key),
            requested=hash_of(event.requested_key),
            requested_key=event.requested_key,
            canonical=hash_of(features.canonical_key or features.key) if features else 0,
            features=features,
            link_keys=[hash_of(key) for key in features.links.keys] if features else [],
            in_scope=self._in_scope(event) if features else [],
            source=ticket.source if mine else 0,
            apath=ticket.apath if mine else UNKNOWN_APATH,
            depth=None if ticket is NO_TICKET else ticket.depth,
            seed=self.config.seed,
        )

    def _in_scope(self, event: PageFetched) -> Sequence[int]:
        urls = event.features.links.urls if event.features else []
        if self.config.scope == "any":
            return [row for row, url in enumerate(urls) if url]
        roots: dict[str, bool] = {}
        rows = []
        for row, url in enumerate(urls):
            root = url[: url.find("/", 8)] if "/" in url[8:] else url
            if root not in roots:
                roots[root] = bool(root) and self.site_of(url) == event.site
            if roots[root]:
                rows.append(row)
        return rows

    def _score_page(
        self, shard: SiteShard, policy: Policy, event: PageFetched, fetch: Fetch, depth: int, cluster: int
    ) -> ScoredLinks:
        features, model = event.features, shard.model
        if features is None or not features.links.urls:
            return ScoredLinks(np.zeros(0))
        links = features.links
        ids = [model.apaths.intern(raw).id for raw in links.apath_table]
        batch = links_of_page(
            links.urls,
            fetch.link_keys,
            [ids[i] for i in links.apaths],
            model.patterns_of(fetch.link_keys, links.keys),
            links.anchors,
            source=cluster,
            depth=depth + 1,
        )
        scored = policy.score(batch, model)
        names, buckets = indexed(scored.buckets)
        site, revision = hash_of(event.site), model.revision
        values = [self._book.write(Ticket(site, fetch.key, id_, cluster, depth + 1, revision)) for id_ in ids]
        inside = set(fetch.in_scope) if len(fetch.in_scope) < len(links) else None
        return ScoredLinks(
            scored.scores,
            [f"{event.site}/{name}" for name in names],
            buckets,
            values,
            links.apaths,
            scored.verdicts,
            None if inside is None else [row in inside for row in range(len(links))],
            stage=model.stage,
        )

    # State --------------------------------------------------------------------------------------------------

    def to_state(self) -> dict[str, Any]:
        """Return the crawl as plain values."""
        return {
            "config": self.config.to_state(),
            "counts": [self.seq, self.pages, self.feedbacks],
            "event_ids": list(self._event_ids),
            "sites": [[name, shard.to_state()] for name, shard in self.sites.items()],
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the crawl of `to_state`; learnings that were running are due again.

        Raises
        ------
        CorruptState
            If a field is missing or malformed.
        """
        try:
            self.config = CrawlConfig.from_state(state["config"])
            self.seq, self.pages, self.feedbacks = state["counts"]
            self._event_ids = OrderedDict.fromkeys(state["event_ids"])
            for name, shard in state["sites"]:
                self._shard(name).load_state(shard)
        except (KeyError, TypeError, ValueError) as exc:
            raise CorruptState(f"crawl {self.config.name}: missing or malformed field {exc}") from exc

    def unfinished_jobs(self) -> list[LearningJob]:
        """Return the learnings that were running when the log ended."""
        return [shard.model.job() for shard in self.sites.values() if shard.model.learning_since]
