"""A living site and three schedules in one picture: ``python -m linkscore_lab.revisits picture FILE.svg``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from linkscore_lab.revisits.curves import drawing, fresh_over_time
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
    curves = {rule: fresh_over_time(run).tolist() for rule, run in runs.items()}
    given.file.write_text(drawing(title, curves, days=site.days, percent=True) + "\n", encoding="utf-8")
