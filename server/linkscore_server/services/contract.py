"""The services of the contract: who may make which call, and about which crawl."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import grpc
from google.protobuf import message_factory
from google.rpc import code_pb2, status_pb2

from linkscore.v1 import (
    browse_log_service_pb2,
    crawl_service_pb2,
    inspection_service_pb2,
    link_scoring_service_pb2,
    site_model_service_pb2,
)
from linkscore_cli.extras import install_command
from linkscore_scoring.errors import LimitExceeded
from linkscore_server.operator_files import ANYBODY, Caller, Role
from linkscore_server.services.errors import Forwarded

SERVICES: dict[str, Any] = {
    "LinkScoringService": link_scoring_service_pb2.DESCRIPTOR,
    "CrawlService": crawl_service_pb2.DESCRIPTOR,
    "SiteModelService": site_model_service_pb2.DESCRIPTOR,
    "BrowseLogService": browse_log_service_pb2.DESCRIPTOR,
    "InspectionService": inspection_service_pb2.DESCRIPTOR,
}
"""File of the contract that defines each service."""


class ByName:
    """Adds services to a gRPC server whose methods are looked up when they are called.

    Generated code registers each method with the C core too. grpc.aio (1.85) keeps a task for each one that
    is registered and, call by call, waits for the first of all of them: with 34 methods that is some 50 us.
    """

    def __init__(self, server: grpc.aio.Server) -> None:
        self.add_generic_rpc_handlers = server.add_generic_rpc_handlers

    def add_registered_method_handlers(self, service: str, handlers: Any) -> None:
        """Do nothing: the generic handlers have them all."""


class WithoutBrowseLogs:
    """Answers the calls about browse logs of a server that takes none."""

    def __init__(self, *, in_database: bool) -> None:
        self._why = (
            "browse logs lie in a folder, and this server has its crawls in a database"
            if in_database
            else f"this call needs DuckDB where the server runs: {install_command('logs')}"
        )

    async def ImportBrowseRecords(self, *_: Any) -> Any:
        """Say why."""
        raise Forwarded(status_pb2.Status(code=code_pb2.UNIMPLEMENTED, message=self._why))

    MineSite = GetBrowseStats = ImportBrowseRecords


def add_services(servicers: Mapping[str, Any], server: grpc.aio.Server) -> None:
    """Let services answer the calls of a server, by name; gRPC answers those to others."""
    for name, servicer in servicers.items():
        service = SERVICES[name].services_by_name[name]
        handlers = {one.name: _handler(getattr(servicer, one.name), one) for one in service.methods}
        handler = grpc.method_handlers_generic_handler(service.full_name, handlers)
        server.add_generic_rpc_handlers((handler,))


def _handler(answer: Any, method: Any) -> Any:
    asked, said = map(message_factory.GetMessageClass, (method.input_type, method.output_type))
    return grpc.unary_unary_rpc_method_handler(answer, asked.FromString, said.SerializeToString)


@dataclass(frozen=True, slots=True)
class Rpc:
    """What a call needs: a role, and in its request the field that names the crawl, or a resource of it.

    Of one that `is_told` the log has a line for every call: it changes more than a crawl's own traffic.
    """

    role: Role
    crawl: str
    is_told: bool = False


RPCS: dict[str, Rpc] = {
    "LinkScoringService/IngestPages": Rpc(Role.WRITE, "crawl"),
    "LinkScoringService/ScoreLinks": Rpc(Role.READ, "crawl"),
    "LinkScoringService/RankBuckets": Rpc(Role.READ, "crawl"),
    "LinkScoringService/RankSites": Rpc(Role.READ, "crawl"),
    "LinkScoringService/ReportFeedback": Rpc(Role.WRITE, "crawl"),
    "LinkScoringService/SuggestExamples": Rpc(Role.READ, "crawl"),
    "LinkScoringService/RankRevisits": Rpc(Role.READ, "crawl"),
    "LinkScoringService/NotifyChanged": Rpc(Role.WRITE, "crawl"),
    "CrawlService/CreateCrawl": Rpc(Role.WRITE, "crawl.name", is_told=True),
    "CrawlService/GetCrawl": Rpc(Role.READ, "name"),
    "CrawlService/ListCrawls": Rpc(Role.READ, ""),
    "CrawlService/UpdateCrawl": Rpc(Role.WRITE, "crawl.name", is_told=True),
    "CrawlService/DeleteCrawl": Rpc(Role.ADMIN, "name", is_told=True),
    "CrawlService/ListShards": Rpc(Role.READ, "crawl"),
    "CrawlService/GetServerInfo": Rpc(Role.ADMIN, ""),
    "SiteModelService/ListSites": Rpc(Role.READ, "crawl"),
    "SiteModelService/GetSite": Rpc(Role.READ, "name"),
    "SiteModelService/LearnSite": Rpc(Role.WRITE, "name", is_told=True),
    "SiteModelService/SuggestSeeds": Rpc(Role.READ, "crawl"),
    "SiteModelService/ExportRules": Rpc(Role.READ, "name"),
    "BrowseLogService/ImportBrowseRecords": Rpc(Role.WRITE, "crawl", is_told=True),
    "BrowseLogService/MineSite": Rpc(Role.WRITE, "name", is_told=True),
    "BrowseLogService/GetBrowseStats": Rpc(Role.READ, "crawl"),
    "InspectionService/ListTemplates": Rpc(Role.READ, "name"),
    "InspectionService/ListTemplatePages": Rpc(Role.READ, "name"),
    "InspectionService/ListBuckets": Rpc(Role.READ, "name"),
    "InspectionService/GetHarvest": Rpc(Role.READ, "name"),
}
"""Every RPC of the contract, by service and method. One that is not here is refused to everybody."""

CALLER: ContextVar[Caller] = ContextVar("caller", default=ANYBODY)
"""Who makes the call that the current task answers."""


def check_count(others: Collection[str]) -> None:
    """Refuse a new crawl if its creator's token allows no more than those of its crawls that are there."""
    who = CALLER.get()
    if (n := sum(map(who.may_touch, others))) >= who.most_crawls:
        raise LimitExceeded(f"{n} crawls of {who.name} are there, and its token allows no more: delete one")


def named_in(method: str, request: Any) -> tuple[str, str]:
    """Return the resource name that a request is about, and the crawl in it; empty if it names none."""
    found = request
    for field in filter(None, RPCS[method].crawl.split(".")):
        found = getattr(found, field)
    name = "" if found is request else str(found)
    return name, name.removeprefix("crawls/").partition("/")[0]
