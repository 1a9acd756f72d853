"""What does `Crawl.copies` keep out at what cost? `python -m linkscore_research.copies --corpora DIR`.

Sites are crawled to their end by a policy, with and without the setting; a link is asked about once more
before it is fetched. Copies are the pages of types that only copy others, `--copies TYPE`. Of the synthetic
corpus each site is given a session key, or an order, on every page.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from linkscore_lab.datasets.site import Reply, identity
from linkscore_lab.replay.in_process import InProcessScorer
from linkscore_lab.replay.policies import read_policy
from linkscore_lab.replay.results import RunResult
from linkscore_lab.replay.runs import FEEDBACK, NONE, Case, Experiment, ReplayProtocol
from linkscore_lab.replay.scorer import CrawlSetup, PageScores, ReplayVisit
from linkscore_lab.replay.stored import StoredSite
from linkscore_lab.replay.task import Task
from linkscore_research.tuning.options import CORPORA, JUDGE, SITE
from linkscore_research.tuning.options import synthetic as synthetic_sites
from linkscore_research.tuning.sites import opened, wanted_on
from linkscore_research.zoo import CHOOSING, JUDGING, SyntheticSite
from linkscore_scoring.hashing import hash64

_HREF = re.compile(r'href="(/[^"]*)"')
_PARAGRAPHS = re.compile(r"(?:<p>.*?</p>)+")
_SESSIONS = 3
"""Sessions that the links of a site are of."""
COPY = "generated_copy"


class CopiedSite(SyntheticSite):
    """A generated site whose pages have three copies each: of sessions, or in another order of text.

    Copies have the page type `COPY`, and are not wanted. Pages of a session link pages of it; others link
    pages of a session beside those of none, as a site does that tells visitors by links.
    """

    def __init__(self, seed: int, kind: str) -> None:
        super().__init__(seed)
        self.kind, self.name = kind, f"{self.name}_{kind}"
        self._labels = super().labels()
        own = super().urls()
        self._urls = [*own, *(self._with(url, n) for url in own for n in range(_SESSIONS))]

    def urls(self) -> list[str]:
        """Return the URL of every page and copy."""
        return self._urls

    def labels(self) -> Mapping[str, str]:
        """Return the page type of every page and copy by identity."""
        copies = {identity(url): COPY for url in self._urls}
        return {**copies, **self._labels}

    def respond(self, url: str) -> Reply:
        """Return a page, its links and its order as of the kind of its copies."""
        plain, _, value = re.sub(r"[?&](s|order)=([0-9])$", r"#\2", url).partition("#")
        reply = super().respond(plain)
        if reply.status != 200:
            return reply
        text = reply.body.decode()
        path = plain.removeprefix(self.entry.rstrip("/"))
        if self.kind == "session":
            session = int(value) if value else hash64(url) % _SESSIONS
            targets = dict.fromkeys(_HREF.findall(text))
            more = [self._with(path, session)] if value else [self._with(to, session) for to in targets]
            if value:
                text = _HREF.sub(lambda found: f'href="{self._with(found[1], session)}"', text)
        else:
            more = [self._with(path, n) for n in range(_SESSIONS)]
            text = _PARAGRAPHS.sub(lambda found: _reordered(found[0], value), text)
        added = "".join(f'<a href="{to}">{n}</a>' for n, to in enumerate(more))
        text = text.replace("</body>", f"{added}</body>")
        return reply._replace(body=text.encode())

    def _with(self, url: str, value: int) -> str:
        name = "s" if self.kind == "session" else "order"
        return f"{url}{'&' if '?' in url else '?'}{name}={value}"


def _reordered(paragraphs: str, value: str) -> str:
    """Return paragraphs in the order of a copy, as they are for none."""
    if not value:
        return paragraphs
    parts = re.findall(r"<p>.*?</p>", paragraphs)
    return "".join(sorted(parts, key=lambda part: hash64(value + part)))


class WatchedScorer(InProcessScorer):
    """The library; notes when a hypothesis was first sure enough, and the copies fetched by then."""

    def __init__(self, setup: CrawlSetup, copies: frozenset[str]) -> None:
        super().__init__(setup)
        self._copies = copies
        self.visits = self.before = self.fetched = 0
        self.known_at = 0
        self.least = (setup.limits.get("copies") or {}).get("skip_above", 2.0)

    def visit(self, site: StoredSite, visit: ReplayVisit) -> PageScores:
        """See `CrawlScorer.visit`."""
        scores = super().visit(site, visit)
        self.visits += 1
        self.fetched += site.records[visit.number].key in self._copies
        if self.known_at:
            return scores
        self.before = self.fetched
        name = self.model.site_of(site.records[visit.number].url)
        shard = self.model.shard(name)
        told = [h for limit in shard.limits.values() for h in limit.hypotheses(shard.model)]
        if any(h.probability >= self.least for h in told):
            self.known_at = self.visits
        return scores

    def told(self) -> list[str]:
        """Return the hypotheses in use."""
        shards = list(self.model.sites.values())
        told = [h for s in shards for limit in s.limits.values() for h in limit.hypotheses(s.model)]
        return [f"{h.name} {h.agreed}/{h.tries} {h.probability:.2f}" for h in told if h.probability >= 0.5]


@click.command(help=__doc__)
@CORPORA
@SITE
@synthetic_sites(0)
@JUDGE
@click.option("--copies", "copy_types", multiple=True, help="Page type of copies; repeatable.")
@click.option("--skip-above", default=0.9, help="Copies.skip_above.")
@click.option("--policy", default="harvest")
@click.option("--budget", default="100%")
@click.option("--feedback", is_flag=True, help="With feedback; else without labels.")
@click.option("--told", is_flag=True, help="Show the hypotheses.")
def copies(
    corpora: Sequence[Path],
    names: Sequence[str],
    synthetic: int,
    judge: bool,
    copy_types: Sequence[str],
    skip_above: float,
    policy: str,
    budget: str,
    feedback: bool,
    told: bool,
) -> None:
    seeds = (JUDGING if judge else CHOOSING)[:synthetic]
    types = {COPY, *copy_types}
    for experiment, task in _sites(corpora, names, seeds):
        case = Case(task, FEEDBACK if feedback else NONE, read_policy(policy), seed=1)
        site = experiment.site
        found = frozenset(k for k in experiment.facts if site.types.get(k) in types)
        free = _run(experiment, case, found, {}, budget)
        kept = _run(experiment, case, found, {"copies": {"skip_above": skip_above}}, budget)
        _say(site.name, len(found), free, kept)
        if told:
            click.echo("\n".join(f"    {line}" for line in kept.scorer.told()[:20]))


class _Run(NamedTuple):
    """A crawl: its result, the copies it fetched, and its scorer."""

    result: RunResult
    copies: int
    scorer: WatchedScorer


def _run(
    experiment: Experiment, case: Case, found: frozenset[str], limits: Mapping[str, Any], budget: str
) -> _Run:
    made: list[WatchedScorer] = []

    def watched(setup: CrawlSetup) -> WatchedScorer:
        made.append(WatchedScorer(setup, found))
        return made[-1]

    experiment.make_scorer = watched
    experiment.protocol = ReplayProtocol(budget=budget, obey_verdicts=True, limits=limits)
    result = experiment.run(case)
    return _Run(result, made[0].fetched, made[0])


def _say(name: str, n_copies: int, free: _Run, kept: _Run) -> None:
    before, after = free.result, kept.result
    recall = [result.curve[-1] / result.n_wanted for result in (before, after)]
    cpu = [1e3 * result.cpu_seconds / result.fetched for result in (before, after)]
    skipped = n_copies - kept.copies
    later = n_copies - kept.scorer.before
    click.echo(
        f"{name:20} recall {recall[0]:.4f} -> {recall[1]:.4f} "
        f"of {before.n_wanted}, fetches {before.fetched} -> {after.fetched}, skipped "
        f"{skipped / max(1, n_copies):.3f} of {n_copies} copies, {skipped / max(1, later):.3f} after "
        f"{kept.scorer.known_at}, ms a page {cpu[0]:.2f} -> {cpu[1]:.2f}"
    )


def _sites(
    corpora: Sequence[Path], names: Sequence[str], seeds: Sequence[int]
) -> Iterator[tuple[Experiment, Task]]:
    for seed in seeds:
        for kind in ("session", "order"):
            with opened(CopiedSite(seed, kind)) as found:
                yield found
    yield from wanted_on(corpora, (), names)


if __name__ == "__main__":
    sys.exit(copies())
