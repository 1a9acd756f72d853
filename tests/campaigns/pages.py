"""``make pages MB="1 2 4 8"``: the CPU time of a call that brings one page of a hostile family.

Measured at a server of its own, its workers included: reading the page, taking it into the site, scoring its
links and the answer. The crawl reads layouts too, which costs most.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from linkscore.v1 import common_pb2 as common
from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore.v1 import policy_pb2
from support.hostile import PAGES, Family
from support.server_process import ServerProcess, Stubs, serving, stubs

MOST_S_PER_MB, MOST_S = 1.0, 2.0
"""CPU seconds that a page may take: for each MB, and in all."""

CRAWL = "crawls/pages"
_TRIES = 3  # of a page that looks bad: a busy machine may have been the reason
_SHOWN = 10  # families of each size that are printed
_TICKS = os.sysconf("SC_CLK_TCK")
_CPU_FIELDS = slice(11, 15)  # utime, stime and those of children that ended, behind the name: proc(5)


@dataclass(frozen=True, slots=True)
class Cost:
    """What a call took, and how it ended."""

    cpu_s: float
    outcome: str


class Caller:
    """Sends pages to a server, each to a site that has none."""

    def __init__(self, server: ServerProcess, connected: Stubs) -> None:
        self._pid = server.process.pid
        self._stubs = connected
        self._sent = 0
        policies = [policy_pb2.PolicySpec(focus=policy_pb2.FocusParams())]
        crawl = crawl_pb.Crawl(name=CRAWL, extra_policies=policies)
        connected.crawls.CreateCrawl(crawl_pb.CreateCrawlRequest(crawl=crawl), timeout=60)
        self.cost_of(PAGES["tags in names"], 1_000_000)  # imports, and the worker that reads large pages

    def cost_of(self, family: Family, size: int) -> Cost:
        """Send one page of a family."""
        self._sent += 1
        page = common.Page(
            url=f"http://s{self._sent}.test/b/c",
            status_code=200,
            body=family.body(size),
            content_type=family.content_type,
            content_encoding=family.content_encoding,
        )
        started = _cpu_ticks(self._pid)
        request = pb.IngestPagesRequest(crawl=CRAWL, pages=[page])
        [result] = self._stubs.links.IngestPages(request, timeout=120).results
        took_s = (_cpu_ticks(self._pid) - started) / _TICKS
        status = result.status
        return Cost(
            took_s, status.problems[0].reason if status.problems else " ".join(status.notes) or "read"
        )


def main() -> int:
    """Measure every family at every size and print those above the bounds, and the worst ten.

    Sizes go up, and what is above a bound is tried no further: so the run ends, whatever a page costs.
    """
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("mb", type=float, nargs="*", default=[1.0, 2.0, 4.0, 8.0])
    sizes = sorted(parser.parse_args().mb)
    with (
        tempfile.TemporaryDirectory(prefix="linkscore-pages-") as scratch,
        serving(Path(scratch), "--log-level", "error") as server,
        stubs(server.target) as connected,
    ):
        above = campaign(Caller(server, connected), sizes)
    print(f"{len(PAGES)} families, {len(above)} above the bounds")
    return bool(above)


def campaign(caller: Caller, sizes: list[float]) -> set[str]:
    """Return the names of the families that cost too much."""
    above: set[str] = set()
    for mb in sizes:
        most = min(MOST_S, MOST_S_PER_MB * mb)
        costs = {name: _least_cost(caller, PAGES[name], mb, most) for name in PAGES.keys() - above}
        found = {name for name, cost in costs.items() if cost.cpu_s > most}
        above |= found
        worst = sorted(costs, key=lambda name: costs[name].cpu_s, reverse=True)
        cut = sum(cost.outcome == "LIMIT_EXCEEDED" for cost in costs.values())
        middle = median(cost.cpu_s for cost in costs.values())
        print(
            f"{mb:g} MB: {len(found)} of {len(costs)} families take more than {most:g} s;"
            f" the median {middle:.2f} s, {cut} end by their CPU time"
        )
        for name in worst[: max(_SHOWN, len(found))]:
            print(f"  {costs[name].cpu_s:.2f} s {name}: {costs[name].outcome}", flush=True)
    return above


def _least_cost(caller: Caller, family: Family, mb: float, most: float) -> Cost:
    """Return the least cost of some tries, if the first is above the bound."""
    cost = caller.cost_of(family, int(mb * 1e6))
    for _ in range(_TRIES - 1):
        if cost.cpu_s > most:
            cost = min(cost, caller.cost_of(family, int(mb * 1e6)), key=lambda found: found.cpu_s)
    return cost


def _cpu_ticks(pid: int) -> int:
    """Return the CPU time of a process and of the processes it started, those that ended included."""
    ticks = 0
    with suppress(FileNotFoundError, ProcessLookupError):  # a worker that has just ended: its parent has it
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks = sum(map(int, fields[_CPU_FIELDS]))
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            ticks += sum(map(_cpu_ticks, map(int, children.read_text().split())))
    return ticks


if __name__ == "__main__":
    sys.exit(main())
