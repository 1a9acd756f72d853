"""Sites with their target pages: synthetic ones by seed, and stored ones with user content."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from linkscore_lab.replay.prepare import SiteSource, prepare_generated, prepare_site
from linkscore_lab.replay.runs import Experiment, ReplayProtocol
from linkscore_lab.replay.stored import StoredSite
from linkscore_lab.replay.task import USER_CONTENT, Task, type_rewards, wanted_pages
from linkscore_research.quality.measure import BUDGET, sites_of
from linkscore_research.zoo import SyntheticSite


def wanted_on(
    corpora: Sequence[Path], seeds: Sequence[int], names: Collection[str] = ()
) -> Iterator[tuple[Experiment, Task]]:
    """Yield each site with the task to find its user content in a quarter of it; it is closed after its turn.

    Parameters
    ----------
    corpora
        Folders of stored sites.
    seeds
        Sites of the synthetic corpus.
    names
        Only these of the stored ones; empty: all.
    """
    for seed in seeds:
        with opened(SyntheticSite(seed)) as found:
            yield found
    for stored in (each for folder in corpora for each in sites_of(folder)):
        if not names or stored.name in names:
            with prepare_site([SiteSource([stored.archive], stored.labels)], workers=1) as site:
                yield _experiment(site, {kind.name for kind in stored.kinds if kind.user_content})


@contextmanager
def opened(generated: SyntheticSite) -> Iterator[tuple[Experiment, Task]]:
    """Give a site of the synthetic corpus with the task to find its user content; it is closed afterwards."""
    with prepare_generated(generated) as site:
        yield _experiment(site, generated.wanted_types)


def _experiment(site: StoredSite, wanted: Collection[str]) -> tuple[Experiment, Task]:
    experiment = Experiment(site, ReplayProtocol(budget=BUDGET))
    rewards: dict[str, float] = {}
    for kind in wanted:
        rewards |= {
            key: max(reward, rewards.get(key, 0.0)) for key, reward in type_rewards(site, kind).items()
        }
    return experiment, Task(USER_CONTENT, wanted_pages(site, experiment.facts, rewards), rewards)
