"""Learning a site: when it is due, and how sample pages become templates and a navigation table.

Learning runs beside the request path: a job holds all it needs, its result becomes active by an event.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from sys import intern

from linkscore_scoring.clustering.cosine_linkage import CLUSTERERS
from linkscore_scoring.clustering.templates import ClusterIdentities, TemplateModel, learn
from linkscore_scoring.columns import numbered
from linkscore_scoring.errors import among, reading_state, within
from linkscore_scoring.features.types import PathTrie
from linkscore_scoring.hashing import hash64
from linkscore_scoring.site.navigation import NavigationTable
from linkscore_scoring.state import State, Stateful, Stored, from_state, packed, plain, unpacked
from linkscore_scoring.types import UNKNOWN_LINK_PATH, LinkBatch


class SamplingPlan(Stateful):
    """Which links to sample: of those under one link path of a page one that was neither drawn nor fetched.

    `max_seen`: URLs remembered as drawn or fetched; when full, pages stop adding to the plan. `add_page`
    costs O(links). Source: Xu 2018, section 4.1. Difference from the paper: when every URL is seen nothing is
    drawn.
    """

    _fetched: Stored[set[int]]
    _drawn: Stored[set[int]]

    max_seen = 50_000

    def is_drawn(self, key: int) -> bool:
        """Say whether a URL was drawn as the one link of a link path of a page, and is not fetched yet."""
        return key in self._drawn and key not in self._fetched

    def add_page(self, links: LinkBatch, seed: object) -> None:
        """Take note of the in-site links of a fetched page; they are drawn by the hash of `seed`."""
        groups: dict[int, dict[int, None]] = {}
        for link_path, key in zip(links.link_paths, links.keys, strict=True):
            if key not in self._drawn and key not in self._fetched:
                groups.setdefault(link_path, {})[key] = None
        for link_path, keys in groups.items():
            fresh = [key for key in keys if key not in self._drawn]
            if fresh and len(self._drawn) + len(self._fetched) < self.max_seen:
                self._drawn.add(fresh[hash64(f"{seed} {link_path}") % len(fresh)])

    def mark_fetched(self, keys: Iterable[int]) -> None:
        """Take URLs out of the plan: fetched, failed, or not wanted."""
        for key in keys:
            if len(self._drawn) + len(self._fetched) < 2 * self.max_seen:
                self._fetched.add(key)


DOUBLINGS = 3
"""Learnings at n, 2n, 4n and 8n pages; chosen, not measured."""
_DRIFT_WINDOW = 200
"""Classified pages that decide whether the templates still hold; chosen, not measured."""
_DRIFT_SHARE = 0.3
"""Share of outliers among them from which they do not; chosen, not measured."""


@dataclass(frozen=True, slots=True)
class LearningJob:
    """Everything one learning needs; frozen, so that it may run in another thread or process.

    `previous` maps the URL keys of the pages of the active model to their clusters, `aliases` identity hashes
    of redirected URLs to those of the pages they led to, `classless` link paths to those without class.
    """

    site: str
    built_from_seq: int
    pages: list[SampledPage]
    config: LearningConfig
    previous: Mapping[str, int]
    identities: ClusterIdentities
    aliases: dict[int, int] = field(default_factory=dict)
    classless: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LearnedSite:
    """What a learning produced; becomes the site's model when its event is applied."""

    built_from_seq: int
    templates: TemplateModel
    navigation: NavigationTable
    identities: ClusterIdentities

    def to_state(self) -> State:
        """Return the result as plain values."""
        return plain(self)

    @classmethod
    def from_state(cls, state: State, config: LearningConfig) -> LearnedSite:
        """Rebuild a result.

        Raises `CorruptState`: if a field is missing or malformed.
        """
        with reading_state("learned site"):
            table = NavigationTable(paper=config.paper)
            table.load_state(state["navigation"])
            return cls(
                int(state["built_from_seq"]),
                TemplateModel.from_state(state["templates"]),
                table,
                from_state(ClusterIdentities, state["identities"]),
            )


@dataclass(slots=True)
class LearningSchedule:
    """Decides when a learning is due.

    `next_at`: sample size of the next scheduled learning, 0 when the schedule is through. `last_at`: sample
    size of the last scheduled one. `outliers`, `classified`: decayed counts (window 200 pages) of pages that
    fitted no template, and of all classified pages.
    """

    next_at: int
    last_at: int
    outliers: float = 0.0
    classified: float = 0.0

    def started(self) -> None:
        """Note that a learning was started."""
        self.next_at = self.next_at * 2 if 0 < self.next_at * 2 <= self.last_at else 0
        self.outliers = self.classified = 0.0

    def classify(self, *, outlier: bool) -> None:
        """Note a classified page."""
        keep = 1.0 - 1.0 / _DRIFT_WINDOW
        self.outliers = self.outliers * keep + outlier
        self.classified = self.classified * keep + 1.0

    def is_due(self, sample_size: int) -> bool:
        """Say whether the sample is large enough, or more than 30 % of about 200 pages were outliers."""
        if self.next_at:
            return sample_size >= self.next_at
        return self.classified > _DRIFT_WINDOW / 2 and self.outliers > _DRIFT_SHARE * self.classified


