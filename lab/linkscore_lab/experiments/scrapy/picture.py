"""Draw harvest curves: how many wanted pages a crawl had after each fetch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

_COLOURS = ("#8a8f98", "#d9480f", "#1864ab", "#2b8a3e", "#862e9c", "#c92a2a", "#0b7285")
_INK, _GRID = "#343a40", "#e9ecef"


def draw_harvest(curves: Mapping[str, Sequence[int]], n_wanted: int, title: str, path: Path) -> Path:
    """Write a PNG with one line a crawl and return `path`; folders are made.

    Parameters
    ----------
    curves
        good(n) of each crawl, the baseline first.
    n_wanted
        Wanted pages the site has: where a perfect crawl would end.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    figure = Figure(figsize=(7.2, 4.4), dpi=144, layout="constrained")
    axes = figure.add_subplot()
    longest = max((len(curve) for curve in curves.values()), default=0)
    _draw_perfect(axes, longest, n_wanted)
    for (name, curve), colour in zip(curves.items(), _cycle(len(curves)), strict=True):
        _draw_curve(axes, name, curve, colour)
    _style(axes, title, longest)
    figure.savefig(path)
    return path


def _draw_perfect(axes: Any, longest: int, n_wanted: int) -> None:
    corner = min(longest, n_wanted)
    axes.plot(
        (0, corner, longest), (0, corner, corner), color="#ced4da", lw=1.2, ls=(0, (4, 3)), label="perfect"
    )


def _draw_curve(axes: Any, name: str, curve: Sequence[int], colour: str) -> None:
    share = f" ({curve[-1] / len(curve):.0%} valid)" if curve else ""
    axes.plot(range(len(curve) + 1), (0, *curve), color=colour, lw=2, label=f"{name}{share}")
    if curve:
        axes.plot(len(curve), curve[-1], "o", color=colour, ms=4.5)


def _style(axes: Any, title: str, longest: int) -> None:
    axes.set_title(title, loc="left", color=_INK, fontsize=11, fontweight="bold", pad=10)
    axes.set_xlabel("pages fetched", color=_INK)
    axes.set_ylabel("wanted pages found", color=_INK)
    axes.set_xlim(0, max(1, longest) * 1.01)
    axes.set_ylim(bottom=0)
    axes.grid(color=_GRID, lw=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=_INK, length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.legend(frameon=False, loc="upper left", labelcolor=_INK)


def _cycle(n: int) -> list[str]:
    return [_COLOURS[index % len(_COLOURS)] for index in range(n)]
