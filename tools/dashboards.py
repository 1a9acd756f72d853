"""Writes the Grafana dashboards in deploy/grafana: service, crawls.

They are code: each panel is a line here, and `make gen` writes the JSON. `--check` says whether it is up to date.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "deploy/grafana"
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_COLUMNS, _HEIGHT = 2, 8
_WIDTH = 24 // _COLUMNS  # Grafana's grid has 24 columns
_BY = 'instance=~"$instance"'
_LONG = ".*/(LearnSite|ImportBrowseRecords|MineSite)"


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel: title, what it tells, unit, its queries with their legends; whether it shows exemplars."""

    title: str
    tells: str
    unit: str
    queries: tuple[tuple[str, str], ...]
    kind: str = "timeseries"
    names_calls: bool = False


def rate(metric: str, by: str) -> str:
    """Return a query of a counter a second, summed by labels."""
    return f"sum by ({by}) (rate({metric}{{{_BY}}}[$__rate_interval]))"


def quantile(share: float, metric: str, by: str = "", extra: str = "") -> str:
    """Return a query of a quantile of a histogram."""
    labels = ", ".join(filter(None, ("le", by)))
    chosen = ", ".join(filter(None, (_BY, extra)))
    return f"histogram_quantile({share}, sum by ({labels}) (rate({metric}_bucket{{{chosen}}}[$__rate_interval])))"


def gauge(metric: str, by: str, how: str = "sum") -> str:
    """Return a query of a gauge over the instances."""
    return f"{how} by ({by}) ({metric}{{{_BY}}})"


