"""The templates of a site: a learned clustering with what people and policies ask about each cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.clustering.base import OUTLIER, Clusterer, ClusterModel
from linkscore_scoring.clustering.registry import clusterer_named
from linkscore_scoring.clustering.sample import SamplePage, with_in_links
from linkscore_scoring.errors import CorruptState, InvalidParams
from linkscore_scoring.state import State, from_state, plain

# Paths named for people.
_TOP_PATHS = 5


@dataclass(frozen=True, slots=True)
class ClusterStats:
    """What is known of one cluster.

    `id`: persistent id (`ClusterIdentities`); the label itself until `TemplateModel.renamed`. `size`: pages
    of the sample. `dsim`: mean distance to the mean vector (eq. 10). `example`: URL key of the medoid, the
    page nearest to the mean. `top_paths`: paths with the largest weight above the site's mean, at most 5:
    what is special about the cluster.
    """

    id: int
    size: int
    dsim: float
    example: str
    top_paths: tuple[str, ...]


class TemplateModel:
    """Learned templates of a site: classifies pages and describes clusters; immutable once learned.

    `clusterer`: name of the clusterer that made it. `clusters`: statistics by label 0, 1, ... `sample`: URL
    key -> persistent cluster id of every sampled page, -1 for outliers. `notes`: what was unusual while
    learning.
    """

    def __init__(
        self,
        clusterer: str,
        model: ClusterModel,
        clusters: Sequence[ClusterStats],
        sample: Mapping[str, int],
        notes: Sequence[str] = (),
    ) -> None:
        self.clusterer = clusterer
        self.model = model
        self.clusters = tuple(clusters)
        self.sample = dict(sample)
        self.notes = tuple(notes)
        self._ids = np.array([stats.id for stats in self.clusters] + [OUTLIER], dtype=np.int64)

    def classify(self, pages: Sequence[SamplePage]) -> NDArray[np.int64]:
        """Return the persistent cluster id of every page, (n_pages,) int64, -1 for outliers."""
        return np.asarray(self._ids[self.model.classify(pages)], dtype=np.int64)

    def nearest(self, page: SamplePage) -> tuple[int, float]:
        """Return the cluster of a page and its distance, in the clusterer's metric, to the nearest."""
        return int(self.classify([page])[0]), float(self.model.distances([page])[0])

    def ids(self) -> list[int]:
        """Return the persistent ids by label, outliers left out."""
        return [stats.id for stats in self.clusters]

    def renamed(self, ids: Mapping[int, int]) -> TemplateModel:
        """Return the model with other cluster ids: present id -> persistent id
        (`ClusterIdentities.carry_over`).
        """
        clusters = [replace(stats, id=ids[stats.id]) for stats in self.clusters]
        sample = {key: ids.get(was, OUTLIER) for key, was in self.sample.items()}
        return TemplateModel(self.clusterer, self.model, clusters, sample, self.notes)

    def to_state(self) -> State:
        """Return the model as plain values."""
        return {
            "clusterer": self.clusterer,
            "model": self.model.to_state(),
            "clusters": [plain(stats) for stats in self.clusters],
            "sample": self.sample,
            "notes": list(self.notes),
        }

    @classmethod
    def from_state(cls, state: State) -> TemplateModel:
        """Rebuild a model.

        Raises `CorruptState`: if a field is missing or malformed.
        """
        try:
            clusters = [from_state(ClusterStats, stats) for stats in state["clusters"]]
            model = clusterer_named(state["clusterer"]).load(state["model"])
            return cls(state["clusterer"], model, clusters, state["sample"], state["notes"])
        except (KeyError, TypeError, ValueError, InvalidParams) as exc:
            raise CorruptState(f"template state: missing or malformed field {exc}") from exc


def learn(sample: Sequence[SamplePage], clusterer: Clusterer) -> TemplateModel:
    """Learn the templates of a site from a sample.

    `sample`: distinct pages of one site, at most 2,000; the order decides cluster numbers and ties, nothing
    else. `clusterer`: an instance from `linkscore_scoring.clustering.registry`, with its parameters.

    Raises `LimitExceeded`: if the sample is too large.

    Cost O(n^2 n_paths), some .3 s for 1,600 pages by the default clusterer; run it beside the request path.

    Examples
    --------
    >>> from linkscore_scoring.testing.pages import trie_of
    >>> from linkscore_scoring.clustering.registry import CLUSTERERS
    >>> posts = [SamplePage(f"/post/{n}", trie_of(["html/body/div/h1/text()", *["html/body/p/text()"] * n]))
    ...          for n in range(5, 10)]
    >>> lists = [SamplePage(f"/list/{n}", trie_of(["html/body/ul/li/a"] * n)) for n in range(5, 10)]
    >>> model = learn(posts + lists, CLUSTERERS["cosine_linkage"]())
    >>> [(stats.size, stats.top_paths[0]) for stats in model.clusters]
    [(5, 'html/body/p/text()'), (5, 'html/body/ul/li/a')]
    """
    clustering = clusterer.fit(with_in_links(sample, sample) if clusterer.reads_in_links else sample)
    names = clustering.model.path_names()
    clusters = _describe(sample, clustering.vectors, clustering.labels, names)
    labels = {page.key: int(label) for page, label in zip(sample, clustering.labels, strict=True)}
    return TemplateModel(clusterer.name, clustering.model, clusters, labels, clustering.notes)


def _describe(
    sample: Sequence[SamplePage],
    vectors: NDArray[np.float64],
    labels: NDArray[np.int64],
    names: Sequence[str],
) -> list[ClusterStats]:
    n_clusters = int(labels.max(initial=OUTLIER)) + 1
    spreads = dsim(vectors, labels, np.arange(n_clusters))
    site_mean = vectors.mean(axis=0) if len(vectors) else np.zeros(0)
    described = []
    for label in range(n_clusters):
        rows = np.flatnonzero(labels == label)
        mean = vectors[rows].mean(axis=0)
        medoid = rows[int(((vectors[rows] - mean) ** 2).sum(axis=1).argmin())]
        special = np.argsort(site_mean - mean, kind="stable")[:_TOP_PATHS]
        paths = tuple(names[i] for i in special if mean[i] > site_mean[i])
        key = sample[int(medoid)].key
        described.append(ClusterStats(label, len(rows), float(spreads[label]), key, paths))
    return described


def dsim(
    vectors: NDArray[np.float64], labels: NDArray[np.int64], clusters: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the mean Euclidean distance of members to their mean vector, (n_clusters,) float64 (eq. 10).

    `vectors`: weights of the sample, (n_pages, n_paths). `labels`: cluster of every page, (n_pages,).
    `clusters`: labels to report, in this order.

    A cluster of one page or of identical pages has 0, a cluster without pages too: policies floor the factor.
    The paper calls the term a variance in prose; the printed formula (plain distance, not squared) is
    implemented.
    """
    return np.array([_spread(vectors[labels == cluster]) for cluster in clusters], dtype=np.float64)


def _spread(members: NDArray[np.float64]) -> float:
    if len(members) < 2:
        return 0.0
    offsets = members - members.mean(axis=0)
    return float(np.sqrt((offsets * offsets).sum(axis=1)).mean())  # eq. 10
