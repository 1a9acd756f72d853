"""How many of the fetches were wanted, and how many of the wanted pages were fetched."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence


def ratio(part: float, whole: float) -> float:
    """Return part / whole; 0 for an empty whole (Xu 2018 count 0/0 so)."""
    return part / whole if whole else 0.0


def valid_ratio(order: Sequence[str], wanted: Collection[str]) -> float:
    """Return wanted fetches / fetches; of a crawl for a target type this is the harvest rate."""
    return ratio(sum(key in wanted for key in order), len(order))


def recall(order: Iterable[str], wanted: Collection[str]) -> float:
    """Return the share of `wanted` that was fetched; 0 if nothing is wanted."""
    return ratio(len({key for key in order if key in wanted}), len(wanted))


def f_measure(precision: float, recall: float) -> float:
    """Return the harmonic mean 2PR / (P + R); the precision of a crawl is its valid ratio."""
    return ratio(2 * precision * recall, precision + recall)
