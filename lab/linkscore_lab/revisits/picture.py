"""A living site and three schedules in one picture: ``python -m linkscore_lab.revisits picture FILE.svg``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from linkscore_lab.report.drawing import drawn
from linkscore_lab.revisits.curves import chart, fresh_over_time
from linkscore_lab.revisits.histories import living
from linkscore_lab.revisits.replay import Learned, follow

_RULES = ("greedy", "adaptive", "fixed")


def main(argv: Sequence[str]) -> None:
    """Write the picture, and print what each schedule reached."""
    parser = argparse.ArgumentParser(prog="python -m linkscore_lab.revisits picture", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--seed", type=int, default=100, help="of the living site")
    parser.add_argument("--fetches", type=float, default=4.0, help="a page and year")
    given = parser.parse_args(argv)
    site = living(given.seed)
    runs = {rule: follow(site, Learned(rule), given.fetches) for rule in _RULES}
    for rule, run in runs.items():
        print(f"{rule:10} {run.measured().freshness:.3f} fresh, {run.total:,} fetches")
    title = f"Fresh copies of {len(site.pages)} pages, {given.fetches:g} fetches a page and year"
    curves = {rule: fresh_over_time(run) for rule, run in runs.items()}
    picture = drawn(chart(title, "share of copies that are fresh", curves, site.days))
    given.file.write_text(f"{picture}\n", encoding="utf-8")
