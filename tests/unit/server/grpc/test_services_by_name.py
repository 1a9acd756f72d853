"""Services are added by name: a method that is registered costs each call, see `grpc.contract.ByName`."""

from typing import Any

import grpc
import pytest

from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore.v1 import link_scoring_service_pb2_grpc as pb_grpc
from linkscore.v1 import site_model_service_pb2 as site_pb
from linkscore.v1 import site_model_service_pb2_grpc as site_grpc
from linkscore_server.app import Application
from linkscore_server.grpc.contract import SERVICES, add_services, complete
from linkscore_server.settings import Settings


class Recorded:
    """Stands in for a gRPC server, and for whoever answers."""

    def __init__(self) -> None:
        self.generic: list[Any] = []
        self.registered: list[str] = []

    def add_generic_rpc_handlers(self, handlers: Any) -> None:
        """See `grpc.aio.Server`."""
        self.generic += handlers

    def add_registered_method_handlers(self, service: str, handlers: Any) -> None:
        """See `grpc.aio.Server`."""
        self.registered.append(service)


def test_every_method_of_the_contract_has_a_handler_and_none_is_registered() -> None:
    server = Recorded()
    add_services(complete(dict.fromkeys(SERVICES), {}), server)  # type: ignore[arg-type]
    names = {handlers.service_name() for handlers in server.generic}
    assert names == {file.services_by_name[name].full_name for name, file in SERVICES.items()}
    assert server.registered == []


async def test_a_server_registers_no_method_of_health_and_reflection_either(monkeypatch: Any) -> None:
    registered: list[str] = []
    monkeypatch.setattr(
        "grpc.aio._server.Server.add_registered_method_handlers",
        lambda server, service, handlers: registered.append(service),
    )
    app = Application(Settings(listen="127.0.0.1:0", metrics_listen="", data_dir="memory"))
    await app.start()
    await app.stop()
    assert registered == []


async def test_a_call_that_only_an_annex_answers_is_unimplemented_without_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("linkscore_server.app.annexes", list)
    app = Application(Settings(listen="127.0.0.1:0", metrics_listen="", data_dir="memory"))
    await app.start()
    async with grpc.aio.insecure_channel(app.address) as channel:
        links, sites = pb_grpc.LinkScoringServiceStub(channel), site_grpc.SiteModelServiceStub(channel)  # type: ignore[no-untyped-call]
        calls = (
            links.RankRevisits(pb.RankRevisitsRequest(crawl="crawls/a")),
            links.NotifyChanged(pb.NotifyChangedRequest(crawl="crawls/a", urls=["http://b/"])),
            sites.ExportRules(site_pb.ExportRulesRequest(name="crawls/a/sites/b")),
        )
        for call in calls:
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await call
            assert refused.value.code() == grpc.StatusCode.UNIMPLEMENTED
            assert "needs DuckDB" in (refused.value.details() or "")
    await app.stop()
