"""A verdict on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from linkscore_lab.quality.verdict import Change, Verdict


def print_verdict(console: Console, verdict: Verdict) -> None:
    """Print what rose, what fell, and how many figures held."""
    if verdict.gains:
        console.print(_table("Gains", verdict.gains, "green"))
    if verdict.losses:
        console.print(_table("Losses beyond the band", verdict.losses, "bold red"))
    counts = f"{verdict.held:,} held, {len(verdict.gains):,} rose, {len(verdict.losses):,} fell"
    new = f", {len(verdict.new):,} are not in the baseline" if verdict.new else ""
    console.print(f"quality: {counts}{new}", soft_wrap=True)


def _table(title: str, changes: Sequence[Change], style: str) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("figure", overflow="fold")
    for heading in ("baseline", "band", "now", "change"):
        table.add_column(heading, justify="right", no_wrap=True)
    for change in changes:
        now = f"{change.after.value:.3f}" if change.after else "gone"
        cells = (f"{change.before.value:.3f}", f"±{change.before.band:.3f}", now)
        table.add_row(Text(change.name), *cells, Text(f"{change.by:+.3f}", style))
    return table
