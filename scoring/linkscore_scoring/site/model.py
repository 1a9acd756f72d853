"""All that is known of one site. Written by one thread, event by event; policies only read it."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from linkscore_scoring.browse_logs.mining import MinedSite
from linkscore_scoring.clustering.templates import ClusterIdentities, TemplateModel
from linkscore_scoring.columns import picking
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.hashing import hash64
from linkscore_scoring.site.crawl_history import CrawlHistory, Group
from linkscore_scoring.site.learning import (
    DOUBLINGS,
    MAX_SAMPLE,
    LearnedSite,
    LearningConfig,
    LearningJob,
    LearningSchedule,
    SampledLink,
    SampledPage,
    SamplingPlan,
    SiteBounds,
)
from linkscore_scoring.site.memory import NOT_FETCHED, LinkMemory, LinkPathTable
from linkscore_scoring.site.navigation import NavigationTable
from linkscore_scoring.site.texts import THING_CHARS, TextOwners
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.types import (
    UNKNOWN_CLUSTER,
    UNKNOWN_LINK_PATH,
    FeedbackObservation,
    LinkBatch,
    PageObservation,
)
from linkscore_scoring.urls.pattern_tree import UrlPatternParams, UrlPatterns
from linkscore_scoring.urls.session_ids import SessionIds

NOT_MODIFIED = 304
"""HTTP status of a page that is as it was (RFC 9110, section 15.4.5)."""


@dataclass(slots=True)
class Fetch:
    """One fetch, as the engine hands it over.

    `seq`: sequence number of the event. `key`, `requested`, `canonical`: identity hashes of the final URL,
    of the requested one (equal without redirect), and of the canonical form the page names (`key` if none, 0
    without a page).
    `requested_key`: identity of the requested URL. `features`: features of the page, None if no usable page
    came back. `link_keys`: identity hash of every link of `features`. `in_scope`: rows of the links that
    belong to the crawl and are of this site; `back`: those that lead back to the site a redirect came from.
    `page_links`: kind of page link of every link of `features`, see `pagination.anchors`; empty unless the
    policy reads layouts. `source`, `link_path`, `depth`: context from the ticket: hash of the linking page
    (0 if unknown), link path id, clicks (None if unknown). `seed`: seed of the crawl, for the draws of the
    sampling plan. `now_s`, `status_code`: time of the fetch in seconds since the epoch, and its HTTP status,
    0 if there was no answer.
    """

    seq: int
    url: str
    key: int
    requested: int
    requested_key: str
    canonical: int = 0
    features: PageFeatures | None = None
    link_keys: Sequence[int] = ()
    in_scope: Sequence[int] = ()
    back: Sequence[int] = ()
    page_links: Sequence[int] = ()
    source: int = 0
    link_path: int = UNKNOWN_LINK_PATH
    depth: int | None = None
    seed: int = 0
    now_s: float = 0.0
    status_code: int = 0

    @property
    def not_modified(self) -> bool:
        """Whether the server said that the page is as it was."""
        return self.status_code == NOT_MODIFIED and self.features is None


_PATTERNS = UrlPatternParams(max_values=4)
"""Few literal values per slot: arms pool early (measured: research/notebook/harvest-unseen-sites.md)."""
_FETCHES, _GROUPS = 20_000, 5_000
"""Bounds of the history: fetches remembered one by one, histories of each kind."""


class Stage(IntEnum):
    """How far a site is learned; numbers as in the wire contract."""

    SAMPLING = 1
    LEARNING = 2
    READY = 3


class SiteModel(Stateful):
    """Templates, navigation, novelty and memory of one site.

    `name`: host with port, or registrable domain. `stage`, `revision`: how far it is learned, and how many
    models were activated. `link_paths`, `memory`, `texts`, `patterns`: link paths by id; URLs seen and
    fetched; text and whose it is; shapes of URLs. `history`: what fetches brought over time, by URL shape and
    tag path. `sessions`: what is known of session ids in URLs; whoever hands a fetch over shows it the links,
    and takes them out. `templates`, `navigation`: active model; None and an empty table before the first
    learning. `crawled`: pages fetched by persistent cluster since then, sample included. `plan`: links
    worth fetching to learn the site; kept until it is learned, where the policy reads templates. `browse`:
    what the browse logs of the site gave; None without logs. The crawl's to set: `navigates`: a policy reads
    templates and the navigation table, which learns from each page; else it is as of the latest learning.
    """

    revision: Stored[int]
    pages: Stored[int]
    failed: Stored[int]
    duplicates: Stored[int]
    link_paths: Stored[LinkPathTable]
    memory: Stored[LinkMemory]
    texts: Stored[TextOwners]
    patterns: Stored[UrlPatterns]
    history: Stored[CrawlHistory]
    sessions: Stored[SessionIds]
    navigation: Stored[NavigationTable]
    templates: Stored[TemplateModel | None]
    identities: Stored[ClusterIdentities]
    crawled: Stored[Counter[int]]
    sample: Stored[deque[SampledPage]]
    aliases: Stored[dict[int, int]]
    schedule: Stored[LearningSchedule]
    plan: Stored[SamplingPlan]
    learning_since: Stored[int]
    browse: Stored[MinedSite | None]

    def __init__(self, name: str, learning: LearningConfig, bounds: SiteBounds) -> None:
        self.name = name
        self.learning = learning
        self.navigates = True
        self.bounds = bounds
        self.link_paths = LinkPathTable(max_link_paths=bounds.apaths)
        self.memory = LinkMemory(max_links=bounds.links, max_contexts=bounds.contexts)
        self.texts = TextOwners(max_blocks=bounds.blocks)
        self.patterns = UrlPatterns(_PATTERNS)
        most = min(_FETCHES, bounds.links), min(_GROUPS, bounds.arms)
        self.history = CrawlHistory(max_fetches=most[0], max_groups=most[1])
        self.sessions = SessionIds()
        self.navigation = NavigationTable(paper=learning.paper)
        self.templates = None
        self.identities = ClusterIdentities()
        self.sample = deque(maxlen=MAX_SAMPLE)
        last = min(learning.sample_pages << DOUBLINGS, MAX_SAMPLE)
        self.schedule = LearningSchedule(learning.sample_pages, last)
        self.plan = SamplingPlan()
        self.browse = None

    @property
    def stage(self) -> Stage:
        """How far the site is learned."""
        if self.templates is not None:
            return Stage.READY
        return Stage.LEARNING if self.learning_since else Stage.SAMPLING

    def observe(self, fetch: Fetch) -> PageObservation:
        """Take in one fetch; cost O(links + paths) plus a classification once the site is learned.

        One step for each thing known of a site, in the order in which they need each other: the template
        before the memory, which keeps it; the history when it is known what the fetch brought.
        """
        self.pages += 1
        features = fetch.features
        page = self.recall(fetch)
        page.cluster = self._classify(features)
        page.refetch = self._remember_fetch(fetch, page)
        if features is None:
            self.failed += 1
        else:
            page.paths, page.is_copy = features.paths, fetch.canonical not in (fetch.key, fetch.requested)
            page.words, page.noindex = features.words, features.noindex
            self._take_links(fetch, features, page)
            if fetch.page_links:
                page.page_links = picking(fetch.in_scope)(fetch.page_links)
            self._take_texts(fetch, features, page)
        # It counts for the link path it came through: its ticket's, else the first it is remembered by.
        link_path = fetch.link_path
        if link_path == UNKNOWN_LINK_PATH and page.contexts:
            link_path = page.contexts[0][1]
        page.reported = self.history.observe(page, link_path, self.patterns, self.link_paths.folded)
        if features is not None and features.paths.parents and not page.refetch:
            self.sample.append(
                SampledPage.of(
                    fetch.seq, features.key, fetch.key, features.paths, page.links.link_paths, page.links.keys
                )
            )
            if self.templates is not None:
                self.crawled[page.cluster] += 1
            if self.navigates and self.templates is None:
                self.plan.add_page(page.links, (fetch.seed, fetch.seq))
            elif self.navigates:
                links = dict.fromkeys(zip(page.links.link_paths, page.links.keys, strict=True))
                self._navigate(list(links), page.cluster, page.contexts)
        return page

    def feedback(self, event: FeedbackObservation) -> None:
        """Take in what extraction found on a page."""
        was_fetched = self.memory.is_fetched(event.key)
        self.history.feedback(event, self.patterns, self.link_paths.folded, was_fetched=was_fetched)

    def waiting_links(self) -> Counter[Group]:
        """Return the links found, not fetched and not reported on.

        By folded link path and by the URL pattern each link had when it was first seen, as policies know it.
        """
        waiting: Counter[Group] = Counter()
        for (pattern, link_path), n in self.memory.waiting(self.history.reported_only()).items():
            waiting[pattern, self.link_paths.get(link_path).folded] += n
        return waiting

    def pattern_of(self, hash_: int, key: str) -> int:
        """Return the URL pattern of a URL: the one it had when it was first seen, else the one it has now."""
        return self.patterns_of([hash_], [key])[0]

    def patterns_of(self, hashes: Sequence[int], keys: Sequence[str]) -> list[int]:
        """Return the URL patterns of URLs by identity hash and identity, same length; see `pattern_of`."""
        known = self.memory.patterns(hashes)
        return [self.patterns.finest(key) if p is None else p for p, key in zip(known, keys, strict=True)]

    def due_job(self, seq: int, *, force: bool = False) -> LearningJob | None:
        """Return the learning that is due now, if any and none is running; marks it as running.

        With `force` it is, as long as there are pages to learn from.
        """
        if self.learning_since or not self.sample or not (force or self.schedule.is_due(len(self.sample))):
            return None
        self.schedule.started()
        self.learning_since = seq
        return self.job()

    def job(self) -> LearningJob:
        """Return the learning that is running, from the sample as it stood when it started."""
        return LearningJob(
            self.name,
            self.learning_since,
            [page for page in self.sample if page.seq <= self.learning_since],
            self.learning,
            self.templates.sample if self.templates else {},
            self.identities,
            dict(self.aliases),
            self.link_paths.classless_by_id(),
        )

    def activate(self, learned: LearnedSite) -> None:
        """Make a learned model the active one, and catch up with the pages that came since it was started."""
        first = self.templates is None
        self.templates, self.navigation, self.identities = (
            learned.templates,
            learned.navigation,
            learned.identities,
        )
        self.revision += 1
        self.learning_since = 0
        self.memory.relabel(
            (p.hash, learned.templates.sample.get(p.key, UNKNOWN_CLUSTER)) for p in self.sample
        )
        if first:
            self.crawled.update(learned.templates.sample.values())
            self.plan = SamplingPlan()
        for page in [p for p in self.sample if p.key not in learned.templates.sample]:
            contexts = self.memory.contexts(page.hash)
            cluster = learned.templates.nearest(page.paths)
            self.memory.relabel([(page.hash, cluster)])
            self.crawled[cluster] += first
            self._navigate(page.links, cluster, contexts)

    def cluster_of(self, page: int, *, default: int = UNKNOWN_CLUSTER) -> int:
        """Return the cluster of a page by identity hash; `default` if it was not fetched or is forgotten."""
        cluster = self.memory.cluster(page)
        return default if cluster in (NOT_FETCHED, UNKNOWN_CLUSTER) else cluster

    def recall(self, fetch: Fetch) -> PageObservation:
        """Return what is known of a page before anybody looks at it: in-links, depth, URL pattern."""
        depth, pattern, contexts = self.memory.known(fetch.requested)
        if pattern is None:
            pattern = self.patterns.finest(fetch.requested_key)
        if fetch.link_path != UNKNOWN_LINK_PATH and all(
            fetch.link_path != link_path for _, link_path in contexts
        ):
            contexts.append((fetch.source, fetch.link_path))
        depths = [d for d in (depth, fetch.depth) if d is not None]
        return PageObservation(
            seq=fetch.seq,
            key=fetch.key,
            url=fetch.url,
            requested=fetch.requested,
            depth=min(depths, default=0),
            pattern=pattern,
            contexts=contexts,
            failed=fetch.features is None,
            refetch=False,
            requested_url=fetch.requested_key,
            canonical=fetch.canonical or fetch.key,
        )

    def _classify(self, features: PageFeatures | None) -> int:
        """Return the template cluster of a page, and let the schedule see whether templates still fit."""
        if features is None or self.templates is None or not features.paths.parents:
            return UNKNOWN_CLUSTER
        cluster = self.templates.nearest(features.paths)
        self.schedule.classify(outlier=cluster < 0)
        return cluster

    def _remember_fetch(self, fetch: Fetch, page: PageObservation) -> bool:
        """Note the page and the URL asked for as fetched; say whether the page was fetched before."""
        known = {"depth": page.depth, "cluster": page.cluster, "pattern": page.pattern}
        refetch = self.memory.fetched(fetch.key, **known)
        if fetch.requested != fetch.key:
            self.memory.fetched(fetch.requested, **known)
            if len(self.aliases) < self.bounds.links:
                self.aliases[fetch.requested] = fetch.key
        if self.navigates and self.templates is None:
            self.plan.mark_fetched([fetch.requested, fetch.key])
        return refetch

    def _take_links(self, fetch: Fetch, features: PageFeatures, page: PageObservation) -> None:
        """Let link paths, URL patterns and memory take in the links of a page."""
        links, rows = features.links, fetch.in_scope
        ids = [self.link_paths.intern(raw).id for raw in links.link_path_table]
        pick = picking(rows)
        keys = pick(fetch.link_keys)
        link_paths = list(map(ids.__getitem__, pick(links.link_paths)))
        target = hash64(features.moved_to) if features.moved_to else 0
        if target and target in keys and self.memory.depth(target) is None:
            link_paths = _follow_redirect(target, page, keys, link_paths)
        names, patterns_of = pick(links.keys), self.patterns.insert_all
        patterns, page.fresh, page.first_here, page.displaced = self.memory.see(
            fetch.key, page.depth + 1, keys, link_paths, names, patterns_of
        )
        page.links = LinkBatch(
            pick(links.urls),
            keys,
            link_paths,
            [page.cluster] * len(keys),
            [page.depth + 1] * len(keys),
            patterns,
            pick(links.anchors),
        )
        page.blocks_before = pick(links.blocks_before)
        page.layout = features.layout

    def _take_texts(self, fetch: Fetch, features: PageFeatures, page: PageObservation) -> None:
        """Find out which text is the page's own, and which pages lose some to it."""
        change = self.texts.see(fetch.key, fetch.canonical, features.block_hashes, features.block_chars)
        page.long_chars = sum(features.block_chars)
        page.novel_chars, page.own_chars, page.lost = change.new_chars, change.own_chars, change.lost
        page.unseen_chars = change.unseen_chars
        if features.thing:
            named = self.texts.see(fetch.key, fetch.canonical, [features.thing], [THING_CHARS])
            page.thing_chars = named.own_chars
            page.thing_lost = named.lost
        self.duplicates += bool(page.long_chars and not page.novel_chars + page.thing_chars)

    def _navigate(self, links: Sequence[SampledLink], cluster: int, contexts: list[tuple[int, int]]) -> None:
        """Let the navigation table learn from a crawled page: its links, and the ways that led to it."""
        if self.learning.paper:  # learned from the sample, for good
            return
        self.navigation.observe_links(cluster, Counter(link_path for link_path, _ in links))
        for source, link_path in contexts:
            origin = self.cluster_of(source)
            if origin != UNKNOWN_CLUSTER:
                self.navigation.observe_destination(
                    origin, link_path, self.link_paths.get(link_path).classless, cluster
                )


def _follow_redirect(
    target: int, page: PageObservation, keys: Sequence[int], link_paths: list[int]
) -> list[int]:
    """Let a URL nobody knew take the place of a page that leads there at once; return the link paths of the
    page's links. A page that leads to what is known already is one that brings nothing.
    """
    page.refetch = page.redirects = True
    own = page.contexts[0][1] if page.contexts else UNKNOWN_LINK_PATH
    if own == UNKNOWN_LINK_PATH:
        return link_paths
    return [own if key == target else path for key, path in zip(keys, link_paths, strict=True)]
