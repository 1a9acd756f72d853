"""Who may do what: the role that every RPC asks for, and the crawl it is about."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from linkscore_scoring.errors import InvalidInput, LimitExceeded
from linkscore_server.grpc.errors import NotAllowed
from linkscore_server.tokens import ANYBODY, Caller, Role

_MOST_NAME_CHARS = 8_192
"""Characters of a resource name: more than those of the longest crawl and site, escaped. A bound."""


@dataclass(frozen=True, slots=True)
class Rpc:
    """What a call needs.

    Attributes
    ----------
    role
        Least role of its caller.
    crawl
        Field of the request that names the crawl, or a resource of it; empty if it is about none.
    is_told
        Whether the log has a line of every call: those that change or delete more than a crawl's own traffic.
    """

    role: Role
    crawl: str
    is_told: bool = False


RPCS: dict[str, Rpc] = {
    "LinkScoringService/IngestPages": Rpc(Role.WRITE, "crawl"),
    "LinkScoringService/StreamPages": Rpc(Role.WRITE, "crawl"),
    "LinkScoringService/ClassifyPages": Rpc(Role.READ, "crawl"),
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
    "SiteModelService/ListSites": Rpc(Role.READ, "crawl"),
    "SiteModelService/GetSite": Rpc(Role.READ, "name"),
    "SiteModelService/LearnSite": Rpc(Role.WRITE, "name", is_told=True),
    "SiteModelService/SuggestSeeds": Rpc(Role.READ, "crawl"),
    "SiteModelService/ExportRules": Rpc(Role.READ, "name"),
    "SiteModelService/ExportExperience": Rpc(Role.READ, "name"),
    "BrowseLogService/ImportBrowseRecords": Rpc(Role.WRITE, "crawl", is_told=True),
    "BrowseLogService/MineSite": Rpc(Role.WRITE, "name", is_told=True),
    "BrowseLogService/GetBrowseStats": Rpc(Role.READ, "crawl"),
    "InspectionService/ListTemplates": Rpc(Role.READ, "name"),
    "InspectionService/ListTemplatePages": Rpc(Role.READ, "name"),
    "InspectionService/ListBuckets": Rpc(Role.READ, "name"),
    "InspectionService/GetHarvest": Rpc(Role.READ, "name"),
}
"""Every RPC of the contract, by service and method. One that is not here is refused to everybody."""

_caller: ContextVar[Caller] = ContextVar("caller", default=ANYBODY)


def caller() -> Caller:
    """Return who makes the call that is being answered."""
    return _caller.get()


def set_caller(who: Caller) -> None:
    """Say who makes the call that the current task answers."""
    _caller.set(who)


def check_role(who: Caller, method: str) -> None:
    """Refuse a call that the role of its caller does not include.

    Raises
    ------
    NotAllowed
        Naming the caller, its role and the one needed.
    """
    rpc = RPCS.get(method)
    if rpc is None:
        raise NotAllowed(f"{method}: no role may call it")
    if who.role < rpc.role:
        need = rpc.role.name.lower()
        raise NotAllowed(f"{method} needs role {need}, {who.name} has {who.role.name.lower()}")


def check_crawl(who: Caller, method: str, request: Any) -> str:
    """Return the name that a request is about; refuse a crawl that is not among those of the caller.

    Raises
    ------
    NotAllowed
        Naming caller and crawl, whether or not there is such a crawl.
    InvalidInput
        If the name is longer than any is.
    """
    name = name_in(method, request)
    if not name:
        return ""
    if len(name) > _MOST_NAME_CHARS:
        rule = f"must have at most {_MOST_NAME_CHARS} characters, got {len(name)}"
        raise InvalidInput(rule, field=RPCS[method].crawl)
    crawl = crawl_of(name)
    if not who.may_touch(crawl):
        raise NotAllowed(f"crawls/{crawl} is not among the crawls of {who.name}")
    return name


def check_count(others: Collection[str]) -> None:
    """Refuse a new crawl if its creator's token allows no more than those of its crawls that are there.

    Raises
    ------
    LimitExceeded
        Naming the token.
    """
    who = caller()
    if (n := sum(map(who.may_touch, others))) >= who.most_crawls:
        raise LimitExceeded(f"{n} crawls of {who.name} are there, and its token allows no more: delete one")


def name_in(method: str, request: Any) -> str:
    """Return the resource name that a request is about, empty if it names none."""
    name = request
    for field in filter(None, RPCS[method].crawl.split(".")):
        name = getattr(name, field)
    return "" if name is request else str(name)


def crawl_in(method: str, request: Any) -> str:
    """Return the crawl that a request is about, empty if it names none."""
    return crawl_of(name_in(method, request))


def crawl_of(name: str) -> str:
    """Return the crawl that a resource is of, empty if it has no name."""
    return name.removeprefix("crawls/").partition("/")[0]


CallerOf = Callable[[str], Caller | None]
"""Gives who sends a header `authorization`, None for nobody known."""
