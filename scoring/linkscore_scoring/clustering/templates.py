"""The templates of a site: a learned clustering with what people and policies ask about each cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.clustering.base import OUTLIER, Clusterer, ClusterModel
from linkscore_scoring.clustering.cosine_linkage import CLUSTERERS
from linkscore_scoring.features.types import PathTrie
from linkscore_scoring.state import State, from_state, plain

# Paths named for people.
_TOP_PATHS = 5
# Share of the pages known to both that a new cluster and an old one have in common, to be one; chosen.
_MIN_OVERLAP = 0.25


@dataclass(frozen=True, slots=True)
class ClusterStats:
    """What is known of one cluster."""

    id: int
    size: int
    dsim: float
    example: str
    top_paths: tuple[str, ...]


class TemplateModel:
    """Learned templates of a site: classifies pages and describes clusters; immutable once learned."""

    def __init__(
        self,
        clusterer: str,
        model: ClusterModel,
        clusters: Sequence[ClusterStats],
        sample: Mapping[str, int],
    ) -> None:
        self.clusterer = clusterer
        self.model = model
        self.clusters = tuple(clusters)
        self.sample = dict(sample)
        self._ids = [*self.ids(), OUTLIER]

    def nearest(self, trie: PathTrie) -> int:
        """Return the persistent cluster id of a page, -1 for an outlier."""
        return self._ids[self.model.nearest(trie)]

    def ids(self) -> list[int]:
        """Return the persistent ids by label, outliers left out."""
        return [stats.id for stats in self.clusters]

    def renamed(self, ids: Mapping[int, int]) -> TemplateModel:
        """Return the model with other cluster ids: present id -> persistent id
        (`ClusterIdentities.carry_over`)."""
        clusters = [replace(stats, id=ids[stats.id]) for stats in self.clusters]
        sample = {key: ids.get(was, OUTLIER) for key, was in self.sample.items()}
        return TemplateModel(self.clusterer, self.model, clusters, sample)

    def to_state(self) -> State:
        """Return the model as plain values."""
        return {
            "clusterer": self.clusterer,
            "model": plain(self.model),
            "clusters": [plain(stats) for stats in self.clusters],
            "sample": self.sample,
        }

    @classmethod
    def from_state(cls, state: State) -> TemplateModel:
        """Rebuild a model."""
        clusters = [from_state(ClusterStats, stats) for stats in state["clusters"]]
        model = from_state(CLUSTERERS[state["clusterer"]].model, state["model"])
        return cls(state["clusterer"], model, clusters, state["sample"])


def learn(keys: Sequence[str], tries: Sequence[PathTrie], clusterer: Clusterer) -> TemplateModel:
    """Learn the templates of a site from the keys of sample pages and their tag paths."""
    clustering = clusterer.fit(tries)
    clusters = _describe(keys, clustering.vectors, clustering.labels, clustering.model.path_names())
    labels = dict(zip(keys, clustering.labels.tolist(), strict=True))
    return TemplateModel(clusterer.name, clustering.model, clusters, labels)


def _describe(
    keys: Sequence[str],
    vectors: NDArray[np.float64],
    labels: NDArray[np.int64],
    names: Sequence[str],
) -> list[ClusterStats]:
    n_clusters = int(labels.max(initial=OUTLIER)) + 1
    site_mean = vectors.mean(axis=0) if len(vectors) else np.zeros(0)
    described = []
    for label in range(n_clusters):
        rows = np.flatnonzero(labels == label)
        mean = vectors[rows].mean(axis=0)
        far = distances_to_mean(vectors[rows])
        special = np.argsort(site_mean - mean, kind="stable")[:_TOP_PATHS]
        paths = tuple(names[i] for i in special if mean[i] > site_mean[i])
        medoid = keys[int(rows[far.argmin()])]
        described.append(ClusterStats(label, len(rows), float(far.mean()), medoid, paths))
    return described


def distances_to_mean(members: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Euclidean distance of members to their mean vector, (n,); their mean is Dsim (eq. 10).

    The paper calls the term a variance in prose; the printed formula (plain distance, not squared) is
    implemented.
    """
    offsets = members - members.mean(axis=0)
    return np.asarray(np.sqrt((offsets * offsets).sum(axis=1)), dtype=np.float64)


@dataclass(slots=True)
class ClusterIdentities:
    """Carries persistent ids over from one clustering to the next by the pages both know.

    A new cluster inherits the id of the old cluster it overlaps most (Jaccard over pages known to both, at
    least `_MIN_OVERLAP`), one to one; greedy from the largest number of shared pages, ties to the smaller old
    id, then the smaller new label. When a cluster splits, the larger part keeps the id; when clusters merge,
    the id of the larger is kept. All others get new ids. An id that was given out is never given out again;
    outliers are always -1.
    """

    next_id: int = 0

    def carry_over(
        self, old: Mapping[str, int], pages: Sequence[str], labels: Sequence[int]
    ) -> dict[int, int]:
        """Return the persistent id of every new label (without -1) and advance `next_id`.

        `old`: page key -> persistent id before; empty at the first learning. `pages`, `labels`: keys of the
        newly clustered pages and their labels, same length.
        """
        known = [(old[page], label) for page, label in zip(pages, labels, strict=True) if page in old]
        shared = Counter(pair for pair in known if OUTLIER not in pair)
        before, after = Counter(a for a, _ in known), Counter(b for _, b in known)
        ids: dict[int, int] = {}
        used: set[int] = set()
        for (was, now), both in sorted(shared.items(), key=lambda item: (-item[1], item[0])):
            overlap = both / (before[was] + after[now] - both)
            if was not in used and now not in ids and overlap >= _MIN_OVERLAP:
                ids[now] = was
                used.add(was)
        for label in sorted(set(labels) - {OUTLIER} - set(ids)):
            ids[label] = self.next_id
            self.next_id += 1
        return ids