SERVICE = (
    Panel(
        "Calls",
        "Calls answered, by method.",
        "reqps",
        ((rate("linkscore_rpc_duration_seconds_count", "method"), "{{method}}"),),
    ),
    Panel(
        "Calls by code",
        "OK apart from the rest: what is refused, and why.",
        "reqps",
        ((rate("linkscore_rpc_duration_seconds_count", "code"), "{{code}}"),),
    ),
    Panel(
        "Time to answer, 99th percentile",
        "By method, without calls that wait for a learning or an import. A dot is a call: its request id is in the log if it took over 2.5 s.",
        "s",
        (
            (
                quantile(0.99, "linkscore_rpc_duration_seconds", "method", f'method!~"{_LONG}"'),
                "{{method}}",
            ),
        ),
        names_calls=True,
    ),
    Panel(
        "Time to make events durable",
        "What every write waits for: the disk.",
        "s",
        (
            (quantile(0.5, "linkscore_log_commit_duration_seconds"), "median"),
            (quantile(0.99, "linkscore_log_commit_duration_seconds"), "99th percentile"),
        ),
    ),
    Panel(
        "Calls shed",
        "Refused or dropped because there was no time or no memory; docs/reference/operations.md, Overload.",
        "ops",
        ((f"sum(rate(linkscore_calls_shed_total{{{_BY}}}[$__rate_interval])) or vector(0)", "shed"),),
    ),
    Panel(
        "Longest wait",
        "Time that the call has waited which waits for its turn for longest.",
        "s",
        ((gauge("linkscore_queue_delay_seconds", "instance", "max"), "{{instance}}"),),
    ),
    Panel(
        "Bytes of requests in work",
        "Against the setting max_inflight_bytes.",
        "bytes",
        (
            (gauge("linkscore_inflight_bytes", "instance"), "in work {{instance}}"),
            (gauge("linkscore_inflight_bytes_limit", "instance"), "limit {{instance}}"),
        ),
    ),
    Panel(
        "Failures of disk and state",
        "Commits, states, events that could not be applied. Anything above zero is an alert.",
        "short",
        (
            (f"sum(increase(linkscore_log_commit_failures_total{{{_BY}}}[1h]))", "commits"),
            (f"sum(increase(linkscore_state_failures_total{{{_BY}}}[1h]))", "states"),
            (f"sum(increase(linkscore_apply_failures_total{{{_BY}}}[1h]))", "events not applied"),
        ),
    ),
    Panel(
        "Memory of the process",
        "Resident, against the setting memory_mb.",
        "bytes",
        (
            (gauge("process_resident_memory_bytes", "instance"), "{{instance}}"),
            (gauge("linkscore_memory_limit_bytes", "instance"), "limit {{instance}}"),
        ),
    ),
    Panel(
        "Memory of sites",
        "As estimated, against what they may take; the least recently used are evicted above it.",
        "bytes",
        (
            (gauge("linkscore_site_memory_bytes", "instance"), "in memory {{instance}}"),
            (gauge("linkscore_site_memory_limit_bytes", "instance"), "limit {{instance}}"),
        ),
    ),
    Panel(
        "Sites evicted",
        "As many a second as pages: they come from more sites than fit.",
        "short",
        ((rate("linkscore_sites_put_away_total", "instance"), "evicted {{instance}}"),),
    ),
    Panel(
        "CPU", "Cores in use.", "short", ((rate("process_cpu_seconds_total", "instance"), "{{instance}}"),)
    ),
    Panel(
        "Open files",
        "Each crawl in memory and each connection takes one.",
        "short",
        (
            (gauge("process_open_fds", "instance"), "open {{instance}}"),
            (gauge("process_max_fds", "instance"), "allowed {{instance}}"),
        ),
    ),
    Panel(
        "Workers that serve",
        "0: calls about the sites of that worker are UNAVAILABLE.",
        "short",
        ((gauge("linkscore_worker_up", "instance, worker", "min"), "{{worker}} {{instance}}"),),
    ),
)
CRAWLS = (
    Panel(
        "Pages",
        "Pages taken in, by outcome.",
        "ops",
        ((rate("linkscore_pages_total", "outcome"), "{{outcome}}"),),
    ),
    Panel(
        "Links scored", "By policy.", "ops", ((rate("linkscore_links_scored_total", "policy"), "{{policy}}"),)
    ),
    Panel(
        "Mean reward reported",
        "Of the feedback applied lately.",
        "percentunit",
        (
            (
                f"sum by (policy) (rate(linkscore_feedback_reward_total{{{_BY}}}[$__rate_interval])) / sum by (policy) (rate(linkscore_feedback_applied_total{{{_BY}}}[$__rate_interval]) > 0)",
                "{{policy}}",
            ),
        ),
    ),
    Panel(
        "New text",
        "Characters no page of its site had shown, a second: what a crawl brings if nobody says what it wants.",
        "short",
        ((rate("linkscore_novel_text_chars_total", "instance"), "{{instance}}"),),
    ),
    Panel(
        "Quality of each policy",
        "How often the better of two links had the higher score before it was fetched; 0.5 is chance.",
        "percentunit",
        ((gauge("linkscore_policy_quality", "policy, role", "avg"), "{{policy}}, {{role}}"),),
    ),
    Panel(
        "Links each policy was judged on",
        "Below some hundred, quality says little.",
        "short",
        ((gauge("linkscore_policy_judged_links", "policy, role"), "{{policy}}, {{role}}"),),
    ),
    Panel("Feedback", "By outcome.", "ops", ((rate("linkscore_feedback_total", "outcome"), "{{outcome}}"),)),
    Panel(
        "Crawls",
        "Known, in memory, and damaged.",
        "short",
        (
            (gauge("linkscore_crawls", "job"), "known"),
            (gauge("linkscore_crawls_open", "job"), "in memory"),
            (gauge("linkscore_crawls_damaged", "job"), "damaged"),
        ),
    ),
    Panel(
        "Sites by stage",
        "Sampling, learning, learned; or evicted, of any stage.",
        "short",
        ((gauge("linkscore_sites", "stage"), "{{stage}}"),),
    ),
    Panel(
        "Time to learn a site",
        "Beside the request path; scores go on with what there is.",
        "s",
        ((quantile(0.95, "linkscore_learning_duration_seconds"), "95th percentile"),),
    ),
    Panel(
        "Learnings that failed",
        "The log says why.",
        "short",
        ((f"sum(increase(linkscore_learning_failures_total{{{_BY}}}[1h]))", "in an hour"),),
    ),
    Panel(
        "Use of each bound",
        "Largest of any site, as a share of the setting: at 100 % what goes beyond is forgotten.",
        "percentunit",
        ((f"max by (bound) (linkscore_bound_used{{{_BY}}} / linkscore_bound{{{_BY}}})", "{{bound}}"),),
        "bargauge",
    ),
    Panel(
        "Links forgotten",
        "Because of the bound site_links.",
        "short",
        ((gauge("linkscore_links_evicted", "instance"), "{{instance}}"),),
    ),
)

