"""What both clients ask, where it is more than a message, and whether an answer can be read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

from google.protobuf import field_mask_pb2

from linkscore.messages import crawl_name, example_page, filled, message_of, policy_spec, wanted_spec
from linkscore.v1 import common_pb2
from linkscore.v1 import crawl_service_pb2 as crawl_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2


def _several(given: Any) -> list[Any]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ValueError("must be a list")
    return list(given)


_SPECS: dict[str, Any] = {
    "policy": policy_spec,
    "extra_policies": lambda given: [policy_spec(policy) for policy in given],
    "wanted": wanted_spec,
    "budget": lambda given: message_of(crawl_pb2.Budget, given),
    "copies": lambda given: message_of(crawl_pb2.Copies, given),
    "revisit": lambda given: message_of(crawl_pb2.Revisit, given),
    "respect": _several,
    "examples": lambda given: [example_page(each) for each in _several(given)],
}


def option_problem(name: str, given: Any) -> str:
    """Say why an option of a crawl cannot be what is given; empty if it can, as far as the client knows."""
    try:
        filled(crawl_pb2.Crawl, {name: _spec(name, given)}, name)
    except (TypeError, ValueError) as error:
        said = str(error).removeprefix(f"{name}: ") if type(error) is ValueError else "is of the wrong kind"
        return said if ", got " in said else f"{said}, got {given!r}"
    return ""


def _spec(name: str, given: Any) -> Any:
    return _SPECS[name](given) if name in _SPECS and given is not None else given


def crawl_spec(crawl: str, config: Mapping[str, Any]) -> crawl_pb2.Crawl:
    """Give the message of a crawl with these options; what is None is left out."""
    given = {name: _spec(name, value) for name, value in config.items() if value is not None}
    return crawl_pb2.Crawl(name=crawl_name(crawl), **given)


def update_request(crawl: str, given: Mapping[str, Any]) -> crawl_pb2.UpdateCrawlRequest:
    """Ask for these fields of a crawl; an empty `wanted` or `budget` takes away the one it has."""
    fields = {name: value for name, value in given.items() if value is not None}
    emptied = {
        name: value or None if name in ("wanted", "budget") else value for name, value in fields.items()
    }
    return crawl_pb2.UpdateCrawlRequest(
        crawl=crawl_spec(crawl, emptied), update_mask=field_mask_pb2.FieldMask(paths=list(fields))
    )


def problem_of(request: Any, answer: Any) -> str:
    """Say why an answer cannot be read, empty if it can: columns that do not fit, numbers that are none."""
    if answer is None:  # as gRPC gives what it cannot decode
        return "it is no message of this contract"
    if isinstance(answer, scoring_pb2.IngestPagesResponse):
        if len(answer.results) != len(request.pages):
            return "it has another number of results than pages were sent"
        return next(filter(None, (_links_problem(result.links) for result in answer.results)), "")
    if isinstance(answer, scoring_pb2.ScoreLinksResponse):
        if not request.explain and len(answer.links.scores) != len(request.links):
            return "it has another number of scores than links were sent"
        return _links_problem(answer.links)
    if isinstance(answer, scoring_pb2.RankBucketsResponse):
        return _ranking_problem(request, answer)
    if isinstance(answer, scoring_pb2.ReportFeedbackResponse):
        return "" if len(answer.statuses) == len(request.feedback) else "it has another number of statuses"
    return ""


# Columns of `LinkScores` with an entry for each link, if they are there.
_COLUMNS = (
    *("urls", "encoded_priorities", "buckets", "tickets", "verdicts", "in_scope"),
    *("skip_reasons", "duplicate_probabilities", "url_types"),
)


def _links_problem(links: common_pb2.LinkScores) -> str:
    n = len(links.scores)
    for name in _COLUMNS:
        if len(getattr(links, name)) not in (0, n):
            return f"column {name} has another length than scores"
    if len(links.bucket_values) != len(links.bucket_names):
        return "column bucket_values has another length than bucket_names"
    for name, values in (("buckets", links.bucket_names), ("tickets", links.ticket_values)):
        if any(not 0 <= at < len(values) for at in getattr(links, name)):
            return f"column {name} points beyond what is there"
    for name in ("scores", "encoded_priorities", "bucket_values"):
        if not all(map(isfinite, getattr(links, name))):
            return f"column {name} has a number that is not finite"
    return ""


def _ranking_problem(request: scoring_pb2.RankBucketsRequest, answer: scoring_pb2.RankBucketsResponse) -> str:
    order = answer.order
    if any(at >= len(request.buckets) for at in order) or len(set(order)) < len(order):
        return "order names a bucket that was not asked about, or one twice"
    if len(answer.values) != len(order) or len(answer.urls) not in (0, len(order)):
        return "column values or urls has another length than order"
    return "" if all(map(isfinite, answer.values)) else "column values has a number that is not finite"
