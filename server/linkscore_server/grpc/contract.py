"""The services of the contract, added to a gRPC server."""

from __future__ import annotations

from collections.abc import Container, Mapping
from types import SimpleNamespace
from typing import Any

import grpc
from google.rpc import code_pb2, status_pb2

from linkscore.v1 import (
    browse_log_service_pb2,
    browse_log_service_pb2_grpc,
    crawl_service_pb2,
    crawl_service_pb2_grpc,
    inspection_service_pb2,
    inspection_service_pb2_grpc,
    link_scoring_service_pb2,
    link_scoring_service_pb2_grpc,
    site_model_service_pb2,
    site_model_service_pb2_grpc,
)
from linkscore_cli.extras import install_command
from linkscore_server.grpc.errors import Forwarded

SERVICES: dict[str, Any] = {
    "LinkScoringService": link_scoring_service_pb2.DESCRIPTOR,
    "CrawlService": crawl_service_pb2.DESCRIPTOR,
    "SiteModelService": site_model_service_pb2.DESCRIPTOR,
    "BrowseLogService": browse_log_service_pb2.DESCRIPTOR,
    "InspectionService": inspection_service_pb2.DESCRIPTOR,
}
"""File of the contract that defines each service."""

_ADD: dict[str, Any] = {
    "LinkScoringService": link_scoring_service_pb2_grpc.add_LinkScoringServiceServicer_to_server,
    "CrawlService": crawl_service_pb2_grpc.add_CrawlServiceServicer_to_server,
    "SiteModelService": site_model_service_pb2_grpc.add_SiteModelServiceServicer_to_server,
    "BrowseLogService": browse_log_service_pb2_grpc.add_BrowseLogServiceServicer_to_server,
    "InspectionService": inspection_service_pb2_grpc.add_InspectionServiceServicer_to_server,
}


class ByName:
    """Adds services to a gRPC server whose methods are looked up when they are called.

    Generated code registers each method with the C core too. grpc.aio (1.85) keeps a task for each one that
    is registered and, call by call, waits for the first of all of them: with 34 methods that is some 50 us.

    Parameters
    ----------
    server
        Where they are added.
    """

    def __init__(self, server: grpc.aio.Server) -> None:
        self.add_generic_rpc_handlers = server.add_generic_rpc_handlers

    def add_registered_method_handlers(self, service: str, handlers: Any) -> None:
        """Do nothing: the generic handlers have them all."""


def full_names(there: Container[str]) -> list[str]:
    """Return the names of those services that are there, with their package."""
    return [file.services_by_name[name].full_name for name, file in SERVICES.items() if name in there]


def complete(services: Mapping[str, Any], methods: Mapping[str, Any]) -> dict[str, Any]:
    """Return services with all methods of the contract: some given by themselves, as ``Service/Method``.

    One that nobody answers is UNIMPLEMENTED.
    """
    return {
        name: SimpleNamespace(
            **{
                method.name: methods.get(f"{name}/{method.name}") or getattr(service, method.name, _nobody)
                for method in SERVICES[name].services_by_name[name].methods
            }
        )
        for name, service in services.items()
    }


async def _nobody(*_: Any) -> Any:
    why = f"this call needs DuckDB where the server runs: {install_command('logs')}"
    raise Forwarded(status_pb2.Status(code=code_pb2.UNIMPLEMENTED, message=why))


def add_services(servicers: Mapping[str, Any], server: grpc.aio.Server) -> None:
    """Let services answer the calls of a server, by name; gRPC answers those to others."""
    for name, servicer in servicers.items():
        _ADD[name](servicer, ByName(server))
