"""What the quality gate replays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields

from linkscore_lab.replay.oracles import ORACLES
from linkscore_lab.replay.policies import read_policy
from linkscore_lab.replay.runs import FEEDBACK, NONE, Case
from linkscore_lab.replay.task import Task
from linkscore_scoring.policies.base import Policy
from linkscore_scoring.policies.registry import builtin

BUDGET = "25%"
SEEDS = (1, 2, 3)
WITHOUT_RANDOMNESS = frozenset(
    {
        "breadth_first",
        "depth_first",
        "fractional_pagerank",
        "in_degree",
        "opic",
        "pagerank",
        "rank_mass",
    }
)
PROTOCOL = (
    f"user_content: wanted pages fetched / fetches allowed, {BUDGET} of the reachable pages; "
    f"target: recall at as many fetches as pages of the type; seeds {', '.join(map(str, SEEDS))}"
)


def plan(tasks: Iterable[Task]) -> Iterator[Case]:
    """Yield the crawls of one site: every policy where it makes sense, then the oracles.

    Policies that need no example crawl for user content, told nothing and, if they listen, with feedback;
    policies that need one crawl for each target. A policy without randomness runs once.
    """
    for task in tasks:
        for kind in builtin().values():
            if _needs_example(kind) == task.is_target:
                yield from _cases(task, kind)
        yield from (Case(task, NONE, read_policy(name), SEEDS[0]) for name in ORACLES)


def _cases(task: Task, kind: type[Policy]) -> Iterator[Case]:
    listens = kind.feedback is not Policy.feedback and not task.is_target
    for mode in (NONE, FEEDBACK) if listens else (NONE,):
        for seed in SEEDS[:1] if kind.name in WITHOUT_RANDOMNESS else SEEDS:
            yield Case(task, mode, read_policy(kind.name), seed)


def _needs_example(kind: type[Policy]) -> bool:
    return any(f.name == "example_html" for f in fields(kind.Params))
