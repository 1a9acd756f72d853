"""The default policy: learn while crawling which groups of links lead to what is wanted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress
from typing import Any, NamedTuple

import numpy as np

from linkscore_scoring.columns import Repeated
from linkscore_scoring.errors import FieldProblem
from linkscore_scoring.policies.base import Explanation, Params, Policy, Scored, Scores, Term, outside
from linkscore_scoring.policies.experience import Experience
from linkscore_scoring.policies.harvest.arms import (
    ANY,
    NOTHING,
    SITE,
    ArmStats,
    HierarchicalArms,
    MenuLinks,
    Node,
    PullsInFlight,
    nodes_of,
    summed,
)
from linkscore_scoring.policies.harvest.hubs import HubLedger
from linkscore_scoring.policies.harvest.rewards import PageRewards
from linkscore_scoring.policies.harvest.starts import ExampleUrls, WarmStart, experience_of
from linkscore_scoring.policies.harvest.tunables import DEFAULTS, Tunables
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.sums import left_sum
from linkscore_scoring.types import (
    ExamplePage,
    ExampleWanted,
    FeedbackObservation,
    LinkBatch,
    PageObservation,
)

Arm = tuple[int, int]
"""URL pattern and folded link path of a link."""

Parts = tuple[float, float, float, float, float, float, float]
"""Of a score: shrunk mean reward, share of the pages that show the arm, reward as far as it is no menu, its
factor by how many links wait, credit for the links behind it, exploration and curiosity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HarvestParams(Params):
    """Parameters of `harvest`.

    Attributes
    ----------
    exploration
        Weight of the UCB bonus, >= 0, in rewards. This and the others fade as labels come. Measured: 0 earns
        a little more on the stored sites, but leaves no way back from a wrong first impression.
    hub_weight
        Worth of a page that leads to 20 good links, against a page that is good itself (1), >= 0; what it
        pays per fetch counts in any case. Measured against 0 only.
    curiosity
        Bonus for links between text blocks that were never tried, >= 0, in rewards. Measured against 0
        only. For all three see research/notebook/harvest-parts.md.
    """

    exploration: float = 0.02
    hub_weight: float = 0.25
    curiosity: float = 0.2

    def problems(self) -> Iterator[FieldProblem]:
        """Yield a problem for each field out of range."""
        yield from outside("exploration", self.exploration, 0.0, 10.0)
        yield from outside("hub_weight", self.hub_weight, 0.0, 10.0)
        yield from outside("curiosity", self.curiosity, 0.0, 10.0)


class SiteContext(NamedTuple):
    """What the values of all arms of a site rest on at one moment.

    Attributes
    ----------
    site
        The site.
    labelled_share
        How far labels decide, in [0, 1].
    link_reward
        What a link of a list is expected to bring, a reward; 0 before anything was fetched.
    """

    site: SiteModel
    labelled_share: float
    link_reward: float


