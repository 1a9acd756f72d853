"""Settings of a crawl that forbid links, and whether to go on, as messages and back; see `engine.limits`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from google.protobuf.message import Message

from linkscore.v1 import common_pb2, crawl_service_pb2, site_model_service_pb2
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_scoring.engine.limits import CopyHypothesis, Coverage, Standing, Stop, limits
from linkscore_scoring.errors import InvalidInput
from linkscore_server.grpc.convert.policies import set_fields

FIELDS = ("budget", "respect", "copies")
"""Fields of `Crawl` that annexes take."""


def limits_of(crawl: crawl_service_pb2.Crawl) -> dict[str, Any]:
    """Return the settings of a message as plain values, by field.

    Raises
    ------
    InvalidInput
        If one is set that no annex here takes.
    """
    found: dict[str, Any] = {}
    for field, value in crawl.ListFields():
        if field.name in FIELDS:
            if field.name not in limits():
                raise InvalidInput("is not known to this server", field=f"crawl.{field.name}")
            found[field.name] = set_fields(value) if isinstance(value, Message) else list(value)
    return found


def add_limits(message: crawl_service_pb2.Crawl, config: Mapping[str, Any]) -> None:
    """Write the settings of a crawl into its message."""
    for field, value in config.items():
        part = getattr(message, field)
        if not isinstance(part, Message):
            part.extend(value)
            continue
        part.SetInParent()
        for name, number in value.items():
            setattr(part, name, number)


def decision_of(stop: Stop | None) -> common_pb2.Decision:
    """Return a decision; the numbers are those of the wire enum."""
    return cast("common_pb2.Decision", stop.decision) if stop else common_pb2.DECISION_CONTINUE


def decision_name(stop: Stop | None) -> str:
    """Return the name of a decision, for example ``STOP_YIELD``."""
    return common_pb2.Decision.Name(decision_of(stop)).removeprefix("DECISION_")


def standing_message(standing: Standing) -> pb.Standing:
    """Return whether a crawl and a site of it go on."""
    return pb.Standing(
        decision=decision_of(standing.crawl),
        reason=standing.crawl.reason if standing.crawl else "",
        site_decision=decision_of(standing.site),
        site_reason=standing.site.reason if standing.site else "",
        fetches_left=standing.fetches_left,
        spent=standing.spent,
    )


def add_decision(message: site_model_service_pb2.SiteAdvice, standing: Standing) -> None:
    """Write into the advice about a site whether it goes on, and how much of it was found."""
    stop = standing.site or standing.crawl
    message.decision = decision_of(stop)
    message.decision_reason = stop.reason if stop else ""
    if standing.coverage is not None:
        message.coverage.CopyFrom(_coverage(standing.coverage))


def copy_hypotheses(found: Sequence[CopyHypothesis]) -> list[site_model_service_pb2.CopyHypothesis]:
    """Return which links of a site are taken to lead to copies."""
    return [site_model_service_pb2.CopyHypothesis(**each._asdict()) for each in found]


def _coverage(found: Coverage) -> site_model_service_pb2.Coverage:
    return site_model_service_pb2.Coverage(
        share=found.share,
        low=found.low,
        high=found.high,
        found=found.found,
        waiting=found.waiting,
        unseen=found.unseen,
        fetches=found.fetches,
    )
