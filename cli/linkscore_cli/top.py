"""`linkscore top`: live rates, read from the server's Prometheus port."""

from __future__ import annotations

import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from itertools import islice

import click
from rich.live import Live
from rich.table import Table

from linkscore_cli.output import json_option

# A bound, chosen: the port is on this machine or near it.
_TIMEOUT_S = 5.0
# Feedback events that the gauge `linkscore_recent_reward` is the mean of, as its help text says.
_RECENT_REWARDS = 1_000
# A sample of Prometheus' text format: name, labels, value. Label values of ours hold no quotes.
_SAMPLE = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)")
_POLICY = re.compile(r'\bpolicy="([^"]*)"')
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


@click.command()
@click.option("--metrics", default="127.0.0.1:9411", show_default=True, help="Metrics address of the server.")
@click.option(
    "--every", type=click.FloatRange(0.01), default=2.0, show_default=True, help="Seconds between looks."
)
@click.option(
    "--rounds",
    type=click.IntRange(0),
    default=0,
    help="Stop after this many looks; 0 goes on until interrupted.",
)
@json_option
def top(metrics: str, every: float, rounds: int, as_json: bool) -> None:
    """Watch live rates; --json prints a line of JSON a look."""
    try:
        (_print_looks if as_json else _watch)(metrics, every, rounds)
    except KeyboardInterrupt:
        return
    except (urllib.error.URLError, OSError) as error:
        raise click.ClickException(f"--metrics: no metrics at {metrics}: {error}") from error


def _watch(address: str, every_s: float, rounds: int) -> None:
    looks = _looks(address, every_s, rounds)
    before, now, _ = next(looks)
    with Live(rates_table(before, now, every_s), auto_refresh=False) as live:
        for look in looks:
            live.update(rates_table(*look), refresh=True)


def _print_looks(address: str, every_s: float, rounds: int) -> None:
    for before, now, seconds in islice(_looks(address, every_s, rounds), 1, None):
        totals = {name: now.get(name, 0.0) for _, name in (*_RATES, *_GAUGES)}
        rates = {name: (totals[name] - before.get(name, 0.0)) / seconds for _, name in _RATES}
        click.echo(json.dumps({"seconds": seconds, "per_second": rates, "total": totals}))


def _looks(address: str, every_s: float, rounds: int) -> Iterator[tuple[Sums, Sums, float]]:
    """Yield the sums before and after each wait, and its seconds; at first the same ones twice."""
    before, at, done = read_sums(address), time.monotonic(), 0
    yield before, before, every_s
    while not rounds or done < rounds:
        time.sleep(every_s)
        now, then = read_sums(address), time.monotonic()
        yield before, now, then - at
        before, at, done = now, then, done + 1


def read_sums(address: str) -> dict[str, float]:
    """Return every sample of a metrics port, summed over labels; recent rewards also by policy."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=_TIMEOUT_S) as answer:
        text = answer.read().decode()
    sums: dict[str, float] = {}
    for line in text.splitlines():
        if (sample := _SAMPLE.match(line)) is None:  # a comment
            continue
        name, labels, value = sample[1], sample[2] or "", float(sample[3])
        sums[name] = sums.get(name, 0.0) + value
        if name == _BY_POLICY and (policy := _POLICY.search(labels)):
            sums[f"{_BY_POLICY} {policy[1]}"] = value
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
            table.add_row(label, f"{now[name]:.3f}", f"last {_RECENT_REWARDS:,} events")
    calls, spent = (
        now.get(f"linkscore_rpc_duration_seconds_{part}", 0.0)
        - before.get(f"linkscore_rpc_duration_seconds_{part}", 0.0)
        for part in ("count", "sum")
    )
    table.add_row("ms per call", f"{1000 * spent / calls:.2f}" if calls else "-", "")
    return table