class Harvest(Stateful, Policy):
    """A sleeping bandit over (URL pattern, link path) arms whose reward is text of a page's own.

    Needs no labels, no sample and no learning phase. The reward of a fetch is x / (x + h), x = characters
    in long text blocks that belong to the page (`site.texts`) less what its links are expected to take over
    once they are fetched, h = what is much on this site (both in `own_text`). It is revised as that is
    known, so that lists of excerpts, copies and sort orders fade. If the crawl has example pages, the reward
    is likeness to them (`likeness`); feedback replaces both. Choose it first; what it is worth where is in
    docs/concepts/harvest.md.

    Value of an arm by text = mean reward + hub credit + exploration x UCB bonus + curiosity, hub credit =
    max(hub_weight x mean hub yield, what a list pays per fetch beyond its own reward, `_paid_by_list`);
    by labels = worth per fetch of the page and the fresh links behind it (`harvest.hubs`), where
    a URL pattern hardly opened is granted some. After n labels the second counts n / (n + 2), the first the
    rest. Means are shrunk along site -> link path -> pattern -> arm; by text, of an arm whose links a share m
    of the pages show (`arms.MenuLinks`), what is over the worth of a link of a list counts 1 - m. Score =
    value / (1 + value); bucket = ``h<pattern>.<link path>``.

    Shapes: n links in, (n,) float64 out. Cost: O(distinct arms) a call, O(links) a page. References: sleeping
    bandits, Kleinberg 2010 and Gauquier 2026; UCB1, Auer 2002; arm-acquiring bandits, Whittle 1981; hub
    credit after ACHE and deep-deep. The rewards are ours. See docs/concepts/harvest.md.

    Examples
    --------
    A crawl of 60 pages of a generated board, of whose pages three in ten are wanted; nobody says which:

    >>> from linkscore_scoring.engine.config import PolicyChoice
    >>> from linkscore_scoring.testing.crawl import SimulatedCrawl, crawl_model
    >>> from linkscore_scoring.testing.site import GeneratedSite
    >>> crawl = SimulatedCrawl(crawl_model(PolicyChoice("harvest")), GeneratedSite(seed=1)).fetch(60)
    >>> crawl.wanted_share() > 0.6
    True
    """

    name = "harvest"
    Params = HarvestParams
    reads_templates = False

    arms: Stored[HierarchicalArms]
    rewards: Stored[PageRewards]
    hubs: Stored[HubLedger]
    menus: Stored[MenuLinks]

    def __init__(self, params: Any, *, seed: int = 0, tunables: Tunables = DEFAULTS) -> None:
        super().__init__(params, seed=seed)
        self.tunables = tunables
        self.arms = HierarchicalArms(tunables)
        self.rewards = PageRewards(self.arms, tunables)
        self.hubs = HubLedger(self.arms, tunables)
        self.menus = MenuLinks(tunables.few)
        self._warm_start: WarmStart | None = None
        self._example_urls: ExampleUrls | None = None

    def observe(self, page: PageObservation, site: SiteModel) -> None:
        """Credit the arms that led to a page, and revise the pages whose text it took."""
        if page.redirects:
            self._follow_redirect(page, site)
        if page.refetch:
            return
        self._take_bounds(site)
        self.rewards.update_sources(page, site)
        followed = _followed(page.pattern, page.contexts, site)
        worth = self.rewards.worth_of(page, _nodes_of_all(followed), site)
        arms, hub = _arms_of(page.links, site), 0.0
        if not page.failed:
            fetched = site.memory.fetched_among(page.links.keys)
            shown, found = (Counter(compress(arms, which)) for which in (page.first_here, page.fresh))
            worth.pending = _by_link_path(shown)
            worth.between = _between(page, arms, fetched, self.tunables.few)
            self.rewards.update_text_reward(worth)
            hub = self._hub_yield(page, arms)
            self.arms.found(found)
            self.menus.see(shown, found)
        for arm in followed:
            self.arms.fetched(arm)
        self.arms.credit(worth.nodes, worth.reward, hub, worth.weight)
        self.rewards.record(page, worth, site)
        if self.rewards.labelled_share:
            self._count_hub(page, arms, followed, site)
        self._judge_experience()

    def set_examples(self, examples: Sequence[ExamplePage], site: SiteModel) -> None:
        """Compare pages fetched from now on with these, and expect them behind URLs of their shapes."""
        self.rewards.set_examples(examples, site)
        keys = (example.key for example in examples)
        self._example_urls = ExampleUrls(keys, site.patterns, self.tunables) or None
        self._set_starts()
        self._judge_experience()

    def set_experience(self, experiences: Sequence[Experience], site: SiteModel) -> None:
        """Let what was learned on other sites count beside the pulls of this one."""
        self._warm_start = WarmStart(experiences, site.patterns, self.tunables) if experiences else None
        self._set_starts()
        self._judge_experience()

    def experience(self, site: SiteModel) -> Experience:
        """Return what the arms learned on this site."""
        return experience_of(self.arms, site.patterns)

    def describe(self, site: SiteModel) -> str:
        """Say how far experience counts here; empty if none was given."""
        if self._warm_start is None:
            return ""
        trust = ", ".join(f"{trust:.2f}" for trust in self._warm_start.trust)
        return f"experience of other sites is trusted by {trust}"

    def after_load(self) -> None:
        """Judge experience by what was loaded."""
        self._judge_experience()

    def suggest_examples(self, n: int, site: SiteModel) -> list[ExampleWanted]:
        """Ask about big types of pages no example names, and pages that are half like one."""
        return self.rewards.suggest_examples(n, site)

    def feedback(self, event: FeedbackObservation, site: SiteModel) -> None:
        """Let an outside reward replace the page's own; a page never seen credits the arms of its links.

        Of a fetched page that is not remembered, such as a redirect, it teaches nothing.
        """
        if self.rewards.ledger.page(event.key) is None and site.memory.is_fetched(event.key):
            return
        if not self.rewards.label(event.key, event.reward, site):
            followed = _followed(event.pattern, event.contexts, site)
            self.arms.credit(_nodes_of_all(followed), event.reward, 0.0)
        self._judge_experience()

    def score(self, links: LinkBatch, site: SiteModel) -> Scored:
        """Score by arm; all links of an arm are equal."""
        groups = links.grouped()
        patterns, link_paths = zip(*groups.distinct, strict=True) if groups.distinct else ((), ())
        arms = groups.as_values(list(zip(patterns, site.link_paths.folded(link_paths), strict=True)))
        values = np.array(self._scores(arms.distinct, site), dtype=np.float64)
        return Scored(values[arms.places], Repeated(list(map(_bucket, arms.distinct)), arms.places))

    def value(self, buckets: Sequence[str], site: SiteModel) -> Scores:
        """Return the score of each arm; a bucket of another policy is worth what the site is on average."""
        return np.array(self._scores([_arm(bucket) for bucket in buckets], site), dtype=np.float64)

    def in_flight(self, site: SiteModel) -> PullsInFlight:
        """Return what fetches under way are counted in."""
        context = self._context(site)

        def score(arm: Arm, in_flight: Mapping[Node, int]) -> float:
            (stats,) = self.arms.arm_stats([arm], in_flight)
            return self._score(arm, stats, context, in_flight)

        t = self.tunables
        places = 1 + int(t.places_per_pull * self.arms.pulls_total)
        return PullsInFlight(places, t.worth_a_place, arm_of=_arm, score=score)

    def expected_rewards(self, groups: Sequence[Arm], site: SiteModel) -> Scores:
        """Return the mean reward of each arm, shrunk, without hub credit and bonuses."""
        means = [mean for mean, *_ in self.arms.arm_stats(groups)]
        return np.clip(np.array(means, dtype=np.float64), 0.0, 1.0)

    def explain(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        """Name the arm, what it earned, and what was added."""
        arms, context = _arms_of(links, site), self._context(site)
        rows = zip(arms, self.arms.arm_stats(arms), strict=True)
        return [self._explanation(arm, stats, context) for arm, stats in rows]

    def _follow_redirect(self, page: PageObservation, site: SiteModel) -> None:
        """Let where a redirect leads wait in its place; it is no pull."""
        self.rewards.update_sources(page, site)
        self.arms.found(Counter(compress(_arms_of(page.links, site), page.fresh)))
        for arm in _followed(page.pattern, page.contexts, site):
            self.arms.fetched(arm)

    def _take_bounds(self, site: SiteModel) -> None:
        self.arms.max_arms = self.menus.max_arms = site.bounds.arms
        self.rewards.ledger.max_link_paths = site.bounds.apaths
        self.rewards.ledger.max_pages = min(self.tunables.pages, site.bounds.links)

    def _scores(self, arms: Collection[Arm], site: SiteModel) -> list[float]:
        context = self._context(site)
        rows = zip(arms, self.arms.arm_stats(arms), strict=True)
        return [self._score(arm, stats, context) for arm, stats in rows]

    def _context(self, site: SiteModel) -> SiteContext:
        link_reward = max(0.0, self.tunables.link_share * self.arms.own_mean)
        return SiteContext(site, self.rewards.labelled_share, link_reward)

    def _score(
        self, arm: Arm, stats: ArmStats, context: SiteContext, in_flight: Mapping[Node, int] = NOTHING
    ) -> float:
        _, _, reward, bulk, hub, exploration, curiosity = self._parts(arm, stats, context, in_flight)
        value = reward * bulk + hub + exploration + curiosity
        return value / (1.0 + value)

    def _parts(
        self, arm: Arm, stats: ArmStats, context: SiteContext, in_flight: Mapping[Node, int] = NOTHING
    ) -> Parts:
        """Return the numbers that the score of an arm is made of, as far as labels or text decide.

        What is behind a page counts while none like it is in flight, by labels of its URL pattern, by text of
        its link path: else what that shows is waited for, and lists beside it cost more than they bring.

        What every page links to is worth at most what a link of a list is: pages about the site may have much
        text, and yet are seldom what it is for. Lists in a menu are opened no later for it.

        A try teaches something of the links that wait beside it, so exploring counts by these. An arm of few
        links that nobody tried (menus, pages about the site) comes after the others, and among arms of like
        reward the one that holds the bulk of the site comes first.
        """
        p, (site, share, a_link) = self.params, context
        mean, hub, pulls, bonus = stats
        if mean < 0.0:  # not `max`: each arm of a page is valued anew
            mean = 0.0
        t, waiting, unlabelled = self.tunables, self.arms.waiting(arm), 1.0 - share
        reward, menu = mean, self.menus.share(arm)
        if reward > a_link:
            reward -= unlabelled * menu * (reward - a_link)
        worth_trying = waiting / (waiting + t.half_saturation)
        bulk = 1.0 + unlabelled * t.bulk * waiting / (waiting + t.bulk_half_saturation)
        untried = t.prior_weight / (t.prior_weight + pulls)
        trust = t.trust * (1.0 - untried * (1.0 - worth_trying))
        beyond, by_links = 0.0, p.hub_weight * hub
        if share and not in_flight.get((arm[0], ANY)):
            beyond = self.hubs.worth(arm, site.patterns) - reward
        if reward < a_link and not in_flight.get((ANY, arm[1])):
            by_links = max(by_links, self._paid_by_list(reward, hub, a_link))
        return (
            mean,
            menu,
            reward,
            bulk,
            share * beyond + unlabelled * by_links,
            unlabelled * (p.exploration * bonus * worth_trying + trust),
            unlabelled * p.curiosity * self._curiosity(arm[1]),
        )

    def _paid_by_list(self, reward: float, hub: float, a_link: float) -> float:
        """Return what a page with links is worth per fetch, if these are fetched too, beyond its own reward.

        Its fresh links are expected to bring H = hub yield x `hub_links`, each of them `a_link` > 0:
        1 + H / a_link fetches bring reward + H. Together that is less than `a_link` for any page worth less
        itself, so lists come when the good pages known are fetched, and not before.
        """
        links = max(0.0, self.tunables.hub_links * hub)
        return (reward + links) / (1.0 + links / a_link) - reward

    def _curiosity(self, link_path: int) -> float:
        tested, pages = self.rewards.ledger.looked_at(link_path)
        started = self._warm_start.counts((ANY, link_path)) if self._warm_start is not None else None
        t = self.tunables
        untried = tested + (started[0] if started is not None else 0.0) < t.few
        return min(1.0, pages / t.few) if untried else 0.0

    def _set_starts(self) -> None:
        """Let arms start with what other sites brought, and what the URLs of examples say."""
        known = (self._warm_start, self._example_urls)
        self.arms.elsewhere = summed([said.counts for said in known if said is not None])

    def _judge_experience(self) -> None:
        """Say anew how far experience holds here; after each change of the arms."""
        if self._warm_start is not None:
            self._warm_start.judge(self.arms)

    def _count_hub(
        self, page: PageObservation, arms: Sequence[Arm], followed: list[Arm], site: SiteModel
    ) -> None:
        """Count a page by its fresh links, each under the best arm it was seen through."""
        worth: dict[Arm, float] = {}
        best: dict[int, Arm] = {}
        for key, arm, fresh in zip(page.links.keys, arms, page.fresh, strict=True):
            if not fresh and key not in best:
                continue
            if arm not in worth:
                worth[arm] = self.hubs.index(arm, site.patterns)
            if key not in best or worth[arm] > worth[best[key]]:
                best[key] = arm
        record = self.hubs.page(followed, dict(Counter(best.values())), site.patterns)
        self.hubs.add(page.key, record, site.patterns)

    def _hub_yield(self, page: PageObservation, arms: Sequence[Arm]) -> float:
        """Return min(1, expected reward of fresh links / 20), each page by its best arm here.

        Menus are on every page and fresh on one: what all pages link to makes none a hub.
        """
        fresh = set(compress(page.links.keys, page.fresh))
        if not fresh:
            return 0.0
        shown = [row for row in zip(page.links.keys, arms, strict=True) if row[0] in fresh]
        distinct = dict.fromkeys(arm for _, arm in shown)
        means = {arm: mean for arm, (mean, *_) in zip(distinct, self.arms.arm_stats(distinct), strict=True)}
        best: dict[int, float] = {}
        for key, arm in shown:
            if means[arm] > best.get(key, 0.0):
                best[key] = means[arm]
        return min(1.0, left_sum(best.values()) / self.tunables.hub_links)

    def _explanation(self, arm: Arm, stats: ArmStats, context: SiteContext) -> Explanation:
        """Name the numbers of `_parts`: reward + hub + exploration + curiosity is the value of the arm."""
        mean, menu, reward, bulk, hub, bonus, curiosity = self._parts(arm, stats, context)
        pulls, site = self.arms.pulls(arm), context.site
        pattern = site.patterns.text(arm[0]) or "any URL"
        summary = f"links of {pattern} at this tag path: {pulls:.0f} fetched, mean reward {mean:.2f}"
        return Explanation(
            summary,
            [
                Term("fetched", pulls, "pages fetched through this arm"),
                Term("mean_reward", mean, "mean reward, shrunk to tag path, URL pattern and site"),
                Term("menu", menu, "share of the pages that link to it: lowers high rewards"),
                Term(
                    "link_reward",
                    context.link_reward,
                    "reward of a link of a list, which a menu lowers towards",
                ),
                Term("bulk", bulk, "factor for how many links wait, while no label decides"),
                Term("reward", reward * bulk, "mean reward, lowered if a menu, times bulk"),
                Term("hub", hub, "credit for the links found behind it"),
                Term(
                    "fresh_links",
                    self.hubs.fresh_links(arm, site.patterns),
                    "links worth following that nobody showed before, expected behind it",
                ),
                Term(
                    "exploration",
                    bonus,
                    "bonus for what was tried, or tried little and has links waiting",
                ),
                Term("curiosity", curiosity, "bonus for untried links between texts"),
                Term("labelled", context.labelled_share, "how far labels, not text, decide"),
            ],
        )


def _arms_of(links: LinkBatch, site: SiteModel) -> list[Arm]:
    """Return the arm of each link."""
    return list(zip(links.patterns, site.link_paths.folded(links.link_paths), strict=True))


def _followed(pattern: int, contexts: Sequence[tuple[int, int]], site: SiteModel) -> list[Arm]:
    """Return the arms a URL was seen through, each once."""
    folded = site.link_paths.folded([link_path for _, link_path in contexts])
    return [(pattern, link_path) for link_path in dict.fromkeys(folded)]


def _nodes_of_all(arms: Sequence[Arm]) -> list[Node]:
    """Return every node of some arms, each once; that of the site of none."""
    return list(dict.fromkeys(node for arm in arms for node in nodes_of(*arm))) or [SITE]


def _by_link_path(arms: Mapping[Arm, int]) -> dict[int, int]:
    """Add up what is counted of arms by their link path."""
    counts: dict[int, int] = {}
    for (_, link_path), n in arms.items():
        counts[link_path] = counts.get(link_path, 0) + n
    return counts


def _between(page: PageObservation, arms: Sequence[Arm], fetched: Container[int], least: int) -> list[int]:
    """Return the link paths of which `least` links to unfetched pages each follow another block of text."""
    if len(set(page.blocks_before)) < least:
        return []
    gaps: dict[int, int] = {}
    last: dict[int, int] = {}
    seen: set[int] = set()
    for key, (_, link_path), blocks in zip(page.links.keys, arms, page.blocks_before, strict=True):
        if key in seen or key in fetched:
            continue
        seen.add(key)
        if blocks > last.get(link_path, -1):
            gaps[link_path] = gaps.get(link_path, 0) + 1
            last[link_path] = blocks
    return [link_path for link_path, n in gaps.items() if n >= least]


@lru_cache(maxsize=DEFAULTS.kept)
def _bucket(arm: Arm) -> str:
    """Return the bucket name of an arm."""
    return f"h{arm[0]}.{arm[1]:x}"


@lru_cache(maxsize=DEFAULTS.kept)
def _arm(bucket: str) -> Arm:
    """Return the arm of a bucket name, (0, 0) for a name of another policy."""
    pattern, _, link_path = bucket[1:].partition(".")
    try:
        return (int(pattern), int(link_path, 16)) if bucket[:1] == "h" else (0, 0)
    except ValueError:
        return 0, 0
