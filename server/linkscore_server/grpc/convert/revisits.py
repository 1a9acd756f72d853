"""How a crawl fetches pages again: the message as plain values and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from google.protobuf.duration_pb2 import Duration

from linkscore.v1 import crawl_service_pb2 as pb
from linkscore_scoring.errors import InvalidInput

DUE_PAGES, MAX_DUE_PAGES = 100, 10_000
"""Pages of one answer of RankRevisits if nothing is said, and at most, as the contract says."""
MAX_RANKED = 1_000_000
"""A bound: pages that several answers of RankRevisits may go through."""
MAX_NOTICES = 10_000
"""URLs of one call of NotifyChanged, as the contract says."""
_OBJECTIVES = {
    number: name.removeprefix("REVISIT_OBJECTIVE_").lower()
    for name, number in pb.RevisitObjective.items()
    if number
}


def revisit_of(crawl: pb.Crawl) -> dict[str, Any] | None:
    """Return how a crawl fetches pages again, None if it does not; what is not set is left out.

    Raises
    ------
    InvalidInput
        If the objective is not known.
    """
    if not crawl.HasField("revisit"):
        return None
    asked, found = crawl.revisit, dict[str, Any]()
    if asked.objective:
        if asked.objective not in _OBJECTIVES:
            rule = f"is not a known value, got {asked.objective}"
            raise InvalidInput(rule, field="crawl.revisit.objective")
        found["objective"] = _OBJECTIVES[asked.objective]
    if asked.rule:
        found["rule"] = asked.rule
    if asked.fetches_per_day:
        found["fetches_per_day"] = asked.fetches_per_day
    for field, name in (("least_interval", "least_s"), ("longest_interval", "longest_s")):
        if asked.HasField(field):
            interval: Duration = getattr(asked, field)
            found[name] = interval.seconds + interval.nanos / 1e9
    return found


def revisit_message(given: Mapping[str, Any] | None) -> pb.Revisit | None:
    """Return how a crawl fetches pages again, None if it does not."""
    if given is None:
        return None
    numbers = {name: cast("pb.RevisitObjective", number) for number, name in _OBJECTIVES.items()}
    message = pb.Revisit(rule=given.get("rule", ""), fetches_per_day=given.get("fetches_per_day", 0.0))
    if "objective" in given:
        message.objective = numbers[given["objective"]]
    if "least_s" in given:
        message.least_interval.FromNanoseconds(round(given["least_s"] * 1e9))
    if "longest_s" in given:
        message.longest_interval.FromNanoseconds(round(given["longest_s"] * 1e9))
    return message
