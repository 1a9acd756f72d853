"""``make pages MB="1 2 4 8"``: the CPU time that one page of each hostile family takes."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from time import process_time

from hostile import PAGES, Family
from linkscore_scoring.errors import InvalidPage
from linkscore_scoring.features.html import Extractor

MOST_S_PER_MB = 1.0
"""CPU seconds, beside `FIXED_S`, that a page may take."""

FIXED_S = 0.5
"""Of a page of any size: URLs may be 200 times as long as their links, until their bound."""

_TRIES = 3  # of a page that looks bad: a busy machine may have been the reason


def cost_of(family: Family, size: int) -> float:
    """Return the CPU seconds of reading one page of a family, layout and all."""
    body, extractor = family.body(size), Extractor()
    started = process_time()
    with suppress(InvalidPage):
        extractor.extract(
            body,
            url="http://a.test/b/c",
            content_type=family.content_type,
            content_encoding=family.content_encoding,
            layout=True,
        )
    return process_time() - started


def main() -> int:
    """Measure every family at every size and print those above the bound, and the worst ten."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("mb", type=float, nargs="*", default=[1.0, 2.0, 4.0, 8.0])
    bad = 0
    for mb in parser.parse_args().mb:
        costs = {}
        for name, family in PAGES.items():
            costs[name] = cost_of(family, int(mb * 1e6))
            for _ in range(_TRIES - 1):
                if costs[name] > FIXED_S + MOST_S_PER_MB * mb:
                    costs[name] = min(costs[name], cost_of(family, int(mb * 1e6)))
        above = [name for name, took in costs.items() if took > FIXED_S + MOST_S_PER_MB * mb]
        bad += len(above)
        worst = sorted(costs, key=costs.__getitem__, reverse=True)[:10]
        print(f"{mb:g} MB: {len(above)} of {len(costs)} families take more than {MOST_S_PER_MB:g} s/MB")
        print(
            *(f"  {costs[name]:.2f} s {name}" for name in dict.fromkeys([*above, *worst])),
            sep="\n",
            flush=True,
        )
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
