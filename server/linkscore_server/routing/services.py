"""The services of the contract as gRPC takes them, each call handed to one who answers any."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Container
from contextlib import aclosing
from types import SimpleNamespace
from typing import Any, Protocol

import grpc

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


class AnswersAll(Protocol):
    """Answers every call of the contract by its name, ``Service/Method``."""

    async def call(self, method: str, request: Any, context: Any) -> Any:
        """Answer a call that has one request and one answer."""

    def stream(self, method: str, requests: AsyncIterator[Any], context: Any) -> AsyncGenerator[Any, None]:
        """Answer a stream with a stream."""

    async def collect(self, method: str, requests: AsyncIterator[Any], context: Any) -> Any:
        """Answer a stream with one message."""


def full_names(there: Container[str]) -> list[str]:
    """Return the names of those services that are there, with their package."""
    return [file.services_by_name[name].full_name for name, file in SERVICES.items() if name in there]


def add_services(answers: AnswersAll, server: grpc.aio.Server, there: Container[str] = SERVICES) -> None:
    """Let somebody answer all calls of a server to services that are there: gRPC answers the others."""
    for name, file in SERVICES.items():
        if name not in there:
            continue
        methods = {
            method.name: _handler(answers, f"{name}/{method.name}", method)
            for method in file.services_by_name[name].methods
        }
        _ADD[name](SimpleNamespace(**methods), ByName(server))


def _handler(answers: AnswersAll, name: str, method: Any) -> Any:
    async def answer(request: Any, context: Any) -> Any:
        return await answers.call(name, request, context)

    async def stream(requests: AsyncIterator[Any], context: Any) -> AsyncGenerator[Any, None]:
        async with aclosing(answers.stream(name, requests, context)) as responses:
            async for response in responses:
                yield response

    async def collect(requests: AsyncIterator[Any], context: Any) -> Any:
        return await answers.collect(name, requests, context)

    if method.server_streaming:
        return stream
    return collect if method.client_streaming else answer
