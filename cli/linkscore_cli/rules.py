"""What a crawl learned about the URLs of a site as files for crawlers: `linkscore export-rules`."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from linkscore.v1 import policy_pb2
from linkscore.v1 import site_model_service_pb2 as pb
from linkscore_cli.connection import Connection
from linkscore_cli.policies import PolicyType
from linkscore_cli.sites import TIMEOUT_S, of_site

_FORMATS = [name.removeprefix("RULE_FORMAT_").lower() for name, number in pb.RuleFormat.items() if number]


@click.command("export-rules")
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice(_FORMATS),
    help="Crawler; repeatable. All if none is named.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    show_default=True,
    help="Folder to write to.",
)
@click.option("--policy", type=PolicyType(), help="Another policy than the crawl's.")
@click.option(
    "--min-confidence",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="Leave out URL rules of less.",
)
@of_site
def export_rules(
    site: str,
    formats: tuple[str, ...],
    out: Path,
    policy: policy_pb2.PolicySpec | None,
    min_confidence: float,
    connection: Connection,
) -> None:
    """Write what CRAWL learned about the URLs of SITE as files that crawlers load."""
    crawl = connection.crawl
    with connection.client(timeout_s=TIMEOUT_S) as client:
        answer = client.export_rules(
            crawl=crawl, site=site, formats=formats, policy=policy, min_confidence=min_confidence
        )
    try:
        _write(answer, out, Console())
    except OSError as error:
        raise click.ClickException(f"--out: cannot write: {error}") from error


def _write(answer: pb.ExportRulesResponse, out: Path, console: Console) -> None:
    rules = f"{len(answer.url_rules)} URL rules, {len(answer.tag_path_rules)} tag paths"
    if answer.denied_rules:
        rules += f", {len(answer.denied_rules)} about copies"
    state = f"; {answer.policy_state}" if answer.policy_state else ""
    console.print(Text(f"{answer.policy}: {rules}{state}"), soft_wrap=True)
    out.mkdir(parents=True, exist_ok=True)
    for file in answer.files:
        path = out / Path(file.name).name
        path.write_bytes(file.content)
        console.print(Text(f"wrote {path}"), soft_wrap=True)
        for note in file.notes:
            console.print(Text(f"  {note}"), soft_wrap=True)
