"""A comparison of two result files on the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from linkscore_lab.metrics import DEFINITIONS
from linkscore_lab.replay.compare import DEFAULT_METRICS, Comparison, Gain, compare
from linkscore_lab.replay.results import read_results

_STYLES = {"better": "bold green", "worse": "bold red", "different": "bold"}


def compare_files(
    first: Path,
    second: Path,
    metrics: Sequence[str] = (),
    *,
    policy_first: str = "",
    policy_second: str = "",
    pair: str = "seed",
    console: Console | None = None,
) -> Comparison:
    """Compare two result files and print what was found; no `metrics` are `DEFAULT_METRICS`.

    Raises
    ------
    InvalidInput
        If a file is no result file, or as `compare` does.
    """
    found = compare(
        read_results(first),
        read_results(second),
        tuple(metrics) or DEFAULT_METRICS,
        policy_first=policy_first,
        policy_second=policy_second,
        pair=pair,
    )
    print_comparison(console or Console(), found, str(first), str(second))
    return found


def print_comparison(console: Console, found: Comparison, first: str, second: str) -> None:
    """Print a table of each metric, the totals last, then what has no partner.

    Parameters
    ----------
    first, second
        What to call the files.
    """
    console.print(Text(f"a = {first}\nb = {second}"), soft_wrap=True)
    for metric in dict.fromkeys(gain.metric for gain in found.gains):
        rows = [gain for gain in found.gains if gain.metric == metric]
        console.print(_table(rows, [gain for gain in found.overall if gain.metric == metric]))
    for site in found.other_inputs:
        console.print(Text(f"{site}: the archives differ between the files", "yellow"), soft_wrap=True)
    _print_unmatched(console, "a", found.pairs.unmatched_first)
    _print_unmatched(console, "b", found.pairs.unmatched_second)


def _table(rows: Sequence[Gain], totals: Sequence[Gain]) -> Table:
    title = DEFINITIONS[rows[0].metric].label
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("site and task", "policy"):
        table.add_column(heading, overflow="fold", min_width=14)
    for heading in ("pairs", "a", "b", "gain ±95 %"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True, min_width=9)
    for gain in rows:
        table.add_row(*_cells(gain))
    if totals:
        table.add_section()
    for gain in totals:
        table.add_row(*_cells(gain))
    return table


def _cells(gain: Gain) -> list[Text]:
    show, subject = DEFINITIONS[gain.metric].show, gain.subject
    told = "" if subject.mode == "none" else f" ({subject.mode})"
    cells = [
        f"{subject.site} {subject.task}",
        f"{subject.policy}{told}",
        f"{gain.gain.n:,}",
        show(gain.first),
        show(gain.second),
        _gain(gain),
    ]
    return [*map(Text, cells), Text(gain.verdict, _STYLES.get(gain.verdict, "dim"))]


def _gain(gain: Gain) -> str:
    form = ",.1f" if DEFINITIONS[gain.metric].count else ".3f"
    half = "" if gain.gain.half is None else f" ±{gain.gain.half:{form}}"
    return f"{gain.gain.mean:+{form}}{half}"


def _print_unmatched(console: Console, side: str, unmatched: Counter[str]) -> None:
    if not unmatched:
        return
    console.print(Text(f"{unmatched.total():,} runs of {side} have no partner:", "yellow"))
    for name, n in unmatched.items():
        console.print(Text(f"  {n} x {name}"), soft_wrap=True)
