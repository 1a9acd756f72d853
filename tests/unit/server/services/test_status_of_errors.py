"""Exceptions to status: the table, its details, their size, and the reasons the contract knows."""

from __future__ import annotations

import pytest
from google.protobuf.message import Message
from google.rpc import code_pb2, error_details_pb2, status_pb2

from linkscore_scoring import errors
from linkscore_server.crawls.learning import CrawlClosed
from linkscore_server.crawls.memory import DiskFull
from linkscore_server.crawls.registry import CrawlExists, CrawlNotFound
from linkscore_server.services.errors import (
    STATUS_TABLE,
    BadToken,
    CallerGone,
    MalformedMessage,
    NotAllowed,
    NotServing,
    Overloaded,
    status_of,
)


def detail(status: status_pb2.Status, kind: type[Message]) -> Message | None:
    for packed in status.details:
        found = kind()
        if packed.Unpack(found):
            return found
    return None


@pytest.mark.parametrize(
    ("error", "code", "reason", "retry"),
    [
        (errors.InvalidInput("must be x", field="f"), code_pb2.INVALID_ARGUMENT, "INVALID_VALUE", False),
        (errors.InvalidPage("is required", field="f", reason="REQUIRED"), 3, "REQUIRED", False),
        (CrawlNotFound("x"), code_pb2.NOT_FOUND, "CRAWL_NOT_FOUND", False),
        (errors.NotFound("x"), code_pb2.NOT_FOUND, "SITE_NOT_FOUND", False),
        (CrawlExists("x"), code_pb2.ALREADY_EXISTS, "CRAWL_EXISTS", False),
        (errors.NotLearned("x"), code_pb2.FAILED_PRECONDITION, "SITE_NOT_LEARNED", False),
        (errors.CorruptState("x"), code_pb2.FAILED_PRECONDITION, "CORRUPT_STATE", False),
        (errors.LimitExceeded("x"), code_pb2.RESOURCE_EXHAUSTED, "LIMIT_EXCEEDED", True),
        (OSError(28, "No space left on device"), code_pb2.RESOURCE_EXHAUSTED, "DISK_FULL", True),
        (DiskFull("x"), code_pb2.RESOURCE_EXHAUSTED, "DISK_FULL", True),
        (OSError(5, "Input/output error"), code_pb2.RESOURCE_EXHAUSTED, "LIMIT_EXCEEDED", True),
        (errors.PolicyFailed("x"), code_pb2.FAILED_PRECONDITION, "POLICY_FAILED", False),
        (NotServing("x"), code_pb2.UNAVAILABLE, "NOT_SERVING", True),
        (CrawlClosed("x"), code_pb2.UNAVAILABLE, "NOT_SERVING", True),
        (BadToken("x"), code_pb2.UNAUTHENTICATED, "BAD_TOKEN", False),
        (NotAllowed("x"), code_pb2.PERMISSION_DENIED, "NOT_ALLOWED", False),
        (CallerGone("x"), code_pb2.DEADLINE_EXCEEDED, "CALLER_GONE", False),
        (MalformedMessage("x"), code_pb2.INVALID_ARGUMENT, "MALFORMED_MESSAGE", False),
        (Overloaded("x"), code_pb2.RESOURCE_EXHAUSTED, "OVERLOADED", True),
        (ZeroDivisionError("x"), code_pb2.INTERNAL, "INTERNAL", False),
    ],
)
def test_an_exception_has_its_code_reason_and_retry(
    error: Exception, code: int, reason: str, retry: bool
) -> None:
    status = status_of(error)
    info = detail(status, error_details_pb2.ErrorInfo)
    assert (status.code, info.reason, info.domain) == (code, reason, "linkscore")
    assert (detail(status, error_details_pb2.RetryInfo) is not None) == retry


def test_every_error_of_linkscore_is_in_the_table() -> None:
    known = tuple(kind for kind, _, _ in STATUS_TABLE)
    kinds = [k for k in vars(errors).values() if isinstance(k, type) and issubclass(k, errors.LinkscoreError)]
    missing = [k.__name__ for k in kinds if not issubclass(k, known)]
    assert missing == ["LinkscoreError", "AlreadyExists"]
