"""What is counted of arms, links of one (URL pattern, link path): what they brought, where they are shown.

`HierarchicalArms` has means shrunk to those of an arm's parents and the links that wait, `MenuLinks` the
share of the pages that show an arm, `PullsInFlight` pulls whose rewards are not known yet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log, sqrt

from linkscore_scoring.bounded import drop_oldest
from linkscore_scoring.policies.harvest.tunables import DEFAULTS, Tunables
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.sums import left_sum, shrunk

Node = tuple[int, int]
"""URL pattern and folded link path, either of them `ANY`: what counts are kept for."""

ANY = -1
"""Stands for every URL pattern, or every link path; real ids are never negative."""

SITE: Node = (ANY, ANY)
NOTHING: Mapping[Node, int] = {}
"""No pulls under way."""

Counts = list[float]
"""Pulls, rewards and hub yields of a node, summed."""
_N, _REWARD, _HUB = range(3)  # columns of these
_SHOWN, _FRESH, _FIRST = range(3)  # columns of the counts of an arm that may be a menu

Starts = Callable[[Node], Counts | None]
"""Gives the counts of a node, or those that it starts with; None of one nothing is known of."""

ArmStats = tuple[float, float, float, float]
"""Shrunk mean reward and hub yield of an arm, its pulls, and its bonus."""


def nodes_of(pattern: int, link_path: int) -> tuple[Node, Node, Node, Node]:
    """Return the nodes an arm stands on, from general to specific: site, link path, pattern, arm."""
    return SITE, (ANY, link_path), (pattern, ANY), (pattern, link_path)


def summed(starts: Sequence[Starts]) -> Starts | None:
    """Return what nodes start with by all of these, None by none."""
    if len(starts) < 2:
        return starts[0] if starts else None

    def both(node: Node) -> Counts | None:
        known = [counts for start in starts if (counts := start(node)) is not None]
        return [left_sum(column) for column in zip(*known, strict=True)] if known else None

    return both


class HierarchicalArms(Stateful):
    """Pulls, rewards and hub yields of arms and of the nodes above them, and the links that wait in each arm.

    The mean of a node is shrunk towards the mean of the one above it by `prior_weight` pseudo-pulls, down the
    chain site -> link path -> pattern -> (pattern, link path), so that an arm nobody pulled starts from what
    its parts are worth. Fixed fine arms, each explored on its own, lose: hundreds of them would have to be
    tried.

    Parameters
    ----------
    tunables
        Prior, pseudo-pulls of the node above, and what the bonus is made of.

    Attributes
    ----------
    max_arms
        Arms kept; beyond it the quarter of the nodes with the fewest pulls is dropped and starts again from
        its parents.
    elsewhere
        What nodes start with (`starts`); None: with nothing.

    Notes
    -----
    Not from a paper; the bonus is that of UCB1 (Auer, Cesa-Bianchi and Fischer 2002) for arms that sleep
    (Kleinberg, Niculescu-Mizil and Sharma 2010). Cost: O(1) an arm.

    Examples
    --------
    >>> arms = HierarchicalArms()
    >>> for _ in range(20):
    ...     arms.credit(nodes_of(pattern=1, link_path=2), reward=1.0, hub=0.0)
    >>> round(arms.reward((1, 2)), 3)  # pulled often
    1.0
    >>> round(arms.reward((7, 2)), 3)  # a new pattern, at a link path that led to good pages
    0.994
    """

    pulls_total: Stored[int]
    _nodes: Stored[dict[Node, list[float]]]
    _waiting: Stored[dict[Node, int]]

    def __init__(self, tunables: Tunables = DEFAULTS) -> None:
        self.tunables = tunables
        self.max_arms = tunables.kept
        self.elsewhere: Starts | None = None
        self.pulls_total = 0
        self._nodes, self._waiting = {}, {}

    def __len__(self) -> int:
        return len(self._nodes)

    def found(self, links: Mapping[Node, int]) -> None:
        """Count the links that were found through each arm, of pages nobody had linked to."""
        for arm, n in links.items():
            self._waiting[arm] = self._waiting.get(arm, 0) + n
        drop_oldest(self._waiting, self.max_arms)

    def fetched(self, arm: Node) -> None:
        """Note that a link of an arm waits no more."""
        left = self._waiting.get(arm, 0) - 1
        if left > 0:
            self._waiting[arm] = left
        else:
            self._waiting.pop(arm, None)

    def waiting(self, arm: Node) -> int:
        """Return how many links wait in an arm."""
        return self._waiting.get(arm, 0)

    def links(self) -> Iterator[tuple[Node, float]]:
        """Yield each arm found so far and the links that wait in it, or if none its pulls."""
        yield from self._waiting.items()
        for arm, pulls, _ in self.pulled():
            if arm not in self._waiting:
                yield arm, pulls

    def pulled(self) -> Iterator[tuple[Node, float, float]]:
        """Yield the arms pulled so far, with pulls and mean reward of each, by what this site brought."""
        for node, (pulls, rewards, _) in self._nodes.items():
            if pulls > 0.0 and ANY not in node:
                yield node, pulls, rewards / pulls

    def own_counts(self) -> Iterator[tuple[Node, Counts]]:
        """Yield what every node counted on this site."""
        yield from self._nodes.items()

    @property
    def own_mean(self) -> float:
        """Mean reward of the site, 0 if nothing was pulled."""
        pulls, rewards, _ = self._nodes.get(SITE, (0.0, 0.0, 0.0))
        return rewards / pulls if pulls > 0.0 else 0.0

    def credit(self, nodes: Iterable[Node], reward: float, hub: float, weight: float = 1.0) -> None:
        """Count one pull of each node, with its reward and hub yield; `weight` of a pull, in (0, 1]."""
        self.pulls_total += 1
        for node in nodes:
            counts = self._nodes.setdefault(node, [0.0, 0.0, 0.0])
            counts[_N] += weight
            counts[_REWARD] += weight * reward
            counts[_HUB] += weight * hub
        if len(self._nodes) > 3 * self.max_arms:  # of each its link path, its pattern and itself
            self._evict()

    def revise(self, nodes: Iterable[Node], change: float, weight: float = 0.0) -> None:
        """Add to the weighted reward, and to the weight, of a pull that was counted before."""
        for node in nodes:
            counts = self._nodes.get(node)
            if counts is not None:
                counts[_REWARD] += change
                counts[_N] += weight

    def pulls(self, node: Node) -> float:
        """Return how often a node was pulled."""
        counts = self._nodes.get(node)
        return counts[_N] if counts is not None else 0.0

    def reward(self, arm: Node) -> float:
        """Return the shrunk mean reward of an arm."""
        return self.arm_stats([arm])[0][0]

    def shrunk_to(self, value: float, node: Node, weight: float) -> float:
        """Return the mean reward of a node on this site, shrunk to a value by some pseudo-pulls."""
        pulls, rewards, _ = self._nodes.get(node, (0.0, 0.0, 0.0))
        return shrunk(rewards, pulls, value, weight)

    def arm_stats(self, arms: Iterable[Node], in_flight: Mapping[Node, int] = NOTHING) -> list[ArmStats]:
        """Return of each arm its shrunk mean reward and hub yield, its pulls, and its bonus.

        The bonus is sqrt(2 ln(t + 1) / n) of UCB1 (Auer 2002), n pooled over the arm's parents. Each pull in
        flight, counted by node, is one whose reward is a standard error below the mean: that takes away
        little where much is known (commit) and much where little is (spread). All arms share the site's node,
        so what is under way there tells nothing between them. What arms share is worked out once.
        """
        weight, pooled = self.tunables.prior_weight, self.tunables.pooled
        counts_of = self._nodes.get if self.elsewhere is None else self._started
        growth = 2.0 * log(self.pulls_total + 1.0)
        of_link_paths: dict[int, tuple[float, float, float]] = {}
        found: list[ArmStats] = []
        for arm in arms:
            pattern, link_path = arm
            if (above := of_link_paths.get(link_path)) is None:
                above = of_link_paths[link_path] = self._of_link_path(link_path, counts_of, in_flight)
            reward, hub, around = above
            of_pattern = (pattern, ANY)
            # Written out, not looped: a page shows dozens of arms, a frontier asks for hundreds.
            pulls = 0.0
            if (counts := counts_of(of_pattern)) is not None:
                pulls, rewards, hubs = counts
                reward, hub = shrunk(rewards, pulls, reward, weight), shrunk(hubs, pulls, hub, weight)
                if pulls > around:
                    around = pulls
            if in_flight:
                reward = self._doubted(of_pattern, reward, pulls, in_flight)
            pulls = 0.0
            if (counts := counts_of(arm)) is not None:
                pulls, rewards, hubs = counts
                reward, hub = shrunk(rewards, pulls, reward, weight), shrunk(hubs, pulls, hub, weight)
            if in_flight:
                reward = self._doubted(arm, reward, pulls, in_flight)
            around *= pooled
            found.append((reward, hub, pulls, sqrt(growth / (1.0 + (pulls if pulls >= around else around)))))
        return found

    def _of_link_path(
        self, link_path: int, counts_of: Starts, in_flight: Mapping[Node, int]
    ) -> tuple[float, float, float]:
        """Return means of the node of a link path, shrunk to those of the site, and its pulls."""
        node, reward, hub = (ANY, link_path), self.tunables.prior, self.tunables.prior
        weight = self.tunables.prior_weight
        for above in (SITE, node):
            pulls = 0.0
            if (counts := counts_of(above)) is not None:
                pulls, rewards, hubs = counts
                reward, hub = shrunk(rewards, pulls, reward, weight), shrunk(hubs, pulls, hub, weight)
        return self._doubted(node, reward, pulls, in_flight) if in_flight else reward, hub, pulls

    def _doubted(self, node: Node, reward: float, pulls: float, in_flight: Mapping[Node, int]) -> float:
        """Return the mean reward of a node with what is under way there, each a standard error below it."""
        if not (out := in_flight.get(node, 0)):
            return reward
        n, mean = pulls + self.tunables.prior_weight, min(max(reward, 0.0), 1.0)
        expected = max(0.0, mean - sqrt(mean * (1.0 - mean) / n))
        return shrunk(out * expected, out, mean, n)

    def _started(self, node: Node) -> Counts | None:
        """Return the counts of a node with those that it started with."""
        own = self._nodes.get(node)
        more = self.elsewhere(node) if self.elsewhere is not None else None
        if more is None or own is None:
            return own if more is None else more
        return [own[_N] + more[_N], own[_REWARD] + more[_REWARD], own[_HUB] + more[_HUB]]

    def _evict(self) -> None:
        by_use = sorted(self._nodes, key=lambda node: self._nodes[node][_N])
        for node in by_use[: len(by_use) // 4]:
            if node != SITE:
                del self._nodes[node]


class MenuLinks(Stateful):
    """How many of the pages show a link of an arm, in the mean of its links.

    A menu shows the same few links on every page: pages about the site, lists by month. A list of related
    pages is on every page too, but with other links. So what counts is how often the links of an arm were
    shown, against how many there are and how many pages came since the first that showed one.

    Parameters
    ----------
    least_pages
        Pages since the first that showed an arm before it may be a menu.
    max_arms
        Arms kept; beyond it those seen first go, and count as seen by nobody.

    Notes
    -----
    Not from a paper; that links every page has are no endorsement is common in link analysis (site-wide
    links). Cost: O(distinct arms) a page, O(1) a question.

    Examples
    --------
    >>> about, post, menus = (1, 1), (2, 2), MenuLinks()
    >>> menus.see({about: 1, post: 2}, fresh={about: 1, post: 2})
    >>> for _ in range(4):
    ...     menus.see({about: 1, post: 2}, fresh={post: 2})
    >>> menus.share(about), menus.share(post)
    (1.0, 0.2)
    """

    _pages: Stored[int]
    _arms: Stored[dict[Node, list[int]]]

    def __init__(self, least_pages: int = DEFAULTS.few, *, max_arms: int = DEFAULTS.kept) -> None:
        self.least_pages = least_pages
        self.max_arms = max_arms
        self._pages = 0
        self._arms = {}

    def see(self, shown: Mapping[Node, int], fresh: Mapping[Node, int]) -> None:
        """Count a page: by arm how many pages it links to, and how many of these nobody had linked to."""
        self._pages += 1
        for column, counted in ((_SHOWN, shown), (_FRESH, fresh)):
            for arm, links in counted.items():
                counts = self._arms.get(arm)
                if counts is None:
                    counts = self._arms[arm] = [0, 0, self._pages]
                counts[column] += links
        drop_oldest(self._arms, self.max_arms)

    def share(self, arm: Node) -> float:
        """Return the share of the pages that show a link of an arm, in [0, 1]; 0 as long as they are few."""
        counts = self._arms.get(arm)
        if counts is None or not counts[_FRESH]:
            return 0.0
        pages = self._pages - counts[_FIRST] + 1
        return min(1.0, counts[_SHOWN] / (counts[_FRESH] * pages)) if pages >= self.least_pages else 0.0


@dataclass(slots=True)
class PullsInFlight:
    """Pulls whose rewards are not known yet, counted by the nodes of their arms; made for one question.

    How they lower what an arm is worth is in `HierarchicalArms.arm_stats`. For methods see `FetchesInFlight`.

    Attributes
    ----------
    places
        Fetches of the site that may be under way together.
    worth_a_place
        Share of the mean worth of what is under way below which a fetch waits, in [0, 1].
    arm_of
        Gives the arm of a bucket.
    score
        Gives the score of an arm by the pulls in flight of each node.
    """

    places: int
    worth_a_place: float
    arm_of: Callable[[str], Node]
    score: Callable[[Node, Mapping[Node, int]], float]
    _by_node: Counter[Node] = field(default_factory=Counter)
    _fetches: int = 0
    _worth: float = 0.0

    def begin(self, bucket: str, n: int = 1) -> None:
        """Count fetches of links of a bucket."""
        arm = self.arm_of(bucket)
        score = self.score(arm, NOTHING)
        self._fetches += n
        self._worth += n * score / (1.0 - score)
        for node in nodes_of(*arm):
            self._by_node[node] += n

    @property
    def floor(self) -> float:
        """Value below which a link rather waits: what is under way may show links of its own worth."""
        worth = self.worth_a_place * self._worth / max(1, self._fetches)
        return worth / (1.0 + worth)

    def value(self, bucket: str) -> float:
        """Return the value of a bucket."""
        return self.score(self.arm_of(bucket), self._by_node)
