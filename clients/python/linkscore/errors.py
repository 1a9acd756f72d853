"""Errors a call can raise, one tree.

::

    LinkscoreError
    |-- InvalidArgument        the request breaks a rule; `field_violations` names each field
    |-- Unauthenticated        the bearer token is missing or wrong
    |-- PermissionDenied       the role or the crawls of the token do not include the call
    |-- NotFound               no such crawl or site
    |-- AlreadyExists          a crawl of this name with another configuration
    |-- FailedPrecondition     the site is not learned and the request forbids the fallback
    |-- ResourceExhausted      a bound is reached; `retry_after_s` says when to come back
    |-- Unavailable            no server, or it is loading or draining; retried before it is raised
    |-- DeadlineExceeded       no answer within `timeout_s`
    `-- InternalError          a fault of the server; the message carries its request id
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from linkscore.v1 import common_pb2

_OUTAGES = frozenset(
    {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.RESOURCE_EXHAUSTED}
)


class LinkscoreError(Exception):
    """Root of every error of a call.

    Attributes
    ----------
    code
        gRPC status, for example `grpc.StatusCode.NOT_FOUND`.
    reason
        Stable UPPER_SNAKE reason of the server (`ErrorReason` without prefix); empty if it gave none.
    retry_after_s
        Seconds the server asks to wait; None if it does not say.
    field_violations
        What is wrong with the request, field by field: `field`, `description` and `reason` of each.
    metadata
        The server's further facts about the error.
    """

    def __init__(
        self,
        message: str,
        *,
        code: grpc.StatusCode = grpc.StatusCode.UNKNOWN,
        reason: str = "",
        retry_after_s: float | None = None,
        field_violations: Sequence[Any] = (),
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(re.sub("[\x00-\x1f\x7f-\x9f]", lambda found: repr(found[0])[1:-1], message))
        self.code = code
        self.reason = reason
        self.retry_after_s = retry_after_s
        self.field_violations = tuple(field_violations)
        self.metadata = dict(metadata or {})

    @property
    def is_outage(self) -> bool:
        """Whether the next call would fail too: no server, no answer in time, or no room there."""
        return self.code in _OUTAGES and self.reason != "LIMIT_EXCEEDED"


class InvalidArgument(LinkscoreError):
    """The request breaks a rule."""


class Unauthenticated(LinkscoreError):
    """The bearer token is missing or wrong."""


class PermissionDenied(LinkscoreError):
    """The token is known, but its role or its crawls do not include the call."""


class NotFound(LinkscoreError):
    """No such crawl or site."""


class AlreadyExists(LinkscoreError):
    """The crawl exists with another configuration."""


class FailedPrecondition(LinkscoreError):
    """The server's state does not allow the call."""


class ResourceExhausted(LinkscoreError):
    """A bound of the server is reached."""


class Unavailable(LinkscoreError):
    """No server answers, or it is loading or draining."""


class DeadlineExceeded(LinkscoreError):
    """No answer within the deadline."""


class InternalError(LinkscoreError):
    """A fault of the server, or an answer that cannot be read."""


_TYPES: dict[grpc.StatusCode, type[LinkscoreError]] = {
    grpc.StatusCode.INVALID_ARGUMENT: InvalidArgument,
    grpc.StatusCode.UNAUTHENTICATED: Unauthenticated,
    grpc.StatusCode.PERMISSION_DENIED: PermissionDenied,
    grpc.StatusCode.NOT_FOUND: NotFound,
    grpc.StatusCode.ALREADY_EXISTS: AlreadyExists,
    grpc.StatusCode.FAILED_PRECONDITION: FailedPrecondition,
    grpc.StatusCode.RESOURCE_EXHAUSTED: ResourceExhausted,
    grpc.StatusCode.UNAVAILABLE: Unavailable,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceeded,
    grpc.StatusCode.INTERNAL: InternalError,
    grpc.StatusCode.UNKNOWN: InternalError,
    grpc.StatusCode.DATA_LOSS: InternalError,
}


def from_rpc_error(error: grpc.RpcError) -> LinkscoreError:
    """Turn the error of a call, sync or aio, into one of the tree, with the details the server attached."""
    code = error.code()
    made = _TYPES.get(code, LinkscoreError)(error.details() or code.name, code=code)
    try:
        status = rpc_status.from_call(error)
    except (ValueError, DecodeError):  # details that contradict the status line, or a proxy's: trust the line
        status = None
    info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
    bad = error_details_pb2.BadRequest()
    for detail in status.details if status is not None else ():
        if detail.Unpack(info):
            made.reason, made.metadata = info.reason, dict(info.metadata)
        elif detail.Unpack(retry):
            made.retry_after_s = retry.retry_delay.seconds + retry.retry_delay.nanos / 1e9
        elif detail.Unpack(bad):
            made.field_violations = tuple(bad.field_violations)
    return made


def raise_if_invalid(status: common_pb2.ItemStatus) -> None:
    """Raise what is wrong with the only item of a call, which the server answers as data."""
    if status.code == common_pb2.ITEM_CODE_INVALID:
        raise InvalidArgument(
            "; ".join(f"{each.field}: {each.description}" for each in status.problems) or "breaks a rule",
            code=grpc.StatusCode.INVALID_ARGUMENT,
            reason=status.problems[0].reason if status.problems else "",
            field_violations=status.problems,
        )
