"""What a server says of itself: Prometheus metrics, and log lines, JSON or text at a terminal.

Labels are few and bounded: never a host, a URL, a crawl or a token. Gauges that are counted when Prometheus
asks are with what they count, in `crawls.registry`.
"""

from __future__ import annotations

import json
import logging
import os
import platform
import re
import sys
import time
from collections.abc import Callable
from contextvars import ContextVar
from functools import cache
from importlib.metadata import version
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server

from linkscore_scoring.errors import LinkscoreError
from linkscore_scoring.kernels import KERNELS

REQUEST_ID = "x-request-id"
"""Metadata by which a client may name its call, and trailing metadata that names every call."""
_NAME_BYTES = 8
"""Of a made name: two of a billion calls are named alike with a chance of 3 %, and a log holds fewer."""
_GIVEN = re.compile(r"[A-Za-z0-9._-]{1,64}")
"""Of a client. With its key it fits into the 128 characters of an exemplar (OpenMetrics)."""
_TEXT = "%(asctime)s %(levelname)s %(message)s"

request_id: ContextVar[str] = ContextVar("request_id", default="")
"""The name of the call that the current task answers."""


def begin_request(given: str) -> str:
    """Name the call that the current task answers: as its client says, if that is usable, else anew."""
    name = given if _GIVEN.fullmatch(given) else os.urandom(_NAME_BYTES).hex()
    request_id.set(name)
    return name


class JsonFormatter(logging.Formatter):
    """One JSON object per record: time (UTC), level, logger, message, a traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line."""
        made = time.gmtime(record.created)
        entry: dict[str, object] = {
            "time": f"{time.strftime('%Y-%m-%dT%H:%M:%S', made)}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False)


def set_up(level: str) -> None:
    """Send all records of `level` and above to standard error: as JSON lines, on a terminal as text."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter(_TEXT) if sys.stderr.isatty() else JsonFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


def log_failed_start(error: Exception) -> None:
    """Say why the server does not start or went down; a traceback is for what nobody expects."""
    is_expected = isinstance(error, (LinkscoreError, OSError))
    logging.getLogger(__name__).critical(
        "the server stops: %s", error, exc_info=None if is_expected else error
    )


# Upper bounds of the histograms' buckets, seconds. Chosen, not measured; `LinkscoreSlow` reads 2.5.
LATENCY_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
LEARNING_S = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)
_COMMIT_S = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0)

_log = logging.getLogger(__name__)


def serve_metrics(listen: str, registry: CollectorRegistry) -> Callable[[], None]:
    """Answer Prometheus at ``host:port``, in threads, if there is an address; returns what ends that."""
    if not listen:
        return lambda: None
    host, _, port = listen.rpartition(":")
    server, _ = start_http_server(int(port), host.strip("[]"), registry)
    _log.info("metrics on %s:%d", host, server.server_port)

    def end() -> None:
        server.shutdown()
        server.server_close()

    return end


COUNTERS = {
    "reload_failures": (
        "Changed files that cannot be used, by file: config, tokens, tls; what was known before goes on",
        "file",
    ),
    "calls_shed": (
        "Calls rejected or dropped for want of time or memory; their callers try again",
        "method",
    ),
    "pages": ("Pages ingested, by outcome: ok, failed, duplicate, invalid, fault", "outcome"),
    "links_scored": ("Links scored", "policy"),
    "links_skipped": (
        "Links of ingested pages that are to skip by a setting of the crawl, by reason: crawl_budget, "
        "site_stopped, trap, respect, copy",
        "reason",
    ),
    "novel_text_chars": (
        "Characters of new long text; divided by linkscore_pages_total, new text per page",
        "",
    ),
    "pages_left_to_python": (
        "Pages that the compiled reader left to pure Python, by reason: depth, attributes, rel",
        "reason",
    ),
    "feedback": ("Feedback events, by outcome: ok, duplicate, invalid", "outcome"),
    "feedback_applied": ("Feedback events applied, by the policy of their crawl", "policy"),
    "feedback_reward": ("Sum of rewards reported, by policy", "policy"),
    "log_commit_failures": ("Groups that could not be made durable", ""),
    "apply_failures": ("Durable events that could not be applied", ""),
    "sites_put_away": (
        "Sites evicted to keep within site_memory_mb; as many as pages: raise the setting",
        "",
    ),
    "state_failures": (
        "States that could not be written; their sites are read from more events",
        "",
    ),
    "learning_failures": ("Learnings that failed", ""),
    "browse_records": (
        "Records of browse logs, by outcome: visit, or the rule that left them out",
        "outcome",
    ),
    "mining_failures": ("Minings that failed", ""),
    "site_notices": (
        "Notices about sites, once each: trap_copies, trap_endless, trap_fading, needs_examples, "
        "examples_not_met, feedback_not_met, menus, behind_labels",
        "kind",
    ),
}
GAUGES = {
    "inflight_bytes": ("Bytes of requests and answers in work, of all calls", ""),
    "inflight_bytes_limit": ("The setting max_inflight_bytes", ""),
    "queue_delay_seconds": (
        "Time that the call has waited which waits for its turn for longest; compare target_delay_s",
        "",
    ),
    "build_info": ("Always 1", "version python reader"),
}
SECONDS = {
    "rpc": ("Time to answer a call", "method code", LATENCY_S),
    "log_commit": ("Time to make a group of events durable", "", _COMMIT_S),
    "learning": ("Time to learn a site", "", LEARNING_S),
}
"""What each metric says, and its labels; of histograms also the bounds of their buckets."""


class Metrics:
    """Every metric of a server, in a registry of its own; `of` gives one, as its labels have it."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        made: dict[str, Any] = {}
        for kind, table in ((Counter, COUNTERS), (Gauge, GAUGES)):
            for name, (doc, labels) in table.items():
                made[name] = kind(f"linkscore_{name}", doc, labels.split(), registry=registry)
        for name, (doc, labels, buckets) in SECONDS.items():
            named = f"linkscore_{name}_duration_seconds"
            made[name] = Histogram(named, doc, labels.split(), buckets=buckets, registry=registry)
        self.of = cache(lambda name, *labels: made[name].labels(*labels) if labels else made[name])
        self.of("build_info", version("linkscore"), platform.python_version(), KERNELS.name).set(1)
