"""`linkscore advise`: when to stop a site, which links still bring something, what looks like a trap."""

from __future__ import annotations

import grpc
from rich.console import Console
from rich.table import Table
from rich.text import Text

from linkscore.v1 import site_model_service_pb2 as pb
from linkscore.v1 import site_model_service_pb2_grpc as pb_grpc
from linkscore_server.grpc.convert.names import site_name

_TIMEOUT_S = 10.0
_REWARDS = {
    pb.REWARD_SOURCE_NOVELTY: "new text, 0 to 1 a fetch (no feedback yet)",
    pb.REWARD_SOURCE_FEEDBACK: "feedback",
}
_KINDS = {
    pb.TRAP_KIND_COPIES: "copies of what is known",
    pb.TRAP_KIND_ENDLESS: "more of the same without end",
    pb.TRAP_KIND_FADING: "nothing new any more",
}


def advise_on_site(
    site: str, *, crawl: str, target: str, horizon: int, console: Console | None = None
) -> int:
    """Print the advice about one site; return the exit code."""
    console = console or Console()
    request = pb.GetSiteRequest(name=site_name(crawl, site), horizon=horizon)
    try:
        with grpc.insecure_channel(target) as channel:
            answer = pb_grpc.SiteModelServiceStub(channel).GetSite(request, timeout=_TIMEOUT_S)
    except grpc.RpcError as error:
        console.print(f"[red]{error.code().name}[/red]: {error.details()}")
        return 1
    console.print(_outlook(answer.site, answer.advice))
    if answer.advice.yields:
        console.print(_yields(answer.advice))
    _print_traps(answer.advice, console)
    return 0


def _outlook(site: pb.Site, advice: pb.SiteAdvice) -> Table:
    whose = "the policy's estimate" if advice.policy_estimate else "by what like links brought lately"
    mean = advice.expected_reward / advice.expected_fetches if advice.expected_fetches else 0.0
    table = Table(title=f"{site.host}, {site.page_count:,} pages", title_justify="left", show_header=False)
    if site.policy_state:
        table.add_row("policy", Text(site.policy_state))
    if site.session_names:
        table.add_row("session ids", Text(", ".join(site.session_names)))
    table.add_row("reward", _REWARDS.get(advice.reward_source, ""))
    table.add_row("last fetches", f"{advice.recent_reward:.2f} each, mean of {advice.recent_fetches:,}")
    table.add_row(
        "next fetches",
        f"{mean:.2f} each, {advice.expected_reward:.1f} in {advice.expected_fetches:,}, best first; {whose}",
    )
    table.add_row("links waiting", f"{advice.waiting_links:,}")
    return table


def _yields(advice: pb.SiteAdvice) -> Table:
    head = ("URL shape", "tag path", "fetched", "waiting", "first half", "last half")
    table = Table(*head, title="Mean reward by group of links", title_justify="left")
    for group in advice.yields:
        table.add_row(
            Text(group.url_pattern or "any"),
            Text(group.tag_path.rpartition("/")[2] or "unknown"),
            f"{group.fetched_count:,}",
            f"{group.waiting_count:,}",
            f"{group.early_reward:.2f}",
            f"{group.late_reward:.2f}",
        )
    return table


def _print_traps(advice: pb.SiteAdvice, console: Console) -> None:
    if not advice.traps:
        console.print("Nothing looks like a trap.")
    for trap in advice.traps:
        what = trap.url_pattern or f"links at {trap.tag_path}"
        console.print(Text(f"Trap? {what}: {_KINDS.get(trap.kind, '')}", style="yellow"))
        console.print(Text(f"  {trap.evidence}"))
        for url in trap.example_urls:
            console.print(Text(f"  {url}"))
