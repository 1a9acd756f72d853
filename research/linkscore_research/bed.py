"""Policies on every labelled site of some folders, paired: `make bed CORPORA="DIR DIR"`.

Crawls are told what --mode says, take a quarter of a site, and begin at the entry and at inner pages drawn by
its name. A site is read once: what was extracted of its pages waits in a cache folder until its archive, its
labels or the code that reads pages change. The figure is wanted pages / fetches allowed.

Policies are paired with the first one, crawl by crawl; with --before each is paired with itself in an earlier
file. Standard errors are of means over sites. Choose on one half (--half choose, by lot), judge on the other.
"""

from __future__ import annotations

import math
import pickle
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from statistics import fmean, stdev

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

import linkscore_lab
import linkscore_scoring
from linkscore_lab.commands import FILE, OUT, lab_errors
from linkscore_lab.replay.prepare import SiteSource, StoredSite, cores, digest_of, prepare_site, spread
from linkscore_lab.replay.results import Input, Meta, RunResult, read_results, write_results
from linkscore_lab.replay.runs import (
    EXAMPLES,
    MODES,
    NONE,
    USER_CONTENT,
    Experiment,
    PolicyText,
    ReplayProtocol,
    cases,
    draw_starts,
    read_policy,
    reads_layout,
)
from linkscore_research.quality.measure import LabelledSite, sites_of
from linkscore_scoring.hashing import hash64

HARM = 0.02
"""A crawl that is below the one it is paired with by more is harmed. Chosen: what the notebook counts."""
_SCORING, _LAB = (Path(next(iter(package.__path__))) for package in (linkscore_scoring, linkscore_lab))
_READERS: tuple[Path, ...] = (
    _SCORING / "features",
    _SCORING / "urls",
    _SCORING / "engine/events.py",
    _LAB / "archives.py",
    _LAB / "datasets/site.py",
    _LAB / "replay/prepare.py",
)
"""Code whose change makes what was extracted stale, with the survey and the preparation of a site."""
_Crawl = tuple[str, str]
"""Site and start."""


def stored_site(site: LabelledSite, cache: Path, *, layout: bool) -> StoredSite:
    """Return a site as it was extracted before, else extract it and keep that."""
    code = [file for path in _READERS for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])]
    key = digest_of([site.archive, site.labels, *code])[:16]
    path = cache / f"{site.name}-{key}{'-layout' if layout else ''}.pickle"
    if path.exists():
        found: StoredSite = pickle.loads(path.read_bytes())  # noqa: S301 - written below
        return found
    made = prepare_site([SiteSource([site.archive], site.labels)], layout=layout)
    cache.mkdir(parents=True, exist_ok=True)
    for old in cache.glob(f"{site.name}-*.pickle"):
        old.unlink()
    path.write_bytes(pickle.dumps(made))
    return made


def crawls_of(
    site: LabelledSite,
    policies: Sequence[PolicyText],
    cache: Path,
    modes: Sequence[str],
    in_flight: Sequence[int],
    n_starts: int,
    draws: int,
) -> Iterator[RunResult]:
    """Yield the crawls of one site in each way from each start; none if nothing is wanted there."""
    with stored_site(site, cache, layout=any(map(reads_layout, policies))) as stored:
        experiments = [Experiment(stored, ReplayProtocol(in_flight=n)) for n in in_flight]
        experiment = experiments[0]
        wanted = {kind.name for kind in site.kinds if kind.user_content}
        rewards = {key: float(kind in wanted) for key, kind in stored.types.items()}
        task = experiment.task(USER_CONTENT, rewards)
        starts = draw_starts(stored, experiment.pages, n_starts)
        asked = [
            case
            for mode in modes
            for case in cases(
                [task], [mode], policies, range(1, 1 + (draws if mode == EXAMPLES else 1)), starts
            )
        ]
        todo = list(product(experiments, asked))
        if task.wanted:
            yield from spread(lambda i: todo[i][0].run(todo[i][1]), range(len(todo)), cores())


