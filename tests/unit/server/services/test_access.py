"""Who may do what: every RPC has a role, crawls are checked, changes are written down."""

from __future__ import annotations

from typing import Any

import grpc
import pytest

from linkscore.v1 import (
    browse_log_service_pb2,
    crawl_service_pb2,
    inspection_service_pb2,
    link_scoring_service_pb2,
    site_model_service_pb2,
)
from linkscore_server.services.contract import RPCS, caller
from linkscore_server.tokens import Caller, Role
from support.grpc_calls import Context, Sent, door, intercepted

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


async def called(who: Caller, method: str, request: Any, context: Context, sent: Sent | None = None) -> Any:
    """Make a unary call as `who` that answers with the name of who made it."""

    async def answer(_: Any, context: Context) -> str:
        return caller().name

    handler = grpc.unary_unary_rpc_method_handler(answer, type(request).FromString, str.encode)
    wrapped = await intercepted(door(caller_of=lambda _: who), handler, method)
    return await wrapped.stream_unary(sent or Sent(request.SerializeToString()), context)


DELETE = crawl_service_pb2.DeleteCrawlRequest(name="crawls/life")
SITE = site_model_service_pb2.GetSiteRequest(name="crawls/life/sites/a.org")


@pytest.mark.parametrize("role", Role)
async def test_a_role_includes_those_before_it(role: Role) -> None:
    who, context, sent = Caller("a", role), Context(), Sent(DELETE.SerializeToString())
    assert (await called(who, "CrawlService/DeleteCrawl", DELETE, context, sent) == who.name.encode()) == (
        role == Role.ADMIN
    )
    if role != Role.ADMIN:
        assert (context.code, sent.read) == (grpc.StatusCode.PERMISSION_DENIED, 0)
        assert b"NOT_ALLOWED" in context.trailers[0][1]


async def test_a_call_about_the_crawl_of_somebody_else_is_refused() -> None:
    mine, other = (Caller("a", Role.READ, (crawls,)) for crawls in ("life", "death"))
    assert await called(mine, "SiteModelService/GetSite", SITE, Context()) == mine.name.encode()
    context = Context()
    assert await called(other, "SiteModelService/GetSite", SITE, context) is None
    assert context.code == grpc.StatusCode.PERMISSION_DENIED
    assert "crawls/life" in str(context.details)


@pytest.mark.parametrize(("role", "code"), [(Role.ADMIN, "OK"), (Role.READ, "PERMISSION_DENIED")])
async def test_who_deletes_or_tries_to_is_written_down(
    role: Role, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    await called(Caller("ann", role), "CrawlService/DeleteCrawl", DELETE, Context())
    (line,) = caplog.messages
    assert "CrawlService/DeleteCrawl" in line
    assert "of ann at ipv4:127.0.0.1:1" in line
    assert line.endswith(code)
    assert ("crawls/life" in line) == (code == "OK")
