"""`linkscore export-rules`: what was learned about URLs as files for crawlers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import grpc
from rich.console import Console
from rich.text import Text

from linkscore.v1 import site_model_service_pb2 as pb
from linkscore.v1 import site_model_service_pb2_grpc as pb_grpc
from linkscore_cli.policy import spec_of_name
from linkscore_server.grpc.convert.names import site_name
from linkscore_server.grpc.convert.rules import FORMATS

_TIMEOUT_S = 60.0
_OPTIONS = [("grpc.max_receive_message_length", -1)]


def write_rules(
    site: str,
    *,
    crawl: str,
    formats: Sequence[str],
    out: Path,
    target: str,
    policy: str,
    min_confidence: float,
    console: Console | None = None,
) -> int:
    """Write the files wanted, all if none is named, into a folder; return the exit code."""
    console = console or Console()
    if unknown := [name for name in formats if name not in FORMATS]:
        console.print(f"[red]format[/red] {', '.join(unknown)}: known are {', '.join(FORMATS)}")
        return 1
    request = pb.ExportRulesRequest(
        name=site_name(crawl, site),
        formats=[FORMATS[name] for name in formats],
        policy=spec_of_name(policy),
        min_confidence=min_confidence,
    )
    try:
        with grpc.insecure_channel(target, _OPTIONS) as channel:
            answer = pb_grpc.SiteModelServiceStub(channel).ExportRules(request, timeout=_TIMEOUT_S)
        _write(answer, out, console)
    except grpc.RpcError as error:
        console.print(Text(f"{error.code().name}: {error.details()}"))
        return 1
    except OSError as error:
        console.print(Text(f"cannot write: {error}"))
        return 1
    return 0


def _write(answer: pb.ExportRulesResponse, out: Path, console: Console) -> None:
    rules = f"{len(answer.url_rules)} URL rules, {len(answer.tag_path_rules)} tag paths"
    state = f"; {answer.policy_state}" if answer.policy_state else ""
    console.print(Text(f"{answer.policy}: {rules}{state}"))
    out.mkdir(parents=True, exist_ok=True)
    for file in answer.files:
        path = out / Path(file.name).name
        path.write_bytes(file.content)
        console.print(Text(f"wrote {path}"))
        for note in file.notes:
            console.print(Text(f"  {note}"))