DASHBOARDS = {"service": SERVICE, "crawls": CRAWLS}


def dashboard(name: str, panels: tuple[Panel, ...]) -> dict[str, Any]:
    """Return a dashboard as Grafana reads it."""
    return {
        "uid": f"linkscore-{name}",
        "title": f"linkscore: {name}",
        "tags": ["linkscore"],
        "schemaVersion": 39,
        "editable": False,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "browser",
        "links": [
            {
                "type": "dashboards",
                "tags": ["linkscore"],
                "title": "linkscore",
                "asDropdown": True,
                "includeVars": True,
                "keepTime": True,
            }
        ],
        "templating": {"list": _VARIABLES},
        "annotations": {"list": []},
        "panels": [_panel(at, panel) for at, panel in enumerate(panels)],
    }


_VARIABLES = [
    {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
    {
        "name": "job",
        "label": "Job",
        "type": "query",
        "datasource": _SOURCE,
        "query": "label_values(linkscore_build_info, job)",
        "includeAll": True,
        "multi": True,
        "allValue": ".+",
        "refresh": 2,
        "current": {"text": "All", "value": "$__all"},
    },
    {
        "name": "instance",
        "label": "Instance",
        "type": "query",
        "datasource": _SOURCE,
        "query": 'label_values(linkscore_build_info{job=~"$job"}, instance)',
        "includeAll": True,
        "multi": True,
        "allValue": ".+",
        "refresh": 2,
        "current": {"text": "All", "value": "$__all"},
    },
]


def _panel(at: int, panel: Panel) -> dict[str, Any]:
    made: dict[str, Any] = {
        "id": at + 1,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.tells,
        "datasource": _SOURCE,
        "gridPos": {"x": at % _COLUMNS * _WIDTH, "y": at // _COLUMNS * _HEIGHT, "w": _WIDTH, "h": _HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [
            {
                "refId": chr(ord("A") + row),
                "expr": expr.replace(_BY, f'job=~"$job", {_BY}'),
                "legendFormat": legend,
                "datasource": _SOURCE,
            }
            for row, (expr, legend) in enumerate(panel.queries)
        ],
    }
    if panel.names_calls:
        for target in made["targets"]:
            target["exemplar"] = True
    if panel.kind == "timeseries":
        made["options"] = {
            "legend": {"displayMode": "list", "placement": "bottom"},
            "tooltip": {"mode": "multi", "sort": "desc"},
        }
    else:
        made["options"] = {
            "orientation": "horizontal",
            "displayMode": "basic",
            "reduceOptions": {"calcs": ["lastNotNull"]},
        }
        made["fieldConfig"]["defaults"]["max"] = 1
    return made


def main() -> int:
    """Write, or compare; return the exit code."""
    FOLDER.mkdir(exist_ok=True)
    stale = []
    for name, panels in DASHBOARDS.items():
        file, text = FOLDER / f"{name}.json", json.dumps(dashboard(name, panels), indent=2) + "\n"
        if "--check" in sys.argv[1:]:
            if not file.exists() or file.read_text(encoding="utf-8") != text:
                stale.append(str(file))
        else:
            file.write_text(text, encoding="utf-8")
    if stale:
        print(f"not up to date, run `make gen`: {', '.join(stale)}", file=sys.stderr)
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main())
