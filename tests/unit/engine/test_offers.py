"""Handing out fetches by the offers of groups gives what choosing one by one over all sites gives."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from linkscore_scoring.engine.queries import (
    BucketEntry,
    Offer,
    SiteInFlight,
    allocate,
    offers,
)

N_GROUPS = 3


class Falling:
    """Fetches in flight whose buckets lose a share of their value with each that begins on the site."""

    def __init__(self, values: dict[str, float], places: int, floor: float, fall: float) -> None:
        self.worth, self.places, self.floor, self.fall = values, places, floor, fall
        self.in_flight = 0

    def begin(self, bucket: str, n: int = 1) -> None:
        self.in_flight += n

    def values(self, buckets: list[str]) -> np.ndarray:
        return np.array([self.worth[bucket] for bucket in buckets]) * self.fall**self.in_flight


class Site:
    def __init__(self, number: int, drawn: dict[str, Any]) -> None:
        self.number, self.drawn = number, drawn
        self.values = {f"b{i}": value for i, value in enumerate(drawn["values"])}

    def in_flight(self) -> SiteInFlight:
        def look() -> Any:
            return SimpleNamespace(in_flight=lambda _: self.counted()), None

        return SiteInFlight(look, {"b0": self.drawn["in_flight"]} if self.drawn["in_flight"] else {})

    def counted(self) -> Falling | None:
        d = self.drawn
        return Falling(self.values, d["places"], d["floor"], d["fall"]) if d["counts"] else None


sites = st.fixed_dictionaries(
    {
        "values": st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=1, max_size=4),
        "waiting": st.lists(st.integers(0, 5), min_size=4, max_size=4),
        "places": st.integers(1, 6),
        "floor": st.sampled_from([0.0, 0.3, 0.6]),
        "fall": st.sampled_from([1.0, 0.9, 0.5]),
        "in_flight": st.integers(0, 4),
        "counts": st.booleans(),
        "known": st.booleans(),
    }
)


def entries_of(found: list[Site], rows: list[tuple[int, str]]) -> list[BucketEntry]:
    """Return the entries of some buckets, rows numbered from 0 on, with what is in flight made anew."""
    flights = {site.number: site.in_flight() if site.drawn["known"] else None for site in found}
    return [
        BucketEntry(row, flights[site], name, found[site].drawn["waiting"][int(name[1:])])
        for row, (site, name) in enumerate(rows)
    ]


def values_of(found: list[Site], rows: list[tuple[int, str]]) -> np.ndarray:
    def value(site: Site, name: str) -> float:
        if not site.drawn["known"]:
            return 0.0
        return site.values[name] * (
            site.drawn["fall"] ** site.drawn["in_flight"] if site.drawn["counts"] else 1.0
        )

    return np.array([value(found[site], name) for site, name in rows])


def chosen_one_by_one(entries: list[BucketEntry], values: np.ndarray, n: int) -> list[int]:
    """Value all buckets anew before each fetch, and take the best that has a place and need not wait."""
    takes = [0] * len(values)
    for _ in range(n):
        best: tuple[float, int] | None = None
        for entry in entries:
            site, row = entry.site, entry.row
            value = values[row] if site is None or not site.in_flight else site.value(entry.name, values[row])
            if takes[row] >= entry.waiting or (site is not None and not site.has_place):
                continue
            if site is not None and site.in_flight and value < site.floor:
                continue
            best = min(best, (-value, row)) if best else (-value, row)
        if best is None:
            break
        takes[best[1]] += 1
        chosen = next(entry for entry in entries if entry.row == best[1])
        if chosen.site is not None:
            chosen.site.begin(chosen.name)
    return takes


def offered(entries: list[BucketEntry], values: np.ndarray, n: int) -> list[Offer]:
    """Return what is offered of the buckets of some entries, one a row."""
    rows = [entry.row for entry in entries if entry.waiting]
    return offers(np.array(rows, dtype=np.int64), entries.__getitem__, values, n)


@given(drawn=st.lists(sites, min_size=1, max_size=7), n=st.integers(1, 20), seed=st.randoms())
@settings(max_examples=130, deadline=None)
def test_places_are_allocated_as_fetches_are_chosen_one_by_one_whatever_the_groups(
    drawn: list[dict[str, Any]], n: int, seed: Any
) -> None:
    found = [Site(number, one) for number, one in enumerate(drawn)]
    rows = [(site.number, name) for site in found for name in site.values]
    seed.shuffle(rows)
    values = values_of(found, rows)
    one_by_one = chosen_one_by_one(entries_of(found, rows), values, n)
    together = allocate([offered(entries_of(found, rows), values, n)], values, n)
    groups = []
    for group in range(N_GROUPS):
        at = [row for row, (site, _) in enumerate(rows) if site % N_GROUPS == group]
        own = [rows[row] for row in at]
        if own:
            found_here = offered(entries_of(found, own), values_of(found, own), n)
            groups.append([offer._replace(row=at[offer.row]) for offer in found_here])
    assert allocate(groups, values, n).takes.tolist() == together.takes.tolist() == one_by_one
