"""All that is known of one site. Written by one thread, event by event; policies only read it."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from linkscore_scoring.errors import CorruptState
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.site.apaths import ApathTable
from linkscore_scoring.site.config import LearningConfig, SiteBounds
from linkscore_scoring.site.identity import ClusterIdentities
from linkscore_scoring.site.learning import LearnedSite, LearningJob, SampledPage, navigation_params, observe_page_links
from linkscore_scoring.site.links import (
    UNKNOWN_APATH,
    UNKNOWN_CLUSTER,
    PageObservation,
    links_of_page,
)
from linkscore_scoring.site.memory import NOT_FETCHED, LinkMemory
from linkscore_scoring.site.navigation import NavigationTable
from linkscore_scoring.site.novelty import BlockMemory
from linkscore_scoring.site.sampling import SamplingPlan
from linkscore_scoring.site.schedule import LearningSchedule
from linkscore_scoring.site.templates import TemplateModel

_PLANNED_AHEAD = 1_000


class Stage(IntEnum):
    """How far a site is learned; numbers as in the wire contract."""

    SAMPLING = 1
    LEARNING = 2
    READY = 3


@dataclass(frozen=True, slots=True)
class Fetch:
    """One fetch, as the engine hands it over.

    Attributes
    ----------
    seq
        Sequence number of the event.
    key, requested
        Identity hashes of the final and of the requested URL (equal without redirect).
    features
        Features of the page, None if no usable page came back.
    link_keys
        Identity hash of every link of `features`.
    in_scope
        Rows of the links that belong to the crawl.
    source, apath, depth
        Context from the ticket: hash of the linking page (0 if unknown), Apath id, clicks (None if unknown).
    seed
        Seed of the crawl, for the draws of the sampling plan.
    """

    seq: int
    url: str
    key: int
    requested: int
    features: PageFeatures | None
    link_keys: Sequence[int]
    in_scope: Sequence[int]
    source: int = 0
    apath: int = UNKNOWN_APATH
    depth: int | None = None
    seed: int = 0


class SiteModel:
    """Templates, navigation, novelty and memory of one site.

    Attributes
    ----------
    name
        Host with port, or registrable domain.
    stage, revision
        How far it is learned, and how many models were activated.
    apaths, memory, blocks
        Apaths by id; URLs seen and fetched; text seen.
    templates, navigation
        Active model; None and an empty table before the first learning.
    crawled
        Pages fetched by persistent cluster since the first learning, sample included.
    plan
        Links worth fetching to learn the site; kept until it is learned.
    """

    def __init__(self, name: str, learning: LearningConfig, bounds: SiteBounds) -> None:
        self.name = name
        self.learning = learning
        self.bounds = bounds
        self.revision = 0
        self.pages = self.failed = self.duplicates = 0
        self.apaths = ApathTable(max_apaths=bounds.apaths)
        self.memory = LinkMemory(max_links=bounds.links, max_contexts=bounds.contexts)
        self.blocks = BlockMemory(max_blocks=bounds.blocks)
        self.navigation = NavigationTable(navigation_params(learning))
        self.templates: TemplateModel | None = None
        self.identities = ClusterIdentities()
        self.crawled: Counter[int] = Counter()
        self.sample: deque[SampledPage] = deque(maxlen=learning.max_sample_pages)
        self.aliases: dict[int, int] = {}
        self.schedule = LearningSchedule.starting_at(learning.sample_pages, learning.max_sample_pages)
        self.plan = SamplingPlan(max_urls=20_000, max_seen=50_000)
        self.planned: dict[int, str] = {}
        self.learning_since = 0

    @property
    def stage(self) -> Stage:
        """How far the site is learned."""
        if self.templates is not None:
            return Stage.READY
        return Stage.LEARNING if self.learning_since else Stage.SAMPLING

    def observe(self, fetch: Fetch) -> PageObservation:
        """Take in one fetch; cost O(links + paths) plus a classification once the site is learned."""
        self.pages += 1
        contexts = self._contexts(fetch)
        depth = self._depth(fetch)
        cluster = self._cluster(fetch)
        refetch = self._remember(fetch, depth, cluster)
        if fetch.features is None:
            self.failed += 1
            return self._failed(fetch, depth, refetch, contexts)
        page = self._read(fetch, fetch.features, depth, cluster, refetch, contexts)
        if not refetch:
            self._learn_from(fetch, fetch.features, cluster, contexts, page)
        return page

    def due_job(self, seq: int, *, force: bool = False) -> LearningJob | None:
        """Return the learning that is due now, if any and none is running; marks it as running."""
        if self.learning_since or not self.sample or not (force or self.schedule.is_due(len(self.sample))):
            return None
        self.schedule.started()
        self.learning_since = seq
        return self.job()

    def job(self) -> LearningJob:
        """Return the learning that is running, from the sample as it stands."""
        return LearningJob(
            self.name,
            self.learning_since,
            list(self.sample),
            self.learning,
            self.templates,
            self.identities,
            dict(self.aliases),
        )

    def activate(self, learned: LearnedSite) -> None:
        """Make a learned model the active one, and catch up with the pages that came since it was started."""
        first = self.templates is None
        self.templates, self.navigation, self.identities = learned.templates, learned.navigation, learned.identities
        self.revision += 1
        self.learning_since = 0
        self.memory.relabel((p.hash, learned.templates.sample.get(p.key, UNKNOWN_CLUSTER)) for p in self.sample)
        if first:
            self.crawled.update(learned.templates.sample.values())
            self.plan = SamplingPlan()
            self.planned = {}
        for page in [p for p in self.sample if p.key not in learned.templates.sample]:
            cluster = int(learned.templates.classify([page.paths])[0])
            self.memory.relabel([(page.hash, cluster)])
            self.crawled[cluster] += first
            self._navigate(page, cluster, self.memory.contexts(page.hash))

    def cluster_of(self, page: int, *, default: int = UNKNOWN_CLUSTER) -> int:
        """Return the cluster of a fetched page by identity hash; `default` if it was not fetched or is forgotten."""
        cluster = self.memory.cluster(page)
        return default if cluster in (NOT_FETCHED, UNKNOWN_CLUSTER) else cluster

    def _contexts(self, fetch: Fetch) -> list[tuple[int, int]]:
        found = self.memory.contexts(fetch.requested)
        ticket = (fetch.source, fetch.apath)
        if fetch.apath != UNKNOWN_APATH and all(fetch.apath != apath for _, apath in found):
            found.append(ticket)
        return found

    def _depth(self, fetch: Fetch) -> int:
        known = self.memory.depth(fetch.requested)
        candidates = [d for d in (known, fetch.depth) if d is not None]
        return min(candidates, default=0)

    def _cluster(self, fetch: Fetch) -> int:
        if fetch.features is None or self.templates is None or not fetch.features.paths.parents:
            return UNKNOWN_CLUSTER
        cluster = int(self.templates.classify([fetch.features.paths])[0])
        self.schedule.classify(outlier=cluster < 0)
        return cluster

    def _remember(self, fetch: Fetch, depth: int, cluster: int) -> bool:
        refetch = self.memory.fetched(fetch.key, depth=depth, cluster=cluster)
        if fetch.requested != fetch.key:
            self.memory.fetched(fetch.requested, depth=depth, cluster=cluster)
            if len(self.aliases) < self.bounds.links:
                self.aliases[fetch.requested] = fetch.key
        for key in (fetch.requested, fetch.key):
            if (url := self.planned.pop(key, None)) is not None:
                self.plan.mark_fetched([url])
        return refetch

    def _failed(
        self, fetch: Fetch, depth: int, refetch: bool, contexts: list[tuple[int, int]]
    ) -> PageObservation:
        none = links_of_page([], [], [], [], source=UNKNOWN_CLUSTER, depth=depth + 1)
        apaths = [apath for _, apath in contexts]
        return PageObservation(
            fetch.seq, fetch.key, fetch.url, depth, UNKNOWN_CLUSTER, True, refetch, apaths, 0, 0, 0, 0, True, none, []
        )

    def _read(
        self,
        fetch: Fetch,
        features: PageFeatures,
        depth: int,
        cluster: int,
        refetch: bool,
        contexts: list[tuple[int, int]],
    ) -> PageObservation:
        links, rows = features.links, fetch.in_scope
        ids = [self.apaths.intern(raw).id for raw in links.apath_table]
        keys = [fetch.link_keys[i] for i in rows]
        apaths = [ids[links.apaths[i]] for i in rows]
        batch = links_of_page(
            [links.urls[i] for i in rows],
            keys,
            apaths,
            [links.anchors[i] for i in rows],
            source=cluster,
            depth=depth + 1,
        )
        fresh = self.memory.see(fetch.key, depth + 1, keys, apaths)
        novel = self.blocks.see(features.block_hashes, features.block_chars)
        long_chars = sum(features.block_chars)
        self.duplicates += bool(long_chars and not novel)
        return PageObservation(
            seq=fetch.seq,
            key=fetch.key,
            url=fetch.url,
            depth=depth,
            cluster=cluster,
            failed=False,
            refetch=refetch,
            contexts=[apath for _, apath in contexts],
            long_chars=long_chars,
            novel_chars=novel,
            text_chars=features.text_chars,
            anchor_chars=features.anchor_chars,
            canonical=features.canonical_key in ("", features.key),
            links=batch,
            fresh=fresh,
        )

    def _learn_from(
        self,
        fetch: Fetch,
        features: PageFeatures,
        cluster: int,
        contexts: list[tuple[int, int]],
        page: PageObservation,
    ) -> None:
        if not features.paths.parents:
            return
        distinct = dict.fromkeys(zip(page.links.apaths, page.links.keys, strict=True))
        links = [(apath, self.apaths.get(apath).classless, key) for apath, key in distinct]
        sampled = SampledPage(fetch.seq, features.key, fetch.key, features.paths, links)
        self.sample.append(sampled)
        if self.templates is None:
            self._plan(fetch, features, page)
        else:
            self.crawled[cluster] += 1
            self._navigate(sampled, cluster, contexts)

    def _navigate(self, page: SampledPage, cluster: int, contexts: list[tuple[int, int]]) -> None:
        """Let the navigation table learn from a crawled page: its links, and the ways that led to it."""
        if self.navigation.frozen:
            return
        observe_page_links(self.navigation, cluster, page.links)
        for source, apath in contexts:
            origin = self.cluster_of(source)
            if origin != UNKNOWN_CLUSTER:
                self.navigation.observe_destination(origin, apath, self.apaths.get(apath).classless, cluster)

    def _plan(self, fetch: Fetch, features: PageFeatures, page: PageObservation) -> None:
        by_apath: dict[int, list[str]] = defaultdict(list)
        for row, apath in zip(fetch.in_scope, page.links.apaths, strict=True):
            by_apath[apath].append(features.links.keys[row])
        rng = np.random.default_rng([fetch.seed, fetch.seq])
        before = len(self.plan)
        self.plan.add_page(features.key, by_apath, rng)
        hashes = dict(zip((features.links.keys[row] for row in fetch.in_scope), page.links.keys, strict=True))
        for planned in self.plan.added(before):
            if len(self.planned) < _PLANNED_AHEAD and planned.url in hashes:
                self.planned[hashes[planned.url]] = planned.url

    def to_state(self) -> dict[str, Any]:
        """Return the model as plain values."""
        return {
            "revision": self.revision,
            "counts": [self.pages, self.failed, self.duplicates],
            "apaths": self.apaths.to_state(),
            "memory": self.memory.to_state(),
            "blocks": self.blocks.to_state(),
            "navigation": self.navigation.to_state(),
            "templates": self.templates.to_state() if self.templates else None,
            "identities": asdict(self.identities),
            "crawled": list(self.crawled.items()),
            "sample": [page.to_state() for page in self.sample],
            "aliases": list(self.aliases.items()),
            "schedule": self.schedule.to_state(),
            "plan": self.plan.to_state(),
            "planned": list(self.planned.items()),
            "learning_since": self.learning_since,
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the model of `to_state`.

        Raises
        ------
        CorruptState
            If a field is missing or malformed.
        """
        try:
            self.revision = int(state["revision"])
            self.pages, self.failed, self.duplicates = state["counts"]
            self.apaths.load_state(state["apaths"])
            self.memory.load_state(state["memory"])
            self.blocks.load_state(state["blocks"])
            self.navigation = NavigationTable.from_state(state["navigation"], navigation_params(self.learning))
            self.templates = TemplateModel.from_state(state["templates"]) if state["templates"] else None
            self.identities = ClusterIdentities(**state["identities"])
            self.crawled = Counter(dict(state["crawled"]))
            self.sample.extend(map(SampledPage.from_state, state["sample"]))
            self.aliases = dict(state["aliases"])
            self.schedule = LearningSchedule.from_state(state["schedule"])
            self.plan = SamplingPlan.from_state(state["plan"], max_urls=20_000, max_seen=50_000)
            self.planned = dict(state["planned"])
            self.learning_since = int(state["learning_since"])
        except (KeyError, TypeError, ValueError) as exc:
            raise CorruptState(f"site {self.name}: missing or malformed field {exc}") from exc