def figures(runs: Sequence[RunResult]) -> dict[str, dict[_Crawl, float]]:
    """Return wanted pages / fetches allowed of each crawl, by policy, labels and fetches in flight."""
    found: dict[str, dict[_Crawl, list[float]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        labels, beside = run.mode != NONE, run.in_flight > 1
        way = run.policy + f", {run.mode}" * labels + f", {run.in_flight} at once" * beside
        found[way][run.site, run.start].append(run.curve[-1] / run.budget if run.curve else 0.0)
    return {policy: {at: fmean(each) for at, each in rows.items()} for policy, rows in found.items()}


def paired(
    base: Mapping[_Crawl, float], other: Mapping[_Crawl, float]
) -> tuple[float, float, int, float, str]:
    """Return mean gain over sites and its standard error, crawls harmed, the worst, and where that is."""
    gains = {at: other[at] - base[at] for at in base if at in other}
    sites: dict[str, list[float]] = defaultdict(list)
    for (site, _), gain in gains.items():
        sites[site].append(gain)
    means = [fmean(each) for each in sites.values()]
    error = stdev(means) / math.sqrt(len(means)) if len(means) > 1 else math.nan
    worst = min(gains, key=gains.__getitem__)
    return fmean(means), error, sum(gain < -HARM for gain in gains.values()), gains[worst], worst[0]


def bed_table(
    now: Mapping[str, Mapping[_Crawl, float]], before: Mapping[str, Mapping[_Crawl, float]]
) -> Table:
    """Return means over sites, and what each policy is paired with."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("policy", "crawls", "mean", "paired with", "gain ± se", "harmed", "worst", "where"):
        table.add_column(heading, justify="right", no_wrap=heading in {"policy", "gain ± se"})
    first = next(iter(now))
    for policy, rows in now.items():
        sites: dict[str, list[float]] = defaultdict(list)
        for (site, _), value in rows.items():
            sites[site].append(value)
        mean = fmean(map(fmean, sites.values()))
        base = before.get(policy, {}) if before else now[first] if policy != first else {}
        cells = ["", "", "", "", ""]
        if base.keys() & rows.keys():
            gain, error, harmed, worst, where = paired(base, rows)
            cells = [
                "before" if before else first,
                f"{gain:+.4f} ± {error:.4f}",
                f"{harmed}",
                f"{worst:+.3f}",
                where,
            ]
        table.add_row(policy, f"{len(rows)}", f"{mean:.4f}", *cells)
    return table


@click.command(help=__doc__)
@click.option("--corpora", "folders", type=click.Path(path_type=Path), multiple=True, required=True)
@click.option("--policy", "policies", multiple=True, default=("breadth_first", "harvest"), show_default=True)
@click.option("--mode", "modes", type=click.Choice(MODES), multiple=True, default=(NONE,), show_default=True)
@click.option("--in-flight", type=int, multiple=True, default=(1,), help="Fetches at once; repeatable.")
@click.option("--starts", type=click.IntRange(1), default=4, show_default=True, help="The entry first.")
@click.option("--draws", type=click.IntRange(1), default=1, show_default=True, help="Of examples.")
@click.option("--site", "names", multiple=True, help="Only this one; repeatable.")
@click.option("--half", type=click.Choice(["choose", "judge"]), help="Half of the sites, by lot.")
@click.option("--cache", type=click.Path(path_type=Path), default=Path("out/bed"), show_default=True)
@click.option("--out", type=OUT, default=Path("out/bed.json"), show_default=True, help="Result file.")
@click.option("--before", type=FILE, help="An earlier result file.")
def bed(
    folders: tuple[Path, ...],
    policies: tuple[str, ...],
    modes: tuple[str, ...],
    in_flight: tuple[int, ...],
    starts: int,
    draws: int,
    names: tuple[str, ...],
    half: str | None,
    cache: Path,
    out: Path,
    before: Path | None,
) -> None:
    console = Console()
    with lab_errors():
        read = [read_policy(text) for text in policies]
        sites = [site for folder in folders for site in sites_of(folder) if not names or site.name in names]
        if half:
            sites = [site for site in sites if hash64(f"bed {site.name}") % 2 == (half == "judge")]
        runs, inputs = [], {}
        for site in sites:
            found = list(crawls_of(site, read, cache, modes, in_flight, starts, draws))
            inputs[site.name] = Input(digest_of([site.archive]))
            runs += found
            means = {policy: fmean(rows.values()) for policy, rows in figures(found).items()}
            console.print(
                site.name, *(f"{policy} {mean:.3f}" for policy, mean in means.items()), soft_wrap=True
            )
        if not runs:
            raise click.ClickException("no labelled site there has wanted pages")
        write_results(out, runs, Meta(datetime.now(UTC).isoformat(timespec="seconds"), inputs))
        console.print(bed_table(figures(runs), figures(read_results(before).runs) if before else {}))


if __name__ == "__main__":
    bed()
