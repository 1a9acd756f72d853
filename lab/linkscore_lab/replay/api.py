"""Replays from Python: crawl a stored site under some policies, and get a row for each crawl."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from linkscore_lab.datasets.relevance import Relevance
from linkscore_lab.replay.policies import read_policy
from linkscore_lab.replay.prepare import SiteSource
from linkscore_lab.replay.results import RunResult
from linkscore_lab.replay.runs import NONE, ReplayProtocol
from linkscore_lab.replay.session import Progress, ReplaySession
from linkscore_lab.replay.suite import Suite, SuiteSite, check_suite


def run(
    archives: Sequence[Path],
    policies: Sequence[str] = ("breadth_first", "harvest"),
    *,
    relevance: Relevance | None = None,
    targets: Sequence[str] = (),
    labels: Path | None = None,
    url_list: Path | None = None,
    modes: Sequence[str] = (NONE,),
    seeds: int = 1,
    starts: int = 1,
    workers: int = 1,
    progress: Progress | None = None,
    **protocol: Any,
) -> list[RunResult]:
    """Crawl a stored site again under each policy and return what came of it, one row a crawl.

    What `linkscore replay` does without files and tables. Deterministic, but for the seconds spent.

    Parameters
    ----------
    archives
        WARC files or WACZ packages read as one site, or one folder of pages with `url_list`.
    policies
        Each ``NAME`` or ``NAME:param=value,...``; ``oracle_label`` and ``oracle_greedy`` are bounds.
    relevance
        Which pages are wanted: `ByType`, `ByUrl`, `ByStructuredData` or `ByFeedback` of
        `linkscore_lab.datasets.relevance`. None: only `targets` are tasks; without those too, pages with
        text of their own are wanted.
    targets
        Page types that are a task each, with a budget of as many fetches as there are such pages.
    labels
        TSV of ``url`` and ``page_type``; needed by `ByType` and `targets`.
    url_list
        Which file of a folder has which URL.
    modes
        What crawls learn of labels: ``none``, ``examples``, ``feedback``, or several of them.
    seeds, starts
        Repetitions with seeds 1..n, and start pages: the entry and n - 1 drawn at random.
    workers
        Processes; 0 means one a core.
    progress
        Hears how far it is; None: nobody.
    protocol
        Fields of `ReplayProtocol`: ``budget="25%"``, ``n_examples=3``, ``obey_verdicts=True`` ...

    Raises
    ------
    InvalidInput
        If an input cannot be read or a value is out of range; the message names the field.

    Examples
    --------
    A shop of twenty items, four on each list page, stored as a WARC file. Items are wanted; breadth-first
    reads the many pages about the shop first.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from linkscore_lab import replay
    >>> from linkscore_lab.archives import write_warc
    >>> from linkscore_lab.datasets.relevance import ByUrl
    >>> def page(links, text=""):
    ...     return f"<p>{text}</p>" + "".join(f'<a href="{link}">{link}</a>' for link in links)
    >>> home, lists = "http://shop.test/", range(5)
    >>> site = {home: page([f"/about/{n}" for n in range(9)] + [f"/list/{n}" for n in lists])}
    >>> site |= {f"{home}about/{n}": page(["/"], "about us") for n in range(9)}
    >>> site |= {f"{home}list/{n}": page([f"/item/{n}{i}" for i in range(4)]) for n in lists}
    >>> site |= {f"{home}item/{n}{i}": page(["/"], f"item {n}{i}, " * 20) for n in lists for i in range(4)}
    >>> policies = ["breadth_first", "oracle_greedy"]
    >>> with TemporaryDirectory() as folder:
    ...     warc = write_warc(Path(folder) / "shop.warc.gz", site)
    ...     rows = replay.run([warc], policies, relevance=ByUrl("/item/"), budget="20")
    >>> [(row.policy, row.fetched, row.curve[-1], row.metrics["valid_ratio"]) for row in rows]
    [('breadth_first', 20, 5, 0.25), ('oracle_greedy', 20, 15, 0.75)]
    """
    site = SuiteSite(
        SiteSource(list(archives), labels, url_list), relevance, tuple(targets), modes=tuple(modes)
    )
    suite = Suite(
        (site,),
        tuple(read_policy(text) for text in policies),
        ReplayProtocol(**protocol),
        seeds=seeds,
        starts=starts,
    )
    check_suite(suite)
    return list(ReplaySession(suite, progress or Progress(), workers=workers).run())
