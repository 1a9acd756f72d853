"""Compare schedules of revisits on histories: ``python -m linkscore_research.revisits [LOG ...]``.

Without a log the living synthetic corpus is taken. For each site and number of fetches a line of each
schedule: freshness, as a share of the oracle's too, age, delay of discovery, share of fetches that found
nothing new.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from linkscore_research.revisits import history, picture, scrapy_runs
from linkscore_research.revisits.histories import SiteHistory, living, read_log
from linkscore_research.revisits.replay import SCHEDULES, Listed, Noticed, Oracle, replay, schedule_named

_COMMANDS: dict[str, Callable[[list[str]], object]] = {
    "history": history.history,
    "picture": picture.main,
    "scrapy": scrapy_runs.main,
}


def main() -> None:
    """Print the table, or do what the first argument names."""
    command = _COMMANDS.get(sys.argv[1] if sys.argv[1:] else "")
    if command is not None:
        command(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(prog="python -m linkscore_research.revisits", description=__doc__)
    parser.add_argument("logs", nargs="*", type=Path, help="logs of changes: tab-separated page, time, kind")
    parser.add_argument("--hub", default="", help="page of a log that lists all others")
    parser.add_argument("--no-bulk", action="store_true", help="leave edits of many pages at once out")
    parser.add_argument("--seeds", type=int, default=8, help="living sites, if there is no log")
    parser.add_argument("--first-seed", type=int, default=100, help="seed of the first of them")
    parser.add_argument("--fetches", type=float, nargs="+", default=[1.0], help="a page and year")
    parser.add_argument("--objective", default="both", help="both, freshness or discovery")
    parser.add_argument("--rules", nargs="+", default=SCHEDULES, choices=SCHEDULES)
    parser.add_argument("--sitemap", action="store_true", help="with a sitemap too, honest and lying")
    parser.add_argument(
        "--notices", action="store_true", help="with notices of changes too, honest and lying"
    )
    given = parser.parse_args()
    print(
        f"{'site':14} {'a year':>6} {'schedule':13} "
        f"{'fresh':>6} {'/oracle':>7} {'age d':>6} {'delay d':>7} wasted"
    )
    for site in _sites(given):
        for per_year in given.fetches:
            best = replay(site, Oracle(site, given.objective), per_year)
            found = {"oracle": best}
            for rule in given.rules:
                found[rule] = replay(site, schedule_named(rule, given.objective), per_year)
            if given.sitemap:
                for name, lies in (("sitemap", False), ("lying sitemap", True)):
                    found[name] = replay(site, Listed(site, lies=lies), per_year)
            if given.notices:
                for name, lies in (("notices", False), ("lying notices", True)):
                    found[name] = replay(site, Noticed(site, lies=lies), per_year)
            for rule, row in found.items():
                share = row.freshness / best.freshness if best.freshness else 1.0
                print(
                    f"{site.name:14} {per_year:6g} {rule:13} {row.freshness:6.4f} {share:7.3f} "
                    f"{row.age_days:6.1f} {row.delay_days:7.2f} {row.wasted:6.3f}",
                    flush=True,
                )


def _sites(given: argparse.Namespace) -> Iterator[SiteHistory]:
    for path in given.logs:
        yield read_log(path, bulk=not given.no_bulk, hub=given.hub)
    if not given.logs:
        for seed in range(given.first_seed, given.first_seed + given.seeds):
            yield living(seed)


if __name__ == "__main__":
    main()
