"""What Anthelion knows of a crawl: a link classifier over all hosts, and a bandit among them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np

from linkscore_scoring.errors import reading_state
from linkscore_scoring.hashing import hash64
from linkscore_scoring.learners.bandits.base import Arm
from linkscore_scoring.learners.bandits.draws import Floats, uniform
from linkscore_scoring.learners.bandits.host_bandit import HostBandit
from linkscore_scoring.learners.bandits.host_values import HOST_VALUES
from linkscore_scoring.learners.classifiers.base import Features
from linkscore_scoring.learners.classifiers.online import OnlineClassifier
from linkscore_scoring.learners.link_features import LinkFeatures
from linkscore_scoring.learners.neighbour_labels import NeighbourLabels
from linkscore_scoring.policies.anthelion.host_scores import clipped, lexical, scores
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import FeedbackObservation, LinkBatch, PageObservation

MAX_PAGES = 50_000
_ANCHOR_CHARS = 80
_RELEVANT = 0.5
_HUB_YIELD = 2.5


class HostCrawl:
    """Classifier, host bandit and labels of one crawl; a label is a reported reward of at least 0.5.

    A page's features are taken when its label comes, with the labels its neighbours have by then. The same
    label again changes nothing; another one corrects the host's counts and is learned too.

    A second classifier learns from every fetch which pages are hubs: those whose new links are expected to
    hold at least two and a half relevant pages. A link counts as p + hub_weight h (1 - p), p the probability
    of being relevant and h that of being a hub.

    Parameters
    ----------
    classifier
        Name of the classifier.
    groups
        Groups of `LinkFeatures`.
    hosts
        Bandit whose arms are hashes of host names.
    hub_weight
        Worth of a hub against a relevant page, in [0, 1]; 0 learns no hubs.
    """

    def __init__(
        self, *, classifier: str, groups: Iterable[str], hosts: HostBandit, hub_weight: float = 0.0
    ) -> None:
        self.features = LinkFeatures(groups)
        self.classifier = OnlineClassifier(classifier, dim=self.features.dim)
        self.hubs = OnlineClassifier(classifier, dim=self.features.dim)
        self.neighbours = NeighbourLabels(max_pages=MAX_PAGES)
        self.hosts = hosts
        self.hub_weight = hub_weight
        self.seq = 0
        self._anchors: dict[int, str] = {}

    def observe(self, page: PageObservation, site: SiteModel) -> None:
        """Note the event, anchor texts of new links if they are features, and whether the page is a hub."""
        self.seq = page.seq
        self.neighbours.max_pages = min(MAX_PAGES, site.bounds.links)
        if "anchor" in self.features.groups:
            self._note_anchors(page)
        if self.hub_weight and self.classifier.is_ready and not (page.failed or page.refetch):
            hub = self._yield(page, site) >= _HUB_YIELD
            self.hubs.learn(self._of_page(page, site), np.array([float(hub)]))

    def _yield(self, page: PageObservation, site: SiteModel) -> float:
        """Return how many relevant pages the links never seen before are expected to lead to."""
        new = dict(zip(page.links.keys, range(len(page.links)), strict=True))
        rows = [row for row in new.values() if page.fresh[row]]
        return float(self._relevance(page.links.rows(rows), site).sum()) if rows else 0.0

    def _note_anchors(self, page: PageObservation) -> None:
        for key, anchor in zip(page.links.keys, page.links.anchors, strict=True):
            self._anchors.setdefault(key, anchor[:_ANCHOR_CHARS])
        for key in list(islice(self._anchors, max(0, len(self._anchors) - self.neighbours.max_pages))):
            del self._anchors[key]

    def learn(self, event: FeedbackObservation, site: SiteModel) -> None:
        """Learn from a label; one without URL teaches the bandit only."""
        self.seq = event.seq
        relevant, host = event.reward >= _RELEVANT, host_arm(site.name)
        if not event.url:
            self.hosts.reward(host, float(relevant))
            return
        before = self.neighbours.label(event.key)
        if before is relevant:
            return
        if before is None:
            self.hosts.reward(host, float(relevant))
        else:
            self.hosts.revise(host, 1.0 if relevant else -1.0)
        self.classifier.learn(self._of_page(event, site), np.array([float(relevant)]))
        self.neighbours.note(event.key, [source for source, _ in event.contexts], relevant)

    def probs(self, links: LinkBatch, site: SiteModel) -> Floats:
        """Return what links count, (n,) float64 in (0, 1): being relevant, and being a hub."""
        X = self.of_links(links, site)
        p = self.classifier.predict_prob(X)
        if self.hub_weight and self.hubs.is_ready:
            p = p + self.hub_weight * self.hubs.predict_prob(X) * (1.0 - p)
        return clipped(p)

    def _relevance(self, links: LinkBatch, site: SiteModel) -> Floats:
        return self.classifier.predict_prob(self.of_links(links, site))

    def scores(self, site: SiteModel, probs: Floats) -> Floats:
        """Return the score of links of a site, (n,) float64 in [0, 1]: the decision without exploration."""
        arm = self.arm(site)
        u = uniform(self.hosts.seed, self.seq, [host_arm(site.name)])
        values = HOST_VALUES[self.hosts.function](arm.good, arm.bad, probs, u)
        return scores(self.hosts.function, np.broadcast_to(values, probs.shape).astype(np.float64), probs)

    def pulls(self, site: SiteModel, probs: Floats) -> Floats:
        """Return the value of buckets of a site: `scores`, or a drawn one if this decision explores."""
        if not self.hosts.explores(self.seq):
            return self.scores(site, probs)
        return lexical(uniform(self.hosts.seed, self.seq, [host_arm(site.name)]), probs)

    def arm(self, site: SiteModel) -> Arm:
        """Return what the bandit knows of a site."""
        return self.hosts.arms.get(host_arm(site.name)) or Arm()

    def of_links(self, links: LinkBatch, site: SiteModel) -> Features:
        """Return the features of links."""
        parents = [[source for source, _ in site.memory.contexts(key)] for key in links.keys]
        return self._features(links.urls, links.anchors, links.apaths, parents, site)

    def _of_page(self, page: FeedbackObservation | PageObservation, site: SiteModel) -> Features:
        apath = next((apath for _, apath in page.contexts), 0)
        parents = [source for source, _ in page.contexts]
        return self._features([page.url], [self._anchors.get(page.key, "")], [apath], [parents], site)

    def _features(
        self,
        urls: Sequence[str],
        anchors: Sequence[str],
        apaths: Sequence[int],
        parents: Sequence[Sequence[int]],
        site: SiteModel,
    ) -> Features:
        groups = self.features.groups
        ids = [site.apaths.get(apath) for apath in apaths] if "apath" in groups else []
        wanted = "parents" in groups or "siblings" in groups
        return self.features.of(
            urls,
            anchors=[anchor[:_ANCHOR_CHARS] for anchor in anchors],
            apaths=[(found.folded, found.classless) for found in ids],
            neighbours=self.neighbours.counts(parents) if wanted else None,
        )

    def to_state(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        return {
            "seq": self.seq,
            "classifier": self.classifier.to_state(),
            "hubs": self.hubs.to_state(),
            "relatives": self.neighbours.to_state(),
            "hosts": self.hosts.to_state(),
            "anchors": list(self._anchors.items()),
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the knowledge of `to_state`.

        Raises
        ------
        CorruptState
            If a field is missing or malformed.
        """
        with reading_state("host crawl"):
            self.seq = int(state["seq"])
            self.classifier.load_state(state["classifier"])
            self.hubs.load_state(state["hubs"])
            self.neighbours.load_state(state["relatives"])
            self.hosts.load_state(state["hosts"])
            self._anchors = {int(key): str(anchor) for key, anchor in state["anchors"]}


def host_arm(name: str) -> int:
    """Return the arm of a host: 63 bits of the hash of its name."""
    return hash64(name) >> 1
