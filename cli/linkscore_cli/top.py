"""`linkscore top`: live rates, read from the server's Prometheus port."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections.abc import Mapping

from prometheus_client.parser import text_string_to_metric_families
from rich.console import Console
from rich.live import Live
from rich.table import Table

from linkscore_server.observability.metrics import RECENT_REWARDS

_TIMEOUT_S = 5.0
_RATES = (
    ("pages/s", "linkscore_pages_total"),
    ("links scored/s", "linkscore_links_scored_total"),
    ("buckets ranked/s", "linkscore_buckets_ranked_total"),
    ("sites ranked/s", "linkscore_sites_ranked_total"),
    ("feedback/s", "linkscore_feedback_total"),
    ("new text, characters/s", "linkscore_novel_text_chars_total"),
    ("events durable/s", "linkscore_log_events_total"),
)
_GAUGES = (("crawls", "linkscore_crawls"), ("sites", "linkscore_sites"))

_BY_POLICY = "linkscore_recent_reward"

Sums = Mapping[str, float]


def watch(address: str, *, every_s: float, rounds: int = 0, console: Console | None = None) -> int:
    """Show rates until interrupted, or for `rounds` looks; return the exit code."""
    console = console or Console()
    try:
        before, at = read_sums(address), time.monotonic()
        with Live(rates_table(before, before, every_s), console=console, auto_refresh=False) as live:
            done = 0
            while not rounds or done < rounds:
                time.sleep(every_s)
                now, then = read_sums(address), time.monotonic()
                live.update(rates_table(before, now, then - at), refresh=True)
                before, at, done = now, then, done + 1
    except KeyboardInterrupt:
        return 0
    except (urllib.error.URLError, OSError) as error:
        console.print(f"[red]no metrics at {address}[/red]: {error}")
        return 1
    return 0


def read_sums(address: str) -> dict[str, float]:
    """Return every sample of a metrics port, summed over labels; recent rewards also by policy."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=_TIMEOUT_S) as answer:
        text = answer.read().decode()
    sums: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            sums[sample.name] = sums.get(sample.name, 0.0) + sample.value
            if sample.name == _BY_POLICY:
                sums[f"{_BY_POLICY} {sample.labels['policy']}"] = sample.value
    return sums


def rates_table(before: Sums, now: Sums, seconds: float) -> Table:
    """Return rates between two looks, totals, and the mean latency of the calls between them."""
    table = Table("", "now", "total", title="linkscore")
    for label, name in _RATES:
        total = now.get(name, 0.0)
        table.add_row(label, f"{(total - before.get(name, 0.0)) / seconds:,.1f}", f"{total:,.0f}")
    for label, name in _GAUGES:
        table.add_row(label, f"{now.get(name, 0.0):,.0f}", "")
    for name in sorted(now):
        if name.startswith(f"{_BY_POLICY} "):
            label = f"harvest rate, {name.removeprefix(_BY_POLICY).strip()}"
            table.add_row(label, f"{now[name]:.3f}", f"last {RECENT_REWARDS:,} events")
    calls, spent = (
        now.get(f"linkscore_rpc_duration_seconds_{part}", 0.0)
        - before.get(f"linkscore_rpc_duration_seconds_{part}", 0.0)
        for part in ("count", "sum")
    )
    table.add_row("ms per call", f"{1000 * spent / calls:.2f}" if calls else "-", "")
    return table
