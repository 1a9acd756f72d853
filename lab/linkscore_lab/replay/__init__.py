"""Crawl stored sites again under any policy, and compare what came of it.

`run` is the way in from Python, `linkscore replay` the command. A site is read
once (`prepare_site`) and crawled again for each task, policy, mode, start and seed; a row of results is a
`RunResult`.
"""

from linkscore_lab.replay.prepare import SiteSource, prepare_site
from linkscore_lab.replay.results import (
    Meta,
    Results,
    RunResult,
    print_summary,
    read_results,
    write_results,
)
from linkscore_lab.replay.runs import ReplayProtocol, read_policy
from linkscore_lab.replay.session import Progress, ReplaySession, run

__all__ = [
    "Meta",
    "Progress",
    "ReplayProtocol",
    "ReplaySession",
    "Results",
    "RunResult",
    "SiteSource",
    "prepare_site",
    "print_summary",
    "read_policy",
    "read_results",
    "run",
    "write_results",
]
