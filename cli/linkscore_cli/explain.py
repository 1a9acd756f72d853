"""`linkscore explain`: why a URL has its score."""

from __future__ import annotations

import grpc
from rich.console import Console
from rich.table import Table

from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore.v1 import link_scoring_service_pb2_grpc as pb_grpc
from linkscore_cli.policy import spec_of_name

_TIMEOUT_S = 10.0


def explain_url(url: str, *, crawl: str, target: str, policy: str, console: Console | None = None) -> int:
    """Print the explanation of one URL; return the exit code."""
    console = console or Console()
    request = pb.ExplainLinksRequest(
        crawl=f"crawls/{crawl}", links=[pb.CandidateLink(url=url)], policy=spec_of_name(policy)
    )
    try:
        with grpc.insecure_channel(target) as channel:
            answer = pb_grpc.LinkScoringServiceStub(channel).ExplainLinks(request, timeout=_TIMEOUT_S)
    except grpc.RpcError as error:
        console.print(f"[red]{error.code().name}[/red]: {error.details()}")
        return 1
    found = answer.explanations[0]
    for problem in found.status.problems:
        console.print(f"[red]{problem.field}[/red]: {problem.description}")
    if found.status.problems:
        return 1
    console.print(_table(answer.policy, found))
    return 0


def _table(policy: str, found: pb.LinkExplanation) -> Table:
    table = Table(title=f"{found.url}\n{policy}: {found.summary}", title_justify="left", show_header=False)
    table.add_row("score", f"{found.score:.4f}", "")
    table.add_row("bucket", found.bucket, "")
    table.add_row("found on", found.source_cluster or "unknown cluster", found.tag_path or "unknown tag path")
    for term in found.terms:
        table.add_row(term.name, f"{term.value:.4g}", term.description)
    return table
