"""`linkscore score`: what URLs are worth, and why, from the shell."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from linkscore import Row, rows
from linkscore.v1 import common_pb2, policy_pb2
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_cli.connection import Connection, online
from linkscore_cli.errors import safe
from linkscore_cli.output import json_option, name_of, plain, print_json, say
from linkscore_cli.policies import PolicyType

# URLs of one call: a quarter of what the server takes (setting `max_links_per_call`).
_BATCH = 5_000


@click.command()
@click.argument("urls", nargs=-1, required=True, metavar="URL...")
@click.option("--policy", type=PolicyType(), help="Another policy than the crawl's.")
@click.option("--why", is_flag=True, help="Say what each score is made of, in the order given.")
@click.option("--tsv", is_flag=True, help="Score, bucket and URL of each, tab separated, in the order given.")
@json_option
@online
def score(
    urls: tuple[str, ...],
    policy: policy_pb2.PolicySpec | None,
    why: bool,
    tsv: bool,
    as_json: bool,
    connection: Connection,
) -> None:
    """Score URLs by what a crawl has learned, best first; - reads them from standard input.

    Nothing is fetched and nothing learned. A URL is scored by itself: the place of its link, which a crawler
    sends along, is not known here, so that a crawl may think otherwise of the same URL.
    """
    crawl, found = connection.crawl, list[tuple[str, Row]]()
    wanted = _urls(urls)
    with connection.client() as client:
        if why:
            answer = client.explain_links(crawl=crawl, links=wanted, policy=policy)
            return _explain(answer, as_json)
        while batch := list(islice(wanted, _BATCH)):
            answer = client.score_links(crawl=crawl, links=batch, policy=policy)
            found += zip(batch, rows(answer.links), strict=True)
    if as_json:
        print_json([_plain(url, row) for url, row in found])
    elif tsv:
        for url, row in found:
            say(f"{row.score:.4f}\t{row.bucket}\t{url}" if row.usable else f"\t\t{url}")
    else:
        Console().print(_table(found))
    for url, row in found:
        if not row.usable:
            say(f"{url}: {_problem(row)}", err=True)
    sys.exit(0 if any(row.usable for _, row in found) else 1)


def _urls(given: Iterable[str]) -> Iterator[str]:
    for url in given:
        if url == "-":
            yield from filter(None, map(str.strip, sys.stdin))
        else:
            yield url


def _table(found: list[tuple[str, Row]]) -> Table:
    table = Table("score", "advice", "kind", "bucket", "URL", box=None, pad_edge=False)
    for url, row in sorted(found, key=lambda pair: -pair[1].score):
        if row.usable:
            table.add_row(f"{row.score:.4f}", _advice(row), _kind(row), name_of(row.bucket), name_of(url))
    return table


def _plain(url: str, row: Row) -> dict[str, Any]:
    if not row.usable:
        return {"url": url, "problem": _problem(row)}
    said = {"advice": _advice(row), "kind": _kind(row), "bucket": row.bucket}
    return {"url": url, "score": row.score} | {name: value for name, value in said.items() if value}


def _advice(row: Row) -> str:
    if not row.in_scope:
        return "out of scope"
    if row.verdict == common_pb2.VERDICT_FOLLOW:
        return "follow"
    return "skip" if row.verdict == common_pb2.VERDICT_SKIP else ""


def _kind(row: Row) -> str:
    name = common_pb2.UrlType.Name(row.url_type) if row.url_type in common_pb2.UrlType.values() else ""
    return name.removeprefix("URL_TYPE_").removeprefix("UNSPECIFIED").replace("_", " ").lower()


def _problem(row: Row) -> str:
    problems = row.status.problems if row.status is not None else ()
    return "; ".join(problem.description for problem in problems) or "cannot be scored"


def _explain(answer: pb.ScoreLinksResponse, as_json: bool) -> None:
    for found in answer.explanations:
        if found.status.problems:
            raise click.ClickException(
                "; ".join(f"URL: {safe(p.description)}" for p in found.status.problems)
            )
    if as_json:
        print_json([{"policy": answer.policy} | plain(found) for found in answer.explanations])
        return
    for found in answer.explanations:
        say(found.url, italic=True)
        say(f"{answer.policy}: {found.summary}", italic=True)
        Console().print(_explanation(found))


def _explanation(found: pb.LinkExplanation) -> Table:
    table = Table(show_header=False)
    table.add_row("score", f"{found.score:.4f}", "")
    table.add_row("bucket", name_of(found.bucket), "")
    table.add_row(
        "found on",
        name_of(found.source_cluster or "unknown cluster"),
        name_of(found.tag_path or "unknown tag path"),
    )
    if found.skip_reason:
        reason = common_pb2.SkipReason.Name(found.skip_reason).removeprefix("SKIP_REASON_").lower()
        table.add_row("to skip", reason, "by a setting of the crawl, whatever its score is")
    if found.duplicate_probability:
        told = "probability that it leads to a copy of another page"
        table.add_row("copy", f"{found.duplicate_probability:.2f}", told)
    for term in found.terms:
        table.add_row(name_of(term.name), f"{term.value:.4g}", name_of(term.description))
    return table
