"""Exceptions to gRPC status: one table, applied at the door."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.rpc import code_pb2, error_details_pb2, status_pb2

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
from linkscore_server.observability.logs import request_id
from linkscore_server.store import StoreAway

DOMAIN = "linkscore"
# Bounds: an error travels in trailers, of which gRPC takes 8 KB, the message twice, the details in base64.
_MESSAGE_CHARS = 300
_FIELD_CHARS = 200  # of the path of one wrong field
_VIOLATION_BYTES = 2_000  # of all wrong fields together
_LONGEST_RETRY_S = 10.0  # pause that a refused caller is asked to make at most; chosen, not measured
_log = logging.getLogger(__name__)


class Overloaded(LinkscoreError):
    """A call would wait too long for its turn or for memory; nothing of it was applied."""

    def __init__(self, message: str, *, retry_s: float = 1.0) -> None:
        super().__init__(message)
        self.retry_s = retry_s


def overloaded(rule: str, retry_s: float) -> Overloaded:
    """Return the refusal of a call that may come again after some seconds, within bounds."""
    return Overloaded(f"overloaded: {rule}", retry_s=min(max(retry_s, 0.1), _LONGEST_RETRY_S))


class NotServing(LinkscoreError):
    """State is loading, or the server drains: try again."""


class Leaving(NotServing):
    """The process that has the connection ends: try again over a new connection."""

    def __init__(self) -> None:
        super().__init__("this process of the server ends, try again over a new connection")


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
    _log.error("request %s failed", request_id(), exc_info=error)
    return f"internal error, request id {request_id()}"


def _status(code: int, message: str, reason: str, error: Exception) -> status_pb2.Status:
    status = status_pb2.Status(code=code, message=_cut(message, _MESSAGE_CHARS))
    status.details.append(_packed(error_details_pb2.ErrorInfo(reason=reason, domain=DOMAIN)))
    if isinstance(error, InvalidInput):
        status.details.append(_packed(_bad_request(error.problems)))
    if code in RETRY_S:
        delay = Duration()
        delay.FromMilliseconds(int(getattr(error, "retry_s", RETRY_S[code]) * 1e3))
        retry = error_details_pb2.RetryInfo(retry_delay=delay)
        status.details.append(_packed(retry))
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


def _packed(message: object) -> AnyMessage:
    packed = AnyMessage()
    packed.Pack(message)  # type: ignore[arg-type]
    return packed
