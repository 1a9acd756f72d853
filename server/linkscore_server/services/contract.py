"""The services of the contract: who may make which call, about which crawl, and how calls fail."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any

import grpc
from google.protobuf import message_factory
from google.rpc import code_pb2, error_details_pb2, status_pb2

from linkscore.v1 import (
    browse_log_service_pb2,
    crawl_service_pb2,
    inspection_service_pb2,
    link_scoring_service_pb2,
    site_model_service_pb2,
)
from linkscore_cli.extras import install_command
from linkscore_scoring.errors import (
    CorruptState,
    FieldProblem,
    InvalidInput,
    LimitExceeded,
    LinkscoreError,
    NoRules,
    NotFound,
    NotLearned,
    PolicyFailed,
)
from linkscore_server.crawls.learning import CrawlClosed
from linkscore_server.crawls.memory import DiskFull, MemoryShort, as_disk_full
from linkscore_server.crawls.registry import CrawlExists, CrawlNotFound
from linkscore_server.observability import request_id
from linkscore_server.operator_files import ANYBODY, Caller, Role
from linkscore_server.store import StoreAway

DOMAIN = "linkscore"
# Bounds: an error travels in trailers, of which gRPC takes 8 KB, the message twice, the details in base64.
_MESSAGE_CHARS = 300
_FIELD_CHARS = 200  # of the path of one wrong field
_VIOLATION_BYTES = 2_000  # of all wrong fields together
_LONGEST_RETRY_S = 10.0  # pause that a refused caller is asked to make at most; chosen, not measured
_log = logging.getLogger(__name__)


class Overloaded(LinkscoreError):
    """A call would wait too long for its turn or for memory; nothing of it was applied.

    It may come again after some seconds, within bounds.
    """

    def __init__(self, rule: str, retry_s: float) -> None:
        super().__init__(f"overloaded: {rule}")
        self.retry_s = min(max(retry_s, 0.1), _LONGEST_RETRY_S)


class NotServing(LinkscoreError):
    """State is loading, or the server drains: try again."""


class Leaving(NotServing):
    """The process that has the connection ends: try again over a new connection."""


class BadToken(LinkscoreError):
    """The bearer token is missing or wrong."""


class NotAllowed(LinkscoreError):
    """The role or the crawls of the caller's token do not include this call."""


class MalformedMessage(LinkscoreError):
    """The bytes of a request are no message of its type."""


class Forwarded(LinkscoreError):
    """What another process of the server answered a call with; it is passed on as it came."""

    def __init__(self, status: status_pb2.Status) -> None:
        super().__init__(status.message)
        self.status = status


class CallerGone(LinkscoreError):
    """The deadline of the call has passed, or its caller is gone; what was not applied yet is dropped."""


STATUS_TABLE: tuple[tuple[type[Exception], int, str], ...] = (
    (InvalidInput, code_pb2.INVALID_ARGUMENT, "INVALID_VALUE"),
    (CrawlNotFound, code_pb2.NOT_FOUND, "CRAWL_NOT_FOUND"),
    (NotFound, code_pb2.NOT_FOUND, "SITE_NOT_FOUND"),
    (CrawlExists, code_pb2.ALREADY_EXISTS, "CRAWL_EXISTS"),
    (NotLearned, code_pb2.FAILED_PRECONDITION, "SITE_NOT_LEARNED"),
    (NoRules, code_pb2.FAILED_PRECONDITION, "NO_RULES"),
    (PolicyFailed, code_pb2.FAILED_PRECONDITION, "POLICY_FAILED"),
    (CorruptState, code_pb2.FAILED_PRECONDITION, "CORRUPT_STATE"),
    (Overloaded, code_pb2.RESOURCE_EXHAUSTED, "OVERLOADED"),
    (MemoryShort, code_pb2.RESOURCE_EXHAUSTED, "OVERLOADED"),
    (LimitExceeded, code_pb2.RESOURCE_EXHAUSTED, "LIMIT_EXCEEDED"),
    (StoreAway, code_pb2.UNAVAILABLE, "NOT_SERVING"),
    (DiskFull, code_pb2.RESOURCE_EXHAUSTED, "DISK_FULL"),
    (OSError, code_pb2.RESOURCE_EXHAUSTED, "LIMIT_EXCEEDED"),
    (CrawlClosed, code_pb2.UNAVAILABLE, "NOT_SERVING"),
    (NotServing, code_pb2.UNAVAILABLE, "NOT_SERVING"),
    (BadToken, code_pb2.UNAUTHENTICATED, "BAD_TOKEN"),
    (NotAllowed, code_pb2.PERMISSION_DENIED, "NOT_ALLOWED"),
    (CallerGone, code_pb2.DEADLINE_EXCEEDED, "CALLER_GONE"),
    (MalformedMessage, code_pb2.INVALID_ARGUMENT, "MALFORMED_MESSAGE"),
)
"""Type, status code and reason; the first match counts, so subclasses stand before their base."""

