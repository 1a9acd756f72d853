"""Replay stored sites and hold the figures against a baseline: ``python -m linkscore_lab.quality``.

Exit code 0: nothing was lost, or there are no sites to replay. 1: a figure fell by more than its band.
2: refused, nothing was compared: other inputs than the baseline's, no baseline, a bad option.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from linkscore_lab.quality.gate import Request, run_gate
from linkscore_scoring.errors import InvalidInput


def main(argv: Sequence[str] | None = None, console: Console | None = None) -> int:
    """Run the gate and return its exit code."""
    console = console or Console()
    args = _parser().parse_args(argv)
    started = time.perf_counter()
    request = Request(
        corpora=args.corpora,
        baseline=args.baseline,
        update=args.update,
        accepted=frozenset(args.accept_loss),
        new_inputs=args.new_inputs,
        because=args.because,
        workers=args.workers,
        on=datetime.now(UTC).date().isoformat(),
    )
    try:
        code = run_gate(request, console)
    except InvalidInput as exc:
        console.print(f"quality: refused: {exc}", style="red", markup=False, soft_wrap=True)
        return 2
    console.print(f"quality: {time.perf_counter() - started:.0f} s", soft_wrap=True)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m linkscore_lab.quality",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    folder = os.environ.get("LINKSCORE_CORPORA", "../shared/corpora")
    add = parser.add_argument
    add("--corpora", type=Path, default=Path(folder), help="folder of labelled sites (default: %(default)s)")
    add("--baseline", type=Path, default=Path("tests/quality/baseline.json"), help="(default: %(default)s)")
    add("--workers", type=int, default=0, help="processes; 0 is one a core")
    add("--update", action="store_true", help="write gains and new figures into the baseline")
    add(
        "--accept-loss",
        action="append",
        default=[],
        metavar="SITE:TASK:MODE:POLICY",
        help="with --update: lower this figure; repeatable",
    )
    add("--new-inputs", action="store_true", help="with --update: the sites or the protocol were exchanged")
    add("--because", default="", metavar="REASON", help="why; kept in the baseline")
    return parser


if __name__ == "__main__":
    sys.exit(main())
