"""From numbers to places in a drawing of 1000 by 1000, which the page stretches to its width."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import floor, log10

SIZE = 1000
Point = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Frame:
    """A drawing whose axes start at 0 and end at `x_max` and `y_max`, both above 0."""

    x_max: float
    y_max: float

    def point(self, x: float, y: float) -> Point:
        """Return the place of a value; the y axis of a drawing points down."""
        return round(SIZE * x / self.x_max), round(SIZE - SIZE * y / self.y_max)

    def points(self, xs: Iterable[float], ys: Iterable[float]) -> list[Point]:
        """Return the places of many values."""
        return [self.point(x, y) for x, y in zip(xs, ys, strict=True)]


def line(points: Sequence[Point]) -> str:
    """Return the path through `points`, by steps: shorter than places."""
    moves = " ".join(f"{b[0] - a[0]} {b[1] - a[1]}" for a, b in pairwise(points)).replace(" -", "-")
    return f"M{points[0][0]} {points[0][1]}" + (f"l{moves}" if moves else "")


def area(upper: Sequence[Point], lower: Sequence[Point]) -> str:
    """Return the closed path along `upper` and back along `lower`."""
    return line([*upper, *reversed(lower)]) + "z"


def ticks(highest: float, most: int) -> list[int]:
    """Return at most `most` whole numbers from 0 up to `highest`, in round steps."""
    raw = max(1.0, highest / (most - 1))
    power = 10 ** floor(log10(raw))
    steps = (power * part // 4 for part in (4, 8, 10, 20, 40))  # 1, 2, 2.5, 5, 10 times a power of ten
    step = next(step for step in steps if step >= raw)
    return list(range(0, int(highest) + 1, step))


def spread(places: Sequence[float], gap: float) -> list[float]:
    """Move `places`, in [0, 100], apart until neighbours are `gap` away from each other; the order stays.

    Where they cannot all have their gap, they share the room evenly.
    """
    gap = min(gap, 100 / max(1, len(places) - 1))
    order = sorted(range(len(places)), key=places.__getitem__)
    moved = [0.0] * len(places)
    lowest = 0.0
    for i in order:
        moved[i] = lowest = max(lowest, places[i])
        lowest += gap
    highest = 100.0
    for i in reversed(order):
        moved[i] = min(highest, moved[i])
        highest = moved[i] - gap
    return moved
