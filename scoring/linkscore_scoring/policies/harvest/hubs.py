"""Hub credit: what a page earns by links nobody had shown before it, over any number of hops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from linkscore_scoring.bounded import drop_oldest
from linkscore_scoring.policies.harvest.arms import ANY, SITE, HierarchicalArms, Node
from linkscore_scoring.policies.harvest.tunables import DEFAULTS, Tunables
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.sums import shrunk
from linkscore_scoring.urls.pattern_tree import UrlPatterns

Arm = tuple[int, int]


@dataclass(slots=True)
class HubPage:
    """A fetched page: nodes it counts for, arms its link was seen through, and its fresh links by arm."""

    nodes: list[Node]
    arms: list[Arm]
    fresh: dict[Arm, int] = field(default_factory=dict)


class HubLedger(Stateful):
    """Yields of fetched pages, and the worth per fetch of arms that follows from them.

    A link that leads to a page of reward r and, by it, to n fresh links worth v each pays (r + n v) / (1 + n)
    per fetch if all of them are fetched: the index of an arm-acquiring bandit. It is taken over the fresh
    links worth more than the arm itself, whose own worth counts what lies behind *them*: a list that leads
    to lists is worth something after two passes. No weight balances hubs against pages, and a hub never
    passes the pages it leads to.

    Parameters
    ----------
    arms
        Rewards of the arms.
    tunables
        How means are shrunk and forgotten, and what kinds of pages hardly opened are granted.

    Notes
    -----
    Source: Whittle, Arm-acquiring bandits, Annals of Probability 9(2), 1981. Differences: one fetch for each
    fresh link instead of the optimal time spent behind it; shrunk means instead of known distributions; the
    yield of a node forgets, 0.9 a pull, as links behind a hub run out. Cost: O(fresh arms) a page, plus
    all remembered pages 8 times while the pulls double.

    Examples
    --------
    Posts are worth 1 and lists nothing by themselves, until a list shows ten posts nobody knew:

    >>> from linkscore_scoring.policies.harvest.arms import nodes_of
    >>> arms, patterns, post, listing = HierarchicalArms(), UrlPatterns(), (90, 9), (80, 8)
    >>> for _ in range(50):
    ...     arms.credit(nodes_of(*post), 1.0, 0.0)
    ...     arms.credit(nodes_of(*listing), 0.0, 0.0)
    >>> ledger = HubLedger(arms)
    >>> round(ledger.index(listing, patterns), 2)
    0.0
    >>> ledger.add(1, ledger.page([listing], {post: 10}, patterns), patterns)
    >>> round(ledger.index(listing, patterns), 2)
    0.85
    """

    _pages: Stored[dict[int, HubPage]]
    _nodes: Stored[dict[Node, list[float]]]

    def __init__(self, arms: HierarchicalArms, tunables: Tunables = DEFAULTS) -> None:
        self.arms = arms
        self.tunables = tunables
        self._pages, self._nodes = {}, {}

    def __len__(self) -> int:
        return len(self._pages)

    def page(self, arms: Sequence[Arm], fresh: dict[Arm, int], patterns: UrlPatterns) -> HubPage:
        """Return the record of a page found through some arms; many kinds of fresh links are cut."""
        nodes = dict.fromkeys(node for arm in arms for node in nodes_above(arm, patterns))
        kept = sorted(fresh, key=lambda arm: -fresh[arm])[: self.tunables.at_once]
        return HubPage(list(nodes) or [SITE], list(arms), {arm: fresh[arm] for arm in kept})

    def add(self, key: int, page: HubPage, patterns: UrlPatterns) -> None:
        """Count a page; now and then count all of them anew by what links are worth by now."""
        self._pages[key] = page
        drop_oldest(self._pages, self.tunables.hub_pages)
        if is_due(self.arms.pulls_total):
            self.refresh(patterns)
        else:
            self._count(self._nodes, page, patterns, {})

    def refresh(self, patterns: UrlPatterns) -> None:
        """Count all pages anew."""
        nodes: dict[Node, list[float]] = {}
        known: dict[Arm, tuple[float, float]] = {}
        for page in self._pages.values():
            self._count(nodes, page, patterns, known)
        self._nodes = nodes

    def index(self, arm: Arm, patterns: UrlPatterns) -> float:
        """Return the worth per fetch of an arm, at least its mean reward."""
        reward = max(0.0, self.arms.reward(arm))
        gain, n = self._means(arm, patterns)
        return max(reward, (reward + gain) / (1.0 + n))

    def worth(self, arm: Arm, patterns: UrlPatterns) -> float:
        """Return the worth per fetch of an arm, of a kind of pages hardly opened what it is granted.

        What is wanted may lie behind one list that nobody opened, and then nothing that was fetched tells of
        it. So the first tries of each URL pattern come before more of what is known to bring less, and after
        all that is known to bring more. Where links at the same place of pages brought nothing, one more kind
        of them is granted little: a wiki has dozens.
        """
        index, t = self.index(arm, patterns), self.tunables
        tries = self.arms.pulls((arm[0], ANY))
        if tries >= t.few:
            return index
        unopened = self.arms.shrunk_to(t.unopened, (ANY, arm[1]), self.tunables.prior_weight)
        granted: float = unopened * t.unopened_kept**tries
        return max(index, granted)

    def fresh_links(self, arm: Arm, patterns: UrlPatterns) -> float:
        """Return how many fresh links worth following an arm is expected to show."""
        return self._means(arm, patterns)[1]

    def _means(self, arm: Arm, patterns: UrlPatterns) -> tuple[float, float]:
        """Return the shrunk mean worth and number of the fresh links of an arm."""
        gain = links = 0.0
        weight = self.tunables.prior_weight
        for node in nodes_above(arm, patterns):
            counts = self._nodes.get(node)
            if counts is not None:
                gain = shrunk(counts[1], counts[0], gain, weight)
                links = shrunk(counts[2], counts[0], links, weight)
        return gain, links

    def _count(
        self,
        table: dict[Node, list[float]],
        page: HubPage,
        patterns: UrlPatterns,
        known: dict[Arm, tuple[float, float]],
    ) -> None:
        gain, links = self._yield(page, patterns, known)
        decay = self.tunables.decay
        for node in page.nodes:
            counts = table.setdefault(node, [0.0, 0.0, 0.0])
            for i, value in enumerate((1.0, gain, links)):
                counts[i] = decay * counts[i] + value

    def _yield(
        self, page: HubPage, patterns: UrlPatterns, known: dict[Arm, tuple[float, float]]
    ) -> tuple[float, float]:
        """Return worth and number of the fresh links that are worth more than the page's own arm."""
        if not page.fresh:
            return 0.0, 0.0
        least = max((self._known(arm, patterns, known)[0] for arm in page.arms), default=0.0)
        gain = links = 0.0
        for arm, n in page.fresh.items():
            believed = self._known(arm, patterns, known)[1]
            if believed > least:
                gain += n * believed
                links += n
        return gain, links

    def _known(
        self, arm: Arm, patterns: UrlPatterns, known: dict[Arm, tuple[float, float]]
    ) -> tuple[float, float]:
        """Return the worth of an arm, and how much of it is believed: nothing if nobody opened its kind.

        A board shows dozens of links to the latest answer at the place of its threads. If none of these can
        be followed, no fetch will ever tell what they are worth.
        """
        if arm not in known:
            worth = self.index(arm, patterns)
            pulls = self.arms.pulls((arm[0], ANY))
            known[arm] = worth, shrunk(worth * pulls, pulls, 0.0, self.tunables.prior_weight)
        return known[arm]


def is_due(n: int) -> bool:
    """Say whether the n-th of many is one to look at all of them: each of the first 16, then 8 an octave.

    Early on worths change with every fetch, later a full count would cost O(pages) a fetch for little.
    Chosen; more often was no better, see research/notebook/occam.md.

    Examples
    --------
    >>> [n for n in range(1, 50) if is_due(n)][-7:]
    [28, 30, 32, 36, 40, 44, 48]
    """
    return n % (1 << max(0, n.bit_length() - 4)) == 0


def nodes_above(arm: Arm, patterns: UrlPatterns) -> list[Node]:
    """Return the nodes an arm stands on: site, link path, the patterns its pattern refines, pattern, arm.

    What pages lead to is alike within a section of a site, so coarse patterns count here; what pages *are* is
    not, so rewards do without them.
    """
    pattern, link_path = arm
    return [SITE, (ANY, link_path), *((p, ANY) for p in patterns.above(pattern)), (pattern, ANY), arm]