RETRY_S = {code_pb2.RESOURCE_EXHAUSTED: 10, code_pb2.UNAVAILABLE: 1}
"""Seconds after which a caller should try again, by status code; `Overloaded` knows its own. Chosen, not
measured: a full disk is emptied by people, a server that starts or drains is soon there or gone."""


def status_of(error: Exception) -> status_pb2.Status:
    """Return the status of an exception; an unexpected one is logged and INTERNAL with the request id."""
    if isinstance(error, Forwarded):
        return error.status
    error = as_disk_full(error)
    for kind, code, reason in STATUS_TABLE:
        if isinstance(error, kind):
            return _status(code, str(error), getattr(error, "reason", reason), error)
    return _status(code_pb2.INTERNAL, logged(error), "INTERNAL", error)


def is_unavailable(error: Exception) -> bool:
    """Say whether an error tells its caller to try again."""
    if isinstance(error, Forwarded):
        return bool(error.status.code == code_pb2.UNAVAILABLE)
    found = next((code for kind, code, _ in STATUS_TABLE if isinstance(error, kind)), code_pb2.INTERNAL)
    return bool(found == code_pb2.UNAVAILABLE)


def without_frames(error: Exception) -> Exception:
    """Return an error that no longer holds the frames it came through.

    They hold the request, and often the error: such a ring is left to the garbage collector, which comes by
    numbers of objects, not by bytes. 84 refused pages of 20 MB filled a server for good.
    """
    error.__traceback__ = error.__context__ = error.__cause__ = None
    return error


def logged(error: Exception) -> str:
    """Log an exception nobody expected; return the message for the client, with the request id."""
    _log.error("request %s failed", request_id.get(), exc_info=error)
    return f"internal error, request id {request_id.get()}"


def _status(code: int, message: str, reason: str, error: Exception) -> status_pb2.Status:
    status = status_pb2.Status(code=code, message=_cut(message, _MESSAGE_CHARS))
    status.details.add().Pack(error_details_pb2.ErrorInfo(reason=reason, domain=DOMAIN))
    if isinstance(error, InvalidInput):
        status.details.add().Pack(_bad_request(error.problems))
    if code in RETRY_S:
        retry = error_details_pb2.RetryInfo()
        retry.retry_delay.FromMilliseconds(int(getattr(error, "retry_s", RETRY_S[code]) * 1e3))
        status.details.add().Pack(retry)
    return status


def _bad_request(problems: Sequence[FieldProblem]) -> error_details_pb2.BadRequest:
    """Return the fields that are wrong, as many as fit."""
    request, bytes_left = error_details_pb2.BadRequest(), _VIOLATION_BYTES
    for left, problem in zip(range(len(problems), 0, -1), problems, strict=True):
        violation = error_details_pb2.BadRequest.FieldViolation(
            field=_cut(problem.field, _FIELD_CHARS),
            description=_cut(problem.rule, _MESSAGE_CHARS),
            reason=problem.reason,
        )
        bytes_left -= violation.ByteSize()
        if bytes_left < 0:
            request.field_violations.add(description=f"and {left} more", reason=problem.reason)
            break
        request.field_violations.append(violation)
    return request


def _cut(text: str, chars: int) -> str:
    return text if len(text) <= chars else f"{text[:chars]}..."


SERVICES: dict[str, Any] = {
    "LinkScoringService": link_scoring_service_pb2.DESCRIPTOR,
    "CrawlService": crawl_service_pb2.DESCRIPTOR,
    "SiteModelService": site_model_service_pb2.DESCRIPTOR,
    "BrowseLogService": browse_log_service_pb2.DESCRIPTOR,
    "InspectionService": inspection_service_pb2.DESCRIPTOR,
}
"""File of the contract that defines each service."""
METHODS: dict[str, Any] = {
    f"{name}/{method.name}": method
    for name, file in SERVICES.items()
    for method in file.services_by_name[name].methods
}
"""Each call of the contract as its file describes it, by service and method."""


def messages_of(method: str) -> tuple[Any, Any]:
    """Return the types of request and answer of a call."""
    described = METHODS[method]
    asked, said = map(message_factory.GetMessageClass, (described.input_type, described.output_type))
    return asked, said


class ByName:
    """Adds services to a gRPC server whose methods are looked up when they are called.

    Generated code registers each method with the C core too. grpc.aio (1.85) keeps a task for each one that
    is registered and, call by call, waits for the first of all of them: with 34 methods that is some 50 us.
    """

    def __init__(self, server: grpc.aio.Server) -> None:
        self.add_generic_rpc_handlers = server.add_generic_rpc_handlers

    def add_registered_method_handlers(self, service: str, handlers: Any) -> None:
        """Do nothing: the generic handlers have them all."""


