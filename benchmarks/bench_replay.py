"""CPU of a replay beside that of parsing the same pages with lxml, and how a replay grows with the site.

Stored sites are crawled to the last reachable page; preparing a site, done once for all crawls of a
comparison, is a row of its own. Demonstration sites that grow run in processes of their own, a crawl in a
fork of the one that prepared the site: its peak memory holds the site and the crawl, nothing of other rows.
"""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import lxml.html

from benchmarks.pages import Corpus, made_pages
from benchmarks.table import Row
from linkscore_lab.archives import write_warc
from linkscore_lab.replay.prepare import SiteSource, prepare_site
from linkscore_lab.replay.runs import USER_CONTENT, Case, Experiment, ReplayProtocol, Task, read_policy
from linkscore_lab.replay.stored import StoredSite

POLICIES = ("breadth_first", "harvest")
SIZES = (3_000, 10_000, 30_000)
TARGET = 3.0
LINEAR = 1.3
_AT_ONCE = 200
_Out = TypeVar("_Out")


@dataclass(slots=True)
class Cost:
    """CPU seconds and peak memory in megabytes."""

    cpu_s: float
    peak_mb: float = 0.0


@dataclass(slots=True)
class Growth:
    """What a generated site of `pages` pages costs: to prepare, and to crawl by policy."""

    pages: int
    prepared: Cost
    crawls: dict[str, Cost] = field(default_factory=dict)


def rows(corpus: Corpus) -> list[Row]:
    """Return the rows of the stored sites that are there, then those of the generated ones."""
    found = []
    for name in corpus.names:
        archive = corpus.folder / f"{name}.warc.gz"
        if archive.exists():
            found += _in_child("fork", partial(stored_rows, name, archive))
    return found + list(growth_rows([_in_child("spawn", partial(grown, n)) for n in SIZES]))


def stored_rows(name: str, archive: Path) -> list[Row]:
    """Return a row for preparing a site and one for each policy, in CPU milliseconds a page."""
    site, preparing = _timed(lambda: prepare_site([SiteSource([archive])], workers=1))
    experiment = _bench(site)
    pages = len(experiment.pages)
    before = _parsing(site, experiment.pages)
    crawls = {policy: _timed(partial(_crawl, experiment, policy))[1] for policy in POLICIES}
    parsing = (before + _parsing(site, experiment.pages)) / 2
    row = partial(Row, source=name, unit="ms CPU/page", bare=parsing / pages * 1e3)
    found = [row("Preparing a replay, once", ours=preparing / pages * 1e3)]
    for policy, crawling in crawls.items():
        found.append(row(f"Replay, {policy}", ours=crawling / pages * 1e3, target=TARGET))
        both = (preparing + crawling) / pages * 1e3
        found.append(row(f"Replay, {policy}, and preparing", ours=both))
    return found


def grown(pages: int) -> Growth:
    """Generate, prepare and crawl a site; to be called in a fresh process."""
    with TemporaryDirectory(prefix="linkscore-experiment-") as folder:
        archive = Path(folder) / "forum.warc.gz"
        _in_child("fork", partial(_write, archive, pages))
        site, preparing = _timed(lambda: prepare_site([SiteSource([archive])], workers=1))
    experiment = _bench(site)
    found = Growth(len(experiment.pages), Cost(preparing, _peak_mb()))
    for policy in POLICIES:
        found.crawls[policy] = _in_child("fork", partial(_cost, experiment, policy))
    return found


def _write(archive: Path, pages: int) -> None:
    write_warc(archive, {page.url: page.body for page in made_pages(pages)})


def growth_rows(found: list[Growth]) -> Iterator[Row]:
    """Yield cost a page beside that of the smallest site, peak memory, and memory by 1,000 further pages."""
    for name in ("preparing", *POLICIES):
        costs = {g.pages: g.crawls.get(name, g.prepared) for g in found}
        least, *_ = (cost.cpu_s / n for n, cost in costs.items())
        for n, cost in costs.items():
            bare = None if n == found[0].pages else least * 1e3
            target = None if bare is None else LINEAR
            yield Row(f"Growth, {name}", f"{n:,} pages", cost.cpu_s / n * 1e3, "ms CPU/page", bare, target)
        for n, cost in costs.items():
            yield Row(f"Peak memory, {name}", f"{n:,} pages", cost.peak_mb, "MB")
        for (n, cost), (m, more) in pairwise(costs.items()):
            per = (more.peak_mb - cost.peak_mb) / (m - n) * 1e3
            yield Row(f"Memory of 1,000 pages, {name}", f"{n:,} to {m:,} pages", per, "MB")


def _bench(site: StoredSite) -> Experiment:
    return Experiment(site, ReplayProtocol(budget="100%"))


def _crawl(experiment: Experiment, policy: str) -> None:
    threads = {key: "" for key in experiment.facts if "/t/" in key}
    result = experiment.run(Case(Task(USER_CONTENT, threads), "none", read_policy(policy), 1))
    assert result.fetched == len(experiment.pages)


def _cost(experiment: Experiment, policy: str) -> Cost:
    _, spent = _timed(partial(_crawl, experiment, policy))
    return Cost(spent, _peak_mb())


def _parsing(site: StoredSite, pages: list[int]) -> float:
    """Return CPU seconds of parsing the bodies; reading them back is not counted."""
    spent = 0.0
    for at in range(0, len(pages), _AT_ONCE):
        bodies = [body for n in pages[at : at + _AT_ONCE] if (body := site.body(n)).strip()]
        spent += _timed(partial(_parse, bodies))[1]
    return spent


def _parse(bodies: list[bytes]) -> None:
    for body in bodies:
        lxml.html.document_fromstring(body)


def _timed(work: Callable[[], _Out]) -> tuple[_Out, float]:
    before = time.process_time()
    return work(), time.process_time() - before


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def _in_child(start: str, work: Callable[[], _Out]) -> _Out:
    """Return what `work` returns in a process of its own, forked with all that is there or spawned bare."""
    context = multiprocessing.get_context(start)
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_send, args=(sender, work))
    child.start()
    sender.close()
    found: _Out = receiver.recv()
    child.join()
    return found


def _send(sender: Connection, work: Callable[[], object]) -> None:
    sender.send(work())
