"""A suite carried out: sites prepared one after the other, their crawls spread over all cores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from linkscore_lab.replay.in_process import InProcessScorer
from linkscore_lab.replay.parallel import cores, spread
from linkscore_lab.replay.policies import reads_layout
from linkscore_lab.replay.prepare import Compare, comparison, prepare_site
from linkscore_lab.replay.results import Input, RunResult
from linkscore_lab.replay.runs import Case, Experiment, MakeScorer, cases
from linkscore_lab.replay.scorer import ORACLES
from linkscore_lab.replay.stored import StoredSite
from linkscore_lab.replay.suite import Suite, SuiteSite
from linkscore_lab.replay.task import (
    NEW_TEXT,
    USER_CONTENT,
    Task,
    draw_starts,
    new_text_rewards,
    page_rewards,
    target_name,
    type_rewards,
    wanted_pages,
)
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.features.types import Words
from linkscore_scoring.policies.base import make_params
from linkscore_scoring.policies.registry import policy_class


class Progress:
    """Who watches a session; this one is not interested."""

    def said(self, line: str) -> None:
        """Hear of a site that is ready, or of something that cannot be run."""

    def at(self, what: str, done: int, total: int | None) -> None:
        """Hear how far something is: records read (of nobody knows how many), or crawls made."""


@dataclass(slots=True)
class ReplaySession:
    """One comparison."""

    suite: Suite  # What is compared
    progress: Progress = field(default_factory=Progress)  # Who watches
    make_scorer: MakeScorer = InProcessScorer  # The library in process, or a server
    workers: int = 0  # Processes; 0 means one a core
    inputs: dict[str, Input] = field(default_factory=dict)  # What was read of each site, filled while it runs

    def run(self) -> Iterator[RunResult]:
        """Yield the result of each crawl."""
        self._check_policies()
        compare = comparison(self.suite.protocol.in_words)
        sites = self.suite.sites
        for group in [sites] if self.suite.mixed else [(site,) for site in sites]:
            yield from self._run_site(group, compare)

    def _check_policies(self) -> None:
        for policy in self.suite.policies:
            if policy.name in ORACLES:
                if policy.params:
                    raise InvalidInput(f"{policy.name} has no parameters", field="policy")
                continue
            kind = policy_class(policy.name)
            example = {"example_html": "<p>"} if "example_html" in kind.Params.__slots__ else {}
            given = dict(policy.params) if "example_url" in policy.params else {**example, **policy.params}
            make_params(kind, given)

    def _run_site(self, group: Sequence[SuiteSite], compare: Compare | None) -> Iterator[RunResult]:
        name = group[0].source.archives[0].name
        wanted = self.suite.protocol.in_words
        with prepare_site(
            [entry.source for entry in group],
            workers=self.workers,
            seen_page=lambda n: self.progress.at(f"reading {name}", n, None),
            layout=any(map(reads_layout, self.suite.policies)),
            words=wanted.reads if wanted is not None else Words.NONE,
            compare=compare,
        ) as site:
            self.inputs[site.name] = Input(site.digest, site.damaged)
            kinds = {name: kind for entry in group for name, kind in entry.kinds.items()}
            experiment = Experiment(site, self.suite.protocol, kinds, self.make_scorer)
            tasks = self._tasks(experiment, group)
            self.progress.said(_opened(site, len(experiment.pages), tasks))
            yield from self._run_cases(experiment, self._cases(experiment, group, tasks))

    def _tasks(self, experiment: Experiment, group: Sequence[SuiteSite]) -> list[Task]:
        site = experiment.site
        tasks = []
        rewards = [page_rewards(site, entry.relevance) for entry in group if entry.relevance]
        if rewards:
            merged = {key: reward for part in rewards for key, reward in part.items() if reward}
            merged = {key: 0.0 for part in rewards for key in part} | merged
            tasks.append(Task(USER_CONTENT, wanted_pages(site, experiment.facts, merged), merged))
            if not tasks[0].wanted:
                raise InvalidInput(f"{site.name}: no reachable page is relevant", field="relevant")
        elif not any(entry.targets for entry in group):
            tasks.append(_new_text(experiment))
        for target in dict.fromkeys(t for entry in group for t in entry.targets):
            merged = type_rewards(site, target)
            task = Task(target_name(target), wanted_pages(site, experiment.facts, merged), merged)
            if task.wanted:
                tasks.append(task)
            else:
                self.progress.said(f"{site.name}: left out: no page of type {target} can be reached")
        return tasks

    def _cases(self, experiment: Experiment, group: Sequence[SuiteSite], tasks: Sequence[Task]) -> list[Case]:
        starts = (
            draw_starts(experiment.site, experiment.pages, self.suite.starts)
            if self.suite.starts > 1
            else [""]
        )
        modes = list(dict.fromkeys(mode for entry in group for mode in entry.modes))
        seeds = range(1, self.suite.seeds + 1)
        every = list(cases(tasks, modes, self.suite.policies, seeds, starts))
        kept = [case for case in every if experiment.applies(case)]
        if not kept:
            rule = "every policy asked for needs an example page: use mode examples or a target type"
            raise InvalidInput(rule, field="policy")
        for policy, task, mode in dict.fromkeys(
            (c.policy.text, c.task.name, c.mode) for c in every if not experiment.applies(c)
        ):
            why = f"{policy}, {task}, {mode}: needs an example page"
            self.progress.said(f"{experiment.site.name}: left out: {why}")
        return kept

    def _run_cases(self, experiment: Experiment, todo: Sequence[Case]) -> Iterator[RunResult]:
        what, workers = f"replaying {experiment.site.name}", min(len(todo), self.workers or cores())
        self.progress.at(what, 0, len(todo))
        for done, result in enumerate(
            spread(lambda i: experiment.run(todo[i]), range(len(todo)), workers), 1
        ):
            self.progress.at(what, done, len(todo))
            yield result


def _opened(site: StoredSite, n_reachable: int, tasks: Sequence[Task]) -> str:
    wanted = ", ".join(f"{task.name} {len(task.wanted):,}" for task in tasks)
    damaged = f", {site.damaged:,} damaged records skipped" if site.damaged else ""
    return f"{site.name}: {n_reachable:,} reachable of {len(site.records):,} records{damaged}; {wanted}"


def _new_text(experiment: Experiment) -> Task:
    """Return the task of a site of which nobody said what is relevant."""
    site = experiment.site
    rewards = new_text_rewards(site)
    task = Task(NEW_TEXT, wanted_pages(site, experiment.facts, rewards), rewards)
    if not task.wanted:
        rule = f"{site.name}: no reachable page has much text of its own; say what is relevant"
        raise InvalidInput(rule, field="relevant")
    return task
