"""Crawl stored sites again under any policy, and compare what came of it.

`run` is the way in from Python, `linkscore replay` the command. A site is read once and crawled again for
each task, policy, mode, start and seed; a row of results is a `RunResult`.
"""

from linkscore_lab.replay.results import RunResult, read_results
from linkscore_lab.replay.runs import ReplayProtocol
from linkscore_lab.replay.session import Progress, run

__all__ = ["Progress", "ReplayProtocol", "RunResult", "read_results", "run"]
