"""Measure everything and print one table: ``python -m benchmarks [--corpora DIR] [--only NAME ...]``.

Input are the sites found in DIR (default: the environment variable LINKSCORE_CORPORA, else ``corpora``), and
the demonstration site where there are none. Ratios are ours over that of a bare server in the same run.
"""

from __future__ import annotations

import argparse
import os
import platform
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import (
    bench_budget,
    bench_heavy,
    bench_ingest,
    bench_peers,
)
from benchmarks.pages import Corpus
from benchmarks.table import Row, lines

BENCHMARKS: dict[str, Callable[[Corpus], list[Row]]] = {
    "ingest": bench_ingest.run,
    "peers": bench_peers.run,
    "budget": bench_budget.run,
    "heavy": bench_heavy.run,
}


def main() -> None:
    """Run the benchmarks asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpora", type=Path, default=Path(os.environ.get("LINKSCORE_CORPORA", "corpora")))
    parser.add_argument("--only", nargs="*", choices=BENCHMARKS, default=list(BENCHMARKS))
    args = parser.parse_args()
    corpus = Corpus(args.corpora)
    print(f"input: {', '.join(corpus.names)}; {interpreter()}", flush=True)
    rows: list[Row] = []
    for name in args.only:
        started = time.perf_counter()
        rows += BENCHMARKS[name](corpus)
        print(f"{name}: {time.perf_counter() - started:.0f} s", flush=True)
    print("", *lines(rows), sep="\n")


def interpreter() -> str:
    """Return what runs this, and how it was built: a build guided by profiles is faster by some tenths."""
    options = sysconfig.get_config_var("CONFIG_ARGS") or ""
    built = {"PGO": "--enable-optimizations" in options, "LTO": "--with-lto" in options}
    kinds = ", ".join(f"{name}: {'yes' if used else 'no'}" for name, used in built.items())
    return f"{platform.python_implementation()} {platform.python_version()} ({kinds})"


if __name__ == "__main__":
    main()
