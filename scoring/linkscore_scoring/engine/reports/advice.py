"""Advice about one site: what the next fetches are expected to bring, what groups brought, what is a trap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from linkscore_scoring.engine.reports.traps import TrapReport, trap_reports
from linkscore_scoring.engine.shard import SiteShard
from linkscore_scoring.site.crawl_history import Group, late_worth
from linkscore_scoring.site.model import SiteModel

DEFAULT_HORIZON = 100
"""Fetches looked ahead and back unless the caller says; as in the wire contract."""
MAX_GROUPS = 20
"""A bound: groups that are listed, those with the most fetches."""
MAX_TRAPS = 20
"""A bound: suspicious parts that are listed."""
UNSURE_FETCHES = 30
"""Fetches of a site before a policy that is unsupervised is taken for unsure of it. Of 20, 30 and 50 the
first that tells sites apart well: area under the ROC curve .75, .80, .87."""
UNSURE_BELOW = 0.5
"""Mean reward it expects of the next 100 fetches below which it is. Chosen on 50 synthetic sites among .4 to
.6: the 16 it names have a regret of .21 in the mean, the others of .07:
research/notebook/when-to-stop.md."""


@dataclass(slots=True)
class GroupHistory:
    """What the links of one URL shape and tag path brought.

    Attributes
    ----------
    url_pattern, tag_path
        What they have in common; empty if not known.
    fetched, reported, waiting
        Fetches, those with feedback, and links found and not fetched.
    early, late
        Mean reward of the first and of the last half of the fetches.
    """

    url_pattern: str
    tag_path: str
    fetched: int
    reported: int
    waiting: int
    early: float
    late: float


@dataclass(slots=True)
class NamedTrap:
    """A suspicious part of the site, named by its URL pattern or its tag path."""

    url_pattern: str
    tag_path: str
    found: TrapReport


@dataclass(slots=True)
class SiteAdvice:
    """What a crawler may want to know before it goes on.

    Attributes
    ----------
    by_reward
        Rewards are those of feedback; else they say how much new text came.
    horizon
        Fetches looked ahead and back.
    waiting
        Links found and not fetched.
    expected_fetches, expected_reward
        How many of the waiting links the next `horizon` fetches can take, and the sum of rewards to expect
        when the best groups are fetched first.
    by_policy
        The policy's own estimate; else that of the histories.
    needs_examples
        Nobody said what is wanted, and the policy does not see where it would be: on sites like that three
        example pages help most.
    recent_fetches, recent_reward
        Fetches among the last `horizon` that were judged, and their mean reward.
    groups
        Groups with the most fetches.
    traps
        Suspicious parts, most fetches first.
    """

    by_reward: bool
    horizon: int
    waiting: int = 0
    expected_fetches: int = 0
    expected_reward: float = 0.0
    by_policy: bool = False
    needs_examples: bool = False
    recent_fetches: int = 0
    recent_reward: float = 0.0
    groups: list[GroupHistory] = field(default_factory=list)
    traps: list[NamedTrap] = field(default_factory=list)


def advise(shard: SiteShard, horizon: int) -> SiteAdvice:
    """Return advice about a site; changes nothing. Cost O(links remembered + histories)."""
    site = shard.model
    found = waiting_links(site)
    advice = SiteAdvice(site.history.by_reward, horizon, waiting=sum(found.values()))
    advice.recent_reward, advice.recent_fetches = site.history.recent(horizon)
    _look_ahead(advice, shard, found)
    waiting: Counter[Group] = Counter()
    for (pattern, link_path), n in found.items():
        waiting[site.patterns.resolve(pattern), link_path] += n
    names = site.link_paths.folded_names()
    advice.groups = list(_largest_groups(site, waiting, names))
    advice.traps = [
        NamedTrap(site.patterns.text(trap.shape), names.get(trap.link_path, ""), trap)
        for trap in trap_reports(site.history, site.patterns, waiting)[:MAX_TRAPS]
    ]
    return advice


def waiting_links(site: SiteModel) -> Counter[Group]:
    """Return the links found, not fetched and not reported on.

    By folded link path and by the URL pattern each link had when it was first seen, as policies know it.
    """
    raw = site.memory.waiting()
    raw.subtract(
        group for key in site.history.reported_only() if (group := site.memory.waiting_group(key)) is not None
    )
    waiting: Counter[Group] = Counter()
    for (pattern, link_path), n in raw.items():
        if n > 0:
            waiting[pattern, site.link_paths.get(link_path).folded] += n
    return waiting


def _look_ahead(advice: SiteAdvice, shard: SiteShard, waiting: Counter[Group]) -> None:
    groups = list(waiting)
    rewards, advice.by_policy = expected_rewards(shard, groups)
    best_first = sorted(
        ((reward, waiting[group]) for reward, group in zip(rewards, groups, strict=True)), reverse=True
    )
    advice.expected_fetches, advice.expected_reward = _taken(best_first, advice.horizon)
    fetches, reward = _taken(best_first, DEFAULT_HORIZON)
    advice.needs_examples = (
        shard.is_unsupervised
        and advice.by_policy
        and shard.model.history.fetches >= UNSURE_FETCHES
        and reward < UNSURE_BELOW * fetches
    )


def expected_rewards(shard: SiteShard, groups: Sequence[Group]) -> tuple[list[float], bool]:
    """Return what a fetch of each group is expected to bring, and whether the policy itself says so."""
    known = shard.served.expected_rewards(groups, shard.model)
    if known is not None:
        return known.tolist(), True
    prior = shard.model.history.prior()
    return [_expected(group, shard.model, prior) for group in groups], False


def _taken(best_first: Sequence[tuple[float, int]], horizon: int) -> tuple[int, float]:
    """Return how many links `horizon` fetches take and what they bring in all, of (reward, links)."""
    left, total = horizon, 0.0
    for reward, n in best_first:
        taken = min(left, n)
        total += taken * reward
        left -= taken
    return horizon - left, total


def _expected(group: Group, site: SiteModel, prior: float) -> float:
    """Return the reward to expect of a link by what its group brought lately, else its URL shape."""
    by_reward = site.history.by_reward
    promise = site.history.promise(site.patterns.lineage(group[0]), prior)
    history = site.history.groups.get((site.patterns.resolve(group[0]), group[1]))
    return late_worth(history, promise, by_reward=by_reward) if history is not None else promise


def _largest_groups(
    site: SiteModel, waiting: Counter[Group], names: Mapping[int, str]
) -> Iterator[GroupHistory]:
    groups, by_reward = site.history.groups_now(site.patterns), site.history.by_reward
    for group in sorted(groups, key=lambda group: -groups[group].fetched)[:MAX_GROUPS]:
        early, late = (half.worth(by_reward=by_reward) for half in groups[group].halves())
        total = groups[group].total()
        yield GroupHistory(
            site.patterns.text(group[0]),
            names.get(group[1], ""),
            round(total.fetched),
            round(total.reported),
            waiting[group],
            early,
            late,
        )
