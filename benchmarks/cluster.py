"""What a page costs where in a cluster: ``python -m benchmarks.cluster --brokers HOSTS --pids PID,PID,PID``.

The pages and callers of `benchmarks.workers`, sent to a front with an owner, and to one server that is
both, over brokers that run already; CPU of each of them a page. Everything shares one machine.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.pages import Corpus
from benchmarks.servers import Server, create_crawl, linkscore
from benchmarks.workers import CALLERS, PAGES, Arrangement, calls, cpu_s, send, sites_of
from linkscore.v1 import common_pb2

GROUPS = 8
CALLS = ((1, True), (10, True))
"""Pages of a call, and whether they are of one site."""


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--brokers", required=True, help="HOST:PORT,HOST:PORT,...")
    parser.add_argument("--pids", default="", help="processes of the brokers: PID,PID,...")
    parser.add_argument("--native", action="store_true", help="pages are read by the compiled reader")
    parser.add_argument("--folder", type=Path, default=Path("corpora"), help="stored sites")
    given = parser.parse_args()
    brokers = [int(pid) for pid in given.pids.split(",") if pid]
    sites = list(sites_of(Corpus(given.folder)))
    print(f"{len(sites)} sites of {PAGES} pages, {CALLERS} callers, {os.cpu_count()} processors\n")
    print("| servers | pages of a call | pages/s | CPU ms a page: front | owner | brokers |")
    print("|---|---|---|---|---|---|")
    for pages, of_one_site in CALLS:
        for roles in (("all",), ("owner", "front")):
            each = Arrangement(1, GROUPS, pages, of_one_site)
            with servers(given.brokers, roles, native=given.native) as started:
                rate, costs = measured(each, sites, started, brokers)
            *owner, last = [f"{cost:.1f}" for cost in costs[:-1]]
            front_and_owner = f"{last} | {owner[0]}" if owner else f"- | {last}"
            kind = f"{pages} of {'one site' if of_one_site else 'all sites'}"
            row = f"| {' + '.join(roles)} | {kind} | {rate:.0f} | {front_and_owner} | {costs[-1]:.1f} |"
            print(row, flush=True)


@contextmanager
def servers(brokers: str, roles: Sequence[str], *, native: bool) -> Iterator[list[Server]]:
    """Give a server of each role, the one that callers ask last."""
    log = ("--log", f"kafka://{brokers}", "--kafka-prefix", f"bench-{secrets.token_hex(4)}")
    with ExitStack() as stack:
        yield [
            stack.enter_context(
                linkscore(
                    native=native,
                    flags=(
                        *log,
                        *("--role", role, "--target-delay-s", "60"),
                        *("--peers-listen", "" if role == "front" else "127.0.0.1:0"),
                    ),
                )
            )
            for role in roles
        ]


def measured(
    each: Arrangement, sites: list[list[common_pb2.Page]], started: list[Server], brokers: Sequence[int]
) -> tuple[float, list[float]]:
    """Return pages a second, and CPU milliseconds a page of each server and of all brokers together."""
    asked = started[-1]
    crawl = create_crawl(asked, "cluster", groups=each.groups)
    requests = [request.SerializeToString() for request in calls(each, crawl, sites)]
    n = sum(map(len, sites))

    def spent_s() -> list[float]:
        return [*(cpu_s(server.pid) for server in started), sum(map(cpu_s, brokers))]

    before, began = spent_s(), time.perf_counter()
    asyncio.run(send(asked, requests))
    seconds = time.perf_counter() - began
    return n / seconds, [1e3 * (after - b) / n for after, b in zip(spent_s(), before, strict=True)]


if __name__ == "__main__":
    main()