def run(job: LearningJob) -> LearnedSite:
    """Learn a site; cost about .4 s for 1,600 pages by the default clusterer."""
    keys = [page.key for page in job.pages]
    kind = CLUSTERERS[job.config.clusterer]
    clusterer = kind(**kind.paper_params) if job.config.paper else kind()
    learned = learn(keys, [page.paths for page in job.pages], clusterer)
    identities = replace(job.identities)
    labels = [learned.sample[key] for key in keys]
    templates = learned.renamed(identities.carry_over(job.previous, keys, labels))
    return LearnedSite(job.built_from_seq, templates, _navigation(job, templates), identities)


def _navigation(job: LearningJob, templates: TemplateModel) -> NavigationTable:
    """Count the links of the sample and where those lead whose target is in the sample (eqs. 4 and 5)."""
    table = NavigationTable(paper=job.config.paper)
    clusters = {page.hash: templates.sample[page.key] for page in job.pages}
    for alias, target in job.aliases.items():
        if target in clusters:
            clusters.setdefault(alias, clusters[target])
    for page in job.pages:
        source = clusters[page.hash]
        table.observe_links(source, Counter(link_path for link_path, _ in page.links))
        led = Counter(
            (link_path, clusters[target])
            for link_path, target in page.links
            if target in clusters and target != page.hash
        )
        for (link_path, destination), times in led.items():
            classless = job.classless.get(link_path, UNKNOWN_LINK_PATH)
            table.observe_destination(source, link_path, classless, destination, weight=times)
    return table


MAX_SAMPLE = 2_000
"""A bound: pages of a site kept for learning, whose clustering costs their
square (docs/concepts/architecture.md)."""


@dataclass(frozen=True, slots=True)
class LearningConfig:
    """How templates are learned.

    `clusterer`: name of a page clusterer (`clustering.CLUSTERERS`). `sample_pages`: distinct pages before the
    first learning; relearning follows at 2, 4 and 8 times as many, then on drift. `paper`: the rules of Xu
    2018 where ours differ: literal eps, navigation table frozen after the first learning.
    """

    clusterer: str = among("cosine_linkage", CLUSTERERS)
    sample_pages: int = within(200, 8, MAX_SAMPLE)
    paper: bool = False


@dataclass(frozen=True, slots=True)
class SiteBounds:
    """Most of each thing kept per site; what goes beyond degrades to the fallbacks, never to an error."""

    links: int = 200_000
    contexts: int = 6
    blocks: int = 500_000
    apaths: int = 20_000
    arms: int = 20_000


SampledLink = tuple[int, int]
"""Link path id, and identity hash of the target."""


@dataclass(frozen=True, slots=True)
class SampledPage:
    """A page kept for learning.

    `seq`: sequence number of its event. `key`, `hash`: identity of the page's URL, as text and as 64-bit
    hash. `nodes`: nodes of its tag paths. `packed_paths`, `packed_links`: its tag paths and its links, in
    msgpack; `paths` and `links` read them, in some 25 us.
    """

    seq: int
    key: str
    hash: int
    nodes: int
    packed_paths: bytes
    packed_links: bytes

    @classmethod
    def of(
        cls, seq: int, key: str, hash_: int, trie: PathTrie, link_paths: Iterable[int], targets: Sequence[int]
    ) -> SampledPage:
        """Return a page with its tag paths, and the link path and the target of each of its links."""
        packed_links = packed([*numbered(link_paths), targets])
        return cls(
            seq,
            key,
            hash_,
            len(trie.tags),
            packed([trie.parents, trie.tags, trie.classes, trie.leaves]),
            packed_links,
        )

    @property
    def paths(self) -> PathTrie:
        """Its tag paths; names are one object with equal ones of other pages."""
        parents, tags, classes, leaves = unpacked(self.packed_paths)
        return PathTrie(parents, list(map(intern, tags)), list(map(intern, classes)), leaves)

    @property
    def links(self) -> list[SampledLink]:
        """One for every distinct link path and target of the page."""
        link_paths, rows, targets = unpacked(self.packed_links)
        return list(dict.fromkeys(zip(map(link_paths.__getitem__, rows), targets, strict=True)))