class WithoutBrowseLogs:
    """Answers the calls about browse logs of a server that takes none."""

    def __init__(self, *, has_folder: bool) -> None:
        self._why = (
            f"this call needs DuckDB where the server runs: {install_command('logs')}"
            if has_folder
            else "browse logs lie in the folder that data_dir names, and this server has none"
        )

    async def ImportBrowseRecords(self, *_: Any) -> Any:
        """Say why."""
        raise Forwarded(status_pb2.Status(code=code_pb2.UNIMPLEMENTED, message=self._why))

    MineSite = GetBrowseStats = ImportBrowseRecords


def add_services(call: Callable[[str, Any, Any], Awaitable[Any]], server: grpc.aio.Server) -> None:
    """Let `call` answer the calls of the contract, by service and method; gRPC answers all others."""
    for name, described in METHODS.items():
        asked, said = messages_of(name)
        handler = grpc.unary_unary_rpc_method_handler(
            partial(call, name), asked.FromString, said.SerializeToString
        )
        service = described.containing_service.full_name
        one = grpc.method_handlers_generic_handler(service, {described.name: handler})
        server.add_generic_rpc_handlers((one,))


@dataclass(frozen=True, slots=True)
class Rpc:
    """What a call needs: a role, and in its request the field that names the crawl, or a resource of it.

    Of one that `is_told` the log has a line for every call: it changes more than a crawl's own traffic.
    """

    role: Role
    crawl: str
    is_told: bool = False


RPCS: dict[str, Rpc] = {
    "LinkScoringService/IngestPages": Rpc(Role.WRITE, "crawl"),
    "LinkScoringService/ScoreLinks": Rpc(Role.READ, "crawl"),
    "LinkScoringService/RankBuckets": Rpc(Role.READ, "crawl"),
    "LinkScoringService/RankSites": Rpc(Role.READ, "crawl"),
    "LinkScoringService/ReportFeedback": Rpc(Role.WRITE, "crawl"),
    "LinkScoringService/SuggestExamples": Rpc(Role.READ, "crawl"),
    "LinkScoringService/RankRevisits": Rpc(Role.READ, "crawl"),
    "LinkScoringService/NotifyChanged": Rpc(Role.WRITE, "crawl"),
    "CrawlService/CreateCrawl": Rpc(Role.WRITE, "crawl.name", is_told=True),
    "CrawlService/GetCrawl": Rpc(Role.READ, "name"),
    "CrawlService/ListCrawls": Rpc(Role.READ, ""),
    "CrawlService/UpdateCrawl": Rpc(Role.WRITE, "crawl.name", is_told=True),
    "CrawlService/DeleteCrawl": Rpc(Role.ADMIN, "name", is_told=True),
    "CrawlService/ListShards": Rpc(Role.READ, "crawl"),
    "CrawlService/GetServerInfo": Rpc(Role.ADMIN, ""),
    "SiteModelService/ListSites": Rpc(Role.READ, "crawl"),
    "SiteModelService/GetSite": Rpc(Role.READ, "name"),
    "SiteModelService/LearnSite": Rpc(Role.WRITE, "name", is_told=True),
    "SiteModelService/SuggestSeeds": Rpc(Role.READ, "crawl"),
    "SiteModelService/ExportRules": Rpc(Role.READ, "name"),
    "BrowseLogService/ImportBrowseRecords": Rpc(Role.WRITE, "crawl", is_told=True),
    "BrowseLogService/MineSite": Rpc(Role.WRITE, "name", is_told=True),
    "BrowseLogService/GetBrowseStats": Rpc(Role.READ, "crawl"),
    "InspectionService/ListTemplates": Rpc(Role.READ, "name"),
    "InspectionService/ListTemplatePages": Rpc(Role.READ, "name"),
    "InspectionService/GetHarvest": Rpc(Role.READ, "name"),
}
"""Every RPC of the contract, by service and method. One that is not here is refused to everybody."""

CALLER: ContextVar[Caller] = ContextVar("caller", default=ANYBODY)
"""Who makes the call that the current task answers."""


def check_count(others: Collection[str]) -> None:
    """Refuse a new crawl if its creator's token allows no more than those of its crawls that are there."""
    who = CALLER.get()
    if (n := sum(map(who.may_touch, others))) >= who.most_crawls:
        raise LimitExceeded(f"{n} crawls of {who.name} are there, and its token allows no more: delete one")


def named_in(method: str, request: Any) -> tuple[str, str]:
    """Return the resource name that a request is about, and the crawl in it; empty if it names none."""
    found = request
    for field in filter(None, RPCS[method].crawl.split(".")):
        found = getattr(found, field)
    name = "" if found is request else str(found)
    return name, name.removeprefix("crawls/").partition("/")[0]
