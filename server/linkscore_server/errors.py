"""Exceptions to gRPC status: one table, applied by one interceptor."""

from __future__ import annotations

import logging
import secrets

from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.rpc import code_pb2, error_details_pb2, status_pb2

from linkscore_scoring.errors import (
    CorruptState,
    InvalidInput,
    LimitExceeded,
    LinkscoreError,
    NotFound,
    NotLearned,
)
from linkscore_server.registry import CrawlExists, CrawlNotFound

DOMAIN = "linkscore"
_log = logging.getLogger(__name__)


class NotServing(LinkscoreError):
    """State is loading, or the server drains: try again."""


class BadToken(LinkscoreError):
    """The bearer token is missing or wrong."""


# Type -> (code, reason); the first match counts, so subclasses stand before their base.
_TABLE: tuple[tuple[type[Exception], int, str], ...] = (
    (InvalidInput, code_pb2.INVALID_ARGUMENT, "INVALID_VALUE"),
    (CrawlNotFound, code_pb2.NOT_FOUND, "CRAWL_NOT_FOUND"),
    (NotFound, code_pb2.NOT_FOUND, "SITE_NOT_FOUND"),
    (CrawlExists, code_pb2.ALREADY_EXISTS, "CRAWL_EXISTS"),
    (NotLearned, code_pb2.FAILED_PRECONDITION, "SITE_NOT_LEARNED"),
    (CorruptState, code_pb2.FAILED_PRECONDITION, "CORRUPT_STATE"),
    (LimitExceeded, code_pb2.RESOURCE_EXHAUSTED, "LIMIT_EXCEEDED"),
    (OSError, code_pb2.RESOURCE_EXHAUSTED, "LIMIT_EXCEEDED"),
    (NotServing, code_pb2.UNAVAILABLE, "NOT_SERVING"),
    (BadToken, code_pb2.UNAUTHENTICATED, "BAD_TOKEN"),
)
_RETRY_S = {code_pb2.RESOURCE_EXHAUSTED: 10, code_pb2.UNAVAILABLE: 1}


def status_of(error: Exception) -> status_pb2.Status:
    """Return the status of an exception; an unexpected one is logged and INTERNAL with a request id."""
    for kind, code, reason in _TABLE:
        if isinstance(error, kind):
            return _status(code, str(error), getattr(error, "reason", reason), error)
    request_id = secrets.token_hex(8)
    _log.error("request %s failed", request_id, exc_info=error)
    return _status(code_pb2.INTERNAL, f"internal error, request id {request_id}", "INTERNAL", error)


def _status(code: int, message: str, reason: str, error: Exception) -> status_pb2.Status:
    status = status_pb2.Status(code=code, message=message)
    status.details.append(_packed(error_details_pb2.ErrorInfo(reason=reason, domain=DOMAIN)))
    if isinstance(error, InvalidInput):
        violations = [
            error_details_pb2.BadRequest.FieldViolation(field=p.field, description=p.rule, reason=p.reason)
            for p in error.problems
        ]
        status.details.append(_packed(error_details_pb2.BadRequest(field_violations=violations)))
    if code in _RETRY_S:
        status.details.append(
            _packed(error_details_pb2.RetryInfo(retry_delay=Duration(seconds=_RETRY_S[code])))
        )
    return status


def _packed(message: object) -> AnyMessage:
    packed = AnyMessage()
    packed.Pack(message)  # type: ignore[arg-type]
    return packed
