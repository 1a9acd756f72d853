"""`linkscore explain`: why a URL has its score."""

from __future__ import annotations

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore.v1 import policy_pb2
from linkscore_cli.connection import Connection, online
from linkscore_cli.policies import PolicyType


@click.command()
@click.argument("url")
@click.option("--policy", type=PolicyType(), help="Another policy than the crawl's.")
@online
def explain(url: str, policy: policy_pb2.PolicySpec | None, connection: Connection) -> None:
    """Say why a URL has its score."""
    crawl = connection.crawl
    with connection.client() as client:
        answer = client.explain_links(crawl=crawl, links=[url], policy=policy)
    found = answer.explanations[0]
    if found.status.problems:
        raise click.ClickException("; ".join(f"URL: {p.description}" for p in found.status.problems))
    Console().print(_table(answer.policy, found))


def _table(policy: str, found: pb.LinkExplanation) -> Table:
    title = Text(f"{found.url}\n{policy}: {found.summary}")
    table = Table(title=title, title_justify="left", show_header=False)
    table.add_row("score", f"{found.score:.4f}", "")
    table.add_row("bucket", Text(found.bucket), "")
    table.add_row(
        "found on", found.source_cluster or "unknown cluster", Text(found.tag_path or "unknown tag path")
    )
    for term in found.terms:
        table.add_row(term.name, f"{term.value:.4g}", Text(term.description))
    return table
