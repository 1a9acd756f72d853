"""What Anthelion knows of a crawl: a link classifier over all hosts, and a bandit among them; and how the two
levels of its decision, first the host, then the link inside it, become one score.
"""

from __future__ import annotations

import numpy as np

from linkscore_scoring.columns import drop_oldest, shrunk
from linkscore_scoring.hashing import hash64
from linkscore_scoring.learners.link_features import NeighbourLabels, link_features
from linkscore_scoring.learners.models import Features, sigmoid
from linkscore_scoring.learners.online import OnlineClassifier
from linkscore_scoring.policies.anthelion.bandit import (
    EDGE,
    HOST_VALUES,
    Arm,
    Floats,
    HostBandit,
    host_arm,
    host_scores,
    lexical,
    uniform,
)
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.types import FeedbackObservation, LinkBatch, PageObservation
from linkscore_scoring.urls.pattern_tree import url_tokens

MAX_PAGES = 50_000
"""A bound: pages whose label is kept for a crawl."""
_RELEVANT = 0.5
"""Least reward that counts as relevant: in the middle of [0, 1], so that yes and no are told apart."""
_HUB_YIELD = 2.5
"""Relevant pages expected behind the new links of a hub: chosen, not measured."""
_VAIN = 20
"""Other pages of a host for each relevant one, and one more, from which the classifier is not trusted there:
one success in twenty is little. Measured beside 10, 30 and 40, research/notebook/anthelion.md.
"""


class HostCrawl(Stateful):
    """Classifier, host bandit and labels of one crawl; a label is a reported reward of at least 0.5.

    A second classifier learns from every fetch which pages are hubs: those whose new links are expected to
    hold at least two and a half relevant pages. A link counts as p + hub_weight h (1 - p), p the probability
    of being relevant and h that of being a hub.
    """

    state_name = "host crawl"
    seq: Stored[int]
    classifier: Stored[OnlineClassifier]
    hubs: Stored[OnlineClassifier]
    neighbours: Stored[NeighbourLabels]
    hosts: Stored[HostBandit]
    # pages labelled while no relevant one is known, by the shape of their URL after the host, digit runs as #
    _vain: Stored[dict[int, int]]

    def __init__(self, *, classifier: str, hosts: HostBandit, hub_weight: float = 0.0) -> None:
        self.classifier, self.hubs = OnlineClassifier(classifier), OnlineClassifier(classifier)
        self.neighbours = NeighbourLabels(max_pages=MAX_PAGES)
        self.hosts = hosts
        self.hub_weight = hub_weight
        self.seq, self._vain = 0, {}

    def observe(self, page: PageObservation, site: SiteModel) -> None:
        """Note the event, and whether the page is a hub."""
        self.seq = page.seq
        self.neighbours.max_pages = min(MAX_PAGES, site.bounds.links)
        if self.hub_weight and self.classifier.is_ready and not (page.failed or page.refetch):
            hub = self._yield(page, site) >= _HUB_YIELD
            self.hubs.learn(self._of_page(page), np.array([float(hub)]))

    def _yield(self, page: PageObservation, site: SiteModel) -> float:
        """Return how many relevant pages the links never seen before are expected to lead to."""
        new = dict(zip(page.links.keys, range(len(page.links)), strict=True))
        rows = [row for row in new.values() if page.fresh[row]]
        return float(self._relevance(page.links.rows(rows), site).sum()) if rows else 0.0

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
        self.classifier.learn(self._of_page(event), np.array([float(relevant)]))
        self.neighbours.note(event.key, [source for source, _ in event.contexts], relevant)
        if not self.classifier.knows_only_others:
            self._vain = {}
        else:
            shape = _shape(event.url)
            self._vain[shape] = self._vain.get(shape, 0) + 1
            drop_oldest(self._vain, self.neighbours.max_pages)

    def probs(self, links: LinkBatch, site: SiteModel) -> Floats:
        """Return what links count, (n,) float64 in (0, 1): being relevant, and being a hub."""
        X = self.of_links(links, site)
        p = self.classifier.predict_prob(X)
        if self.classifier.knows_only_others:
            p = lexical(self._rule_of_succession(links, site), p)
        elif self._finds_little(site):
            p = lexical(self._pattern_rates(links, site), p)
        if self.hub_weight and self.hubs.is_ready:
            p = p + self.hub_weight * self.hubs.predict_prob(X) * (1.0 - p)
        return clipped(p)

    def _rule_of_succession(self, links: LinkBatch, site: SiteModel) -> Floats:
        """Return the chance of a first success after n fetches without one, 1 / (n + 2)."""
        shapes = site.history.shapes
        fetched = [
            shapes[of].fetched if of in shapes else 0.0 for of in map(site.patterns.resolve, links.patterns)
        ]
        vain = [self._vain.get(_shape(url), 0) for url in links.urls]
        return np.asarray(1.0 / (2.0 + np.maximum(fetched, vain)))

    def _finds_little(self, site: SiteModel) -> bool:
        """Say whether a host showed some relevant pages, and so few that the classifier looks elsewhere."""
        arm = self.arm(site)
        return arm.good > 0.0 and arm.bad >= _VAIN * (arm.good + 1.0)

    def _pattern_rates(self, links: LinkBatch, site: SiteModel) -> Floats:
        """Return the success rates of URL patterns, by one fetch shrunk to the host's: (g + r) / (n + 1)."""
        arm, shapes = self.arm(site), site.history.shapes
        own = shrunk(arm.good, arm.good + arm.bad, 0.5, 2.0)
        of = list(map(site.patterns.resolve, links.patterns))
        rates = dict.fromkeys(of, own)
        for pattern in rates:
            if pattern in shapes:
                tried = shapes[pattern].total()
                rates[pattern] = shrunk(tried.reward, tried.fetched, own, 1.0)
        return np.array([rates[pattern] for pattern in of])

    def _relevance(self, links: LinkBatch, site: SiteModel) -> Floats:
        return self.classifier.predict_prob(self.of_links(links, site))

    def scores(self, site: SiteModel, probs: Floats) -> Floats:
        """Return the score of links of a site, (n,) float64 in [0, 1]: the decision without exploration."""
        arm = self.arm(site)
        values = HOST_VALUES[self.hosts.function](arm.good, arm.bad, probs)
        return host_scores(
            self.hosts.function, np.broadcast_to(values, probs.shape).astype(np.float64), probs
        )

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
        return link_features(links.urls, self.neighbours.counts(site.memory.sources(links.keys)))

    def _of_page(self, page: FeedbackObservation | PageObservation) -> Features:
        return link_features([page.url], self.neighbours.counts([[source for source, _ in page.contexts]]))


def clipped(probs: Floats) -> Floats:
    """Return probabilities no nearer to 0 and 1 than the outermost steps."""
    return np.clip(probs, sigmoid(np.array(-EDGE)), sigmoid(np.array(EDGE)))


def _shape(url: str) -> int:
    return hash64("".join(url_tokens(url)[1:]))
