"""The stored sites that the papers' tables are tried on, and what is wanted on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from linkscore_lab.datasets.site import ByType
from linkscore_lab.metrics import ratio
from linkscore_lab.replay.crawl import Trace
from linkscore_lab.replay.prepare import SiteSource, prepare_site
from linkscore_lab.replay.results import RunResult
from linkscore_lab.replay.runs import USER_CONTENT, Case, Experiment, ReplayProtocol, Task, page_rewards
from linkscore_research.page_types.examples import PERMALINK_SUFFIX, LabelledArchive, find_sites

FOUR = ("forum_phpbb", "qa_q2a", "wiki_x3", "blog_wordpress")
"""Sites that the tables of SOUrCe are tried on: a forum, a Q&A site, a wiki and a blog."""


@dataclass(frozen=True, slots=True)
class PaperOptions:
    """What a table is measured on."""

    corpora: Sequence[Path] = ()  # Folders of labelled sites
    folder: Path | None = None  # Data that one table alone needs: browse logs, paths of visitors
    # Only these of the stored sites; empty: all that the table is about
    names: Collection[str] = field(default_factory=tuple)


@dataclass(slots=True)
class ForumExperiment(Experiment):
    """One that knows which page types are ENTRY, INDEX, THREAD or OTHER: its rows have forum figures too."""

    kinds: Mapping[str, str] = field(default_factory=dict)

    def result(
        self,
        case: Case,
        budget: int,
        wanted: Mapping[str, str],
        trace: Trace,
        spent: tuple[float, float],
        n_examples: int,
    ) -> RunResult:
        """Return the row of a crawl, with effectiveness and coverage (Jiang, Song, Yu and Lin 2013)."""
        run = Experiment.result(self, case, budget, wanted, trace, spent, n_examples)
        types, order = self.site.types, trace.order
        fetched = Counter(self.kinds.get(types.get(key, "")) for key in order)
        threads = self.threads()
        figures = {
            "effectiveness": ratio(fetched["THREAD"], len(order)),
            "path_share": ratio(sum(fetched[kind] for kind in ("ENTRY", "INDEX", "THREAD")), len(order)),
            "coverage": ratio(len(threads.intersection(order)), len(threads)),
        }
        return replace(run, metrics={**run.metrics, **figures})

    def threads(self) -> set[str]:
        """Return the reachable pages of kind THREAD; permalinks show what another page shows."""
        covered = {
            name
            for name, kind in self.kinds.items()
            if kind == "THREAD" and not name.endswith(PERMALINK_SUFFIX)
        }
        return {key for key in self.facts if self.site.types.get(key, "") in covered}


def stored_sites(
    options: PaperOptions, names: Collection[str], *, layout: bool = False, **protocol: Any
) -> Iterator[tuple[ForumExperiment, LabelledArchive]]:
    """Yield the stored sites of these names that are there; each is closed after its turn."""
    for found in find_sites(options.corpora):
        if found.name not in names or (options.names and found.name not in options.names):
            continue
        sources = [SiteSource([found.archive], found.labels)]
        with prepare_site(sources, workers=1, layout=layout) as site:
            kinds = {name: kind.kind for name, kind in found.types.items()}
            yield ForumExperiment(site, ReplayProtocol(**protocol), kinds=kinds), found


def user_content(experiment: Experiment, found: LabelledArchive) -> Task:
    """Return the task to find the user content of a site."""
    by_type = ByType(name for name, kind in found.types.items() if kind.user_content)
    return experiment.task(USER_CONTENT, page_rewards(experiment.site, by_type))


def target(experiment: Experiment, page_type: str, *, as_share: bool = False) -> Task:
    """Return the task to find the pages of one type.

    With `as_share` it gets as many fetches as the protocol says, not as many as there are such pages.
    """
    task = experiment.target(page_type)
    return replace(task, name=USER_CONTENT) if as_share else task
