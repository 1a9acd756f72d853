"""Exceptions to status: the table, its details, their size, and the reasons the contract knows.

Who may do what: every RPC has a role, crawls are checked, changes are written down.
"""

from __future__ import annotations

import grpc
import pytest
from google.protobuf.message import Message
from google.rpc import code_pb2, error_details_pb2, status_pb2

from linkscore.v1 import (
    browse_log_service_pb2,
    crawl_service_pb2,
    inspection_service_pb2,
    link_scoring_service_pb2,
    policy_pb2,
    site_model_service_pb2,
)
from linkscore.v1 import browse_log_service_pb2 as pb
from linkscore.v1 import browse_log_service_pb2_grpc as pb_grpc
from linkscore_scoring import errors
from linkscore_scoring.engine.config import PolicyChoice
from linkscore_scoring.policies.registry import builtin
from linkscore_server.app import Application
from linkscore_server.crawls.learning import CrawlClosed
from linkscore_server.crawls.memory import DiskFull
from linkscore_server.crawls.registry import CrawlExists, CrawlNotFound
from linkscore_server.operator_files import Role
from linkscore_server.services.contract import (
    RPCS,
    STATUS_TABLE,
    BadToken,
    CallerGone,
    MalformedMessage,
    NotAllowed,
    NotServing,
    Overloaded,
    status_of,
)
from linkscore_server.services.messages import (
    spec_of,
)
from linkscore_server.settings import Settings


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
        (Overloaded("x", 1.0), code_pb2.RESOURCE_EXHAUSTED, "OVERLOADED", True),
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


FILES = (
    link_scoring_service_pb2,
    crawl_service_pb2,
    site_model_service_pb2,
    browse_log_service_pb2,
    inspection_service_pb2,
)
METHODS = {
    f"{service.name}/{method.name}": method
    for file in FILES
    for service in file.DESCRIPTOR.services_by_name.values()
    for method in service.methods
}


def test_every_rpc_of_the_contract_has_a_role_and_no_other() -> None:
    assert list(RPCS) == list(METHODS)


@pytest.mark.parametrize("method", [m for m in METHODS if m.split("/")[1].startswith("Delete")])
def test_only_an_admin_deletes_and_it_is_written_down(method: str) -> None:
    assert (RPCS[method].role, RPCS[method].is_told) == (Role.ADMIN, True)


@pytest.mark.parametrize("method", [m for m in METHODS if m.split("/")[1].startswith(("Get", "List"))])
def test_reading_needs_no_more_than_the_role_read(method: str) -> None:
    own = method == "CrawlService/GetServerInfo"  # which tells where files are
    assert RPCS[method].role == (Role.ADMIN if own else Role.READ)


async def test_calls_about_browse_logs_say_what_to_install_where_there_is_no_duckdb(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setattr("linkscore_server.app.find_spec", lambda name: None)
    app = Application(
        Settings(listen="127.0.0.1:0", metrics_listen="", data_dir=str(tmp_path_factory.mktemp("data")))
    )
    await app.start()
    async with grpc.aio.insecure_channel(app.address) as channel:
        logs = pb_grpc.BrowseLogServiceStub(channel)  # type: ignore[no-untyped-call]
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await logs.GetBrowseStats(pb.GetBrowseStatsRequest())
        assert refused.value.code() == grpc.StatusCode.UNIMPLEMENTED
        assert "needs DuckDB" in (refused.value.details() or "")
    await app.stop()


def test_the_policies_of_the_contract_are_those_of_the_library() -> None:
    fields = set(policy_pb2.PolicySpec.DESCRIPTOR.fields_by_name)
    assert fields - {"external"} == set(builtin())


@pytest.mark.parametrize("name", sorted(builtin()))
def test_an_unset_parameter_differs_from_one_that_is_zero(name: str) -> None:
    spec = policy_pb2.PolicySpec()
    params = getattr(spec, name)
    params.SetInParent()
    assert spec_of(PolicyChoice(name)) == spec
    for field in params.DESCRIPTOR.fields:
        assert field.has_presence, f"{name}.{field.name} must be optional"
