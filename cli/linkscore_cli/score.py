"""`linkscore score`: what URLs are worth, and why, from the shell."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import click
from rich.table import Table

from linkscore import Row, rows
from linkscore.v1 import common_pb2, policy_pb2
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_cli.connection import Connection, online
from linkscore_cli.errors import safe
from linkscore_cli.output import json_option, name_of, plain, say, table, tell, word_of
from linkscore_cli.policies import PolicyType

# URLs of one call: a quarter of what the server takes.
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
    lines = (f"{row.score:.4f}\t{row.bucket}\t{url}" if row.usable else f"\t\t{url}" for url, row in found)
    tell(as_json, [_plain(url, row) for url, row in found], lines if tsv else [_table(found)])
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
    made = Table("score", "advice", "kind", "bucket", "URL", box=None, pad_edge=False)
    for url, row in sorted(found, key=lambda pair: -pair[1].score):
        if row.usable:
            made.add_row(f"{row.score:.4f}", _advice(row), _kind(row), name_of(row.bucket), name_of(url))
    return made


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
    return word_of(common_pb2.UrlType, row.url_type)


def _problem(row: Row) -> str:
    problems = row.status.problems if row.status is not None else ()
    return "; ".join(problem.description for problem in problems) or "cannot be scored"


def _explain(answer: pb.ScoreLinksResponse, as_json: bool) -> None:
    for found in answer.explanations:
        if found.status.problems:
            raise click.ClickException(
                "; ".join(f"URL: {safe(p.description)}" for p in found.status.problems)
            )
    told = [{"policy": answer.policy} | plain(found) for found in answer.explanations]
    tell(as_json, told, (part for found in answer.explanations for part in _explained(found, answer.policy)))


def _explained(found: pb.LinkExplanation, policy: str) -> Iterator[str | Table]:
    yield found.url
    yield f"{policy}: {found.summary}"
    place = found.source_cluster or "unknown cluster", found.tag_path or "unknown tag path"
    rows = [("score", f"{found.score:.4f}", ""), ("bucket", found.bucket, ""), ("found on", *place)]
    if reason := word_of(common_pb2.SkipReason, found.skip_reason):
        rows.append(("to skip", reason, "by a setting of the crawl, whatever its score is"))
    if found.duplicate_probability:
        told = "probability that it leads to a copy of another page"
        rows.append(("copy", f"{found.duplicate_probability:.2f}", told))
    yield table([*rows, *((term.name, f"{term.value:.4g}", term.description) for term in found.terms)])
