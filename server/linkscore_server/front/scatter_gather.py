"""Calls about rows, pages or links or reports, each of one group: taken apart, and put together in order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_server.front.parts import Groups, RoutedCrawl, gathered, name_event
from linkscore_server.services.revisits import MAX_NOTICES

Part = tuple[list[int], Any]
"""Rows of the whole question, and what their group answered."""

_ROW = re.compile(r"^(links|urls)\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class ScatterGather:
    """A call whose rows are of different groups."""

    rows: str  # field of the request
    group_of: Callable[[RoutedCrawl, Any], int]  # gives the group of a row
    merged: Callable[[int, Sequence[Part]], Any]  # makes the answer: of the number of rows, and the parts
    most: str | int  # bound of the rows: a number, or the setting that says it
    before: Callable[[Any], None] | None = None  # done to each row first

    async def answer(self, groups: Groups, request: Any) -> Any:
        """Ask each group about its rows; one that fails fails the call when all have answered."""
        rows = getattr(request, self.rows)
        limit = getattr(groups.settings, self.most) if isinstance(self.most, str) else self.most
        if not rows or len(rows) > limit:
            return await groups.to(0, request)  # which says what is wrong
        by_group: dict[int, list[int]] = {}
        for at, row in enumerate(rows):
            if self.before is not None:
                self.before(row)
            by_group.setdefault(self.group_of(groups.crawl, row), []).append(at)
        if len(by_group) == 1:
            return await groups.to(next(iter(by_group)), request)
        parts = [(at, self._part(request, [rows[i] for i in at])) for at in by_group.values()]
        found = await gathered(
            [groups.to(group, part) for group, (_, part) in zip(by_group, parts, strict=True)]
        )
        return self.merged(len(rows), [(at, got) for (at, _), got in zip(parts, found, strict=True)])

    def _part(self, request: Any, rows: Sequence[Any]) -> Any:
        part = without(request, self.rows)
        getattr(part, self.rows).extend(rows)
        return part


def without(request: Any, *left_out: str) -> Any:
    """Return a copy of a request without some of its fields."""
    made = type(request)()
    for field, value in request.ListFields():
        if field.name in left_out:
            continue
        if field.is_repeated:
            getattr(made, field.name).extend(value)
        elif field.type == FieldDescriptor.TYPE_MESSAGE:
            getattr(made, field.name).CopyFrom(value)
        else:
            setattr(made, field.name, value)
    return made


def events_in(counts: Iterable[int]) -> int:
    """Return how many events groups have seen; the creation, with which each log begins, counts once.

    So a crawl whose sites are all in one group counts as one of one group does.

    Examples
    --------
    >>> events_in([40, 1, 1])
    40
    """
    found = list(counts)
    return sum(found) - len(found[1:])


def placed(n: int, parts: Sequence[Part], column: Callable[[Any], Sequence[Any]]) -> list[Any]:
    """Return a column of all rows: that of each part, in its places."""
    whole: list[Any] = [None] * n
    for at, got in parts:
        for row, value in zip(at, column(got), strict=True):
            whole[row] = value
    return whole


def _ingested(n: int, parts: Sequence[Part]) -> pb.IngestPagesResponse:
    found = placed(n, parts, lambda got: got.results)
    return pb.IngestPagesResponse(results=found, policy=parts[0][1].policy)


def _classified(n: int, parts: Sequence[Part]) -> pb.ClassifyPagesResponse:
    return pb.ClassifyPagesResponse(classifications=placed(n, parts, lambda got: got.classifications))


def _reported(n: int, parts: Sequence[Part]) -> pb.ReportFeedbackResponse:
    return pb.ReportFeedbackResponse(statuses=placed(n, parts, lambda got: got.statuses))


def _noticed(n: int, parts: Sequence[Part]) -> pb.NotifyChangedResponse:
    for at, got in parts:
        for status in got.statuses:
            _name_rows(status, at)
    return pb.NotifyChangedResponse(statuses=placed(n, parts, lambda got: got.statuses))


def _name_rows(status: common_pb2.ItemStatus | pb.NoticeStatus, rows: Sequence[int]) -> None:
    """Let a status name rows of the whole question."""
    for problem in status.problems:
        problem.field = _ROW.sub(lambda found: f"{found[1]}[{rows[int(found[2])]}]", problem.field)


def _scored(n: int, parts: Sequence[Part]) -> pb.ScoreLinksResponse:
    """Put columns together; buckets are named in the order of their first link, as by one process."""
    links = common_pb2.LinkScores(scores=placed(n, parts, lambda got: got.links.scores))
    values: dict[str, float] = {}
    for at, got in parts:
        values.update(zip(got.links.bucket_names, got.links.bucket_values, strict=True))
        for row, status in got.links.statuses.items():
            _name_rows(status, at)
            links.statuses[at[row]].CopyFrom(status)
        for entry in got.explanations:
            _name_rows(entry.status, at)
    names = placed(n, parts, lambda got: [got.links.bucket_names[i] for i in got.links.buckets])
    places: dict[str, int] = {}
    for name in filter(None, names):
        places.setdefault(name, len(places))
    if links.statuses:  # links that cannot be used are of no bucket, the last
        places[""] = len(places)
    links.buckets.extend([places[name] for name in names])
    links.bucket_names.extend(places)
    links.bucket_values.extend([values[name] for name in places])
    for column in ("encoded_priorities", "verdicts", "url_types"):
        if any(len(getattr(got.links, column)) for _, got in parts):
            getattr(links, column).extend(placed(n, parts, partial(_column, column)))
    stages = [got.stage for _, got in parts if got.stage]
    return pb.ScoreLinksResponse(
        links=links,
        explanations=placed(n, parts, lambda got: got.explanations) if parts[0][1].explanations else [],
        policy=parts[0][1].policy,
        stage=min(stages, default=common_pb2.SITE_STAGE_UNSPECIFIED),
        event_seq=events_in(got.event_seq for _, got in parts),
    )


def _column(name: str, got: pb.ScoreLinksResponse) -> Sequence[Any]:
    """Return a column of an answer, which is empty if none of its links has a value."""
    return getattr(got.links, name) or [0] * len(got.links.scores)


SCATTER_GATHER: dict[str, ScatterGather] = {
    "LinkScoringService/IngestPages": ScatterGather(
        "pages", RoutedCrawl.group_of_page, _ingested, "max_pages_per_call", name_event
    ),
    "LinkScoringService/ClassifyPages": ScatterGather(
        "pages", RoutedCrawl.group_of_page, _classified, "max_pages_per_call"
    ),
    "LinkScoringService/ScoreLinks": ScatterGather(
        "links", RoutedCrawl.group_of_link, _scored, "max_links_per_call"
    ),
    "LinkScoringService/ReportFeedback": ScatterGather(
        "feedback", RoutedCrawl.group_of_link, _reported, "max_feedback_per_call"
    ),
    "LinkScoringService/NotifyChanged": ScatterGather(
        "urls", RoutedCrawl.group_of_url, _noticed, MAX_NOTICES
    ),
}
"""Calls about rows, by service and method."""
