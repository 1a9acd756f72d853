"""Replay stored sites and hold the figures against a baseline: ``python -m linkscore_research.quality``.

Exit code 0: nothing was lost, or there are no sites to replay. 1: a figure fell by more than its band.
2: refused, nothing was compared: other inputs than the baseline's, no baseline, a bad option.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from linkscore_research.quality.gate import Request, run_gate
from linkscore_scoring.errors import InvalidInput


@click.command(help=__doc__)
@click.option(
    "--corpora",
    type=click.Path(path_type=Path),
    multiple=True,
    default=(Path("../shared/corpora"), Path("../shared/corpora-more")),
    envvar="LINKSCORE_CORPORA",
    show_default=True,
    help="Folder of labelled sites; repeatable.",
)
@click.option(
    "--logs",
    type=click.Path(path_type=Path),
    default=Path("../shared/logs"),
    show_default=True,
    help="Folder of their browse logs.",
)
@click.option(
    "--baseline",
    type=click.Path(path_type=Path),
    default=Path("tests/quality/baseline.json"),
    show_default=True,
    help="The file of figures.",
)
@click.option("--workers", type=click.IntRange(0), default=0, help="Processes; 0 means one a core.")
@click.option("--update", is_flag=True, help="Write gains and new figures into the baseline.")
@click.option(
    "--accept-loss",
    "accepted",
    multiple=True,
    metavar="SITE:TASK:MODE:POLICY",
    help="With --update: lower this figure; repeatable.",
)
@click.option("--new-inputs", is_flag=True, help="With --update: the sites or the protocol were exchanged.")
@click.option("--because", default="", metavar="REASON", help="Why; kept in the baseline.")
@click.pass_context
def quality(ctx: click.Context, /, accepted: Sequence[str], **options: Any) -> None:
    console = ctx.obj or Console()
    started = time.perf_counter()
    today = datetime.now(UTC).date().isoformat()
    try:
        code = run_gate(Request(accepted=frozenset(accepted), on=today, **options), console)
    except InvalidInput as exc:
        console.print(f"quality: refused: {exc}", style="red", markup=False, soft_wrap=True)
        ctx.exit(2)
    console.print(f"quality: {time.perf_counter() - started:.0f} s", soft_wrap=True)
    ctx.exit(code)


def main(argv: Sequence[str] | None = None, console: Console | None = None) -> int:
    """Run the gate and return its exit code."""
    name = "python -m linkscore_research.quality"
    try:
        code = quality.main(argv, prog_name=name, obj=console, standalone_mode=False)
    except click.ClickException as exc:
        exc.show()
        return exc.exit_code
    return int(code or 0)


if __name__ == "__main__":
    sys.exit(main())
