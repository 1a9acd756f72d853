"""Services are added by name: a method that is registered costs each call, see `grpc.contract.ByName`."""

from typing import Any

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
