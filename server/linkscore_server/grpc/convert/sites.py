"""RankSites: sites of a request, and the answer."""

from __future__ import annotations

from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_scoring.engine.site_ranking import SitesRanked
from linkscore_scoring.errors import FieldProblem, InvalidInput
from linkscore_server.grpc.convert.names import parse_site

MAX_URLS = 10_000
MAX_SITE_BYTES = 1_024


def asked(request: pb.RankSitesRequest, crawl: str) -> tuple[list[str], list[int | None], int]:
    """Return the sites, how many URLs of each wait (None: enough), and how many to hand out.

    Raises
    ------
    InvalidInput
        Naming every site that is missing, too long, of another crawl or there twice, or n.
    """
    n = request.n if request.HasField("n") else 1
    problems = [] if n <= MAX_URLS else [FieldProblem("n", f"must be at most {MAX_URLS}, got {n}")]
    names: dict[str, int] = {}
    for row, entry in enumerate(request.sites):
        field = f"sites[{row}].site"
        try:
            name = site_of(entry.site, crawl, field)
            if names.setdefault(name, row) != row:
                problems.append(FieldProblem(field, f"must be there once, is sites[{names[name]}] too"))
        except InvalidInput as exc:
            problems += exc.problems
    if problems:
        raise InvalidInput(problems)
    waiting = [entry.waiting if entry.HasField("waiting") else None for entry in request.sites]
    return list(names), waiting, n


def site_of(name: str, crawl: str, field: str) -> str:
    """Return the site that a host or a resource name stands for.

    Raises
    ------
    InvalidInput
        If it is missing, too long or of another crawl.
    """
    if not name:
        raise InvalidInput("is required", field=field, reason="REQUIRED")
    if len(name.encode()) > MAX_SITE_BYTES:
        raise InvalidInput(f"must be at most {MAX_SITE_BYTES} bytes", field=field)
    if "/" not in name:
        return name
    owner, site = parse_site(name, field)
    if owner != crawl:
        raise InvalidInput(f"must be a site of crawls/{crawl}, got {name!r}", field=field)
    return site


def answer(found: SitesRanked, max_results: int, *, policy: str, event_seq: int) -> pb.RankSitesResponse:
    """Return the columns of the answer, best site first."""
    order = found.order(max_results)
    return pb.RankSitesResponse(
        order=order.tolist(),
        values=found.values[order].tolist(),
        urls=found.urls[order].tolist(),
        draw_probs=[] if found.probs is None else found.probs[order].tolist(),
        policy=policy,
        event_seq=event_seq,
    )
