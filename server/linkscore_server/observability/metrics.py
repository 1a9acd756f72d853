"""Prometheus metrics. Labels are few and bounded: never a host, a URL, a crawl or a token."""

from __future__ import annotations

import logging
import platform
from collections.abc import Sequence
from importlib.metadata import version
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server

from linkscore_scoring.kernels import KERNELS

# Upper bounds of the histograms' buckets, seconds. Chosen, not measured; `LinkscoreSlow` reads 2.5.
LATENCY_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
LEARNING_S = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)
_COMMIT_S = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0)

_log = logging.getLogger(__name__)


def serve_metrics(listen: str, registry: CollectorRegistry) -> WSGIServer:
    """Answer Prometheus at ``host:port``, in threads; `shutdown` and `server_close` end it."""
    host, _, port = listen.rpartition(":")
    server, _ = start_http_server(int(port), host.strip("[]"), registry)
    _log.info("metrics on %s:%d", host, server.server_port)
    return server


class Metrics:
    """Every metric of a server, in a registry of its own."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()

        def counter(name: str, doc: str, *labels: str) -> Counter:
            return Counter(f"linkscore_{name}", doc, labels, registry=registry)

        def gauge(name: str, doc: str, *labels: str) -> Gauge:
            return Gauge(f"linkscore_{name}", doc, labels, registry=registry)

        def seconds(name: str, doc: str, buckets: Sequence[float], *labels: str) -> Histogram:
            return Histogram(
                f"linkscore_{name}_duration_seconds", doc, labels, buckets=buckets, registry=registry
            )

        self.rpc_seconds = seconds("rpc", "Time to answer a call", LATENCY_S, "method", "code")
        self.reload_failures = counter(
            "reload_failures",
            "Changed files that cannot be used, by file: config, tokens, tls; what was known before goes on",
            "file",
        )
        self.inflight_bytes = gauge("inflight_bytes", "Bytes of requests and answers in work, of all calls")
        self.inflight_bytes_limit = gauge("inflight_bytes_limit", "The setting max_inflight_bytes")
        self.queue_delay = gauge(
            "queue_delay_seconds",
            "Time that the call has waited which waits for its turn for longest; compare target_delay_s",
        )
        self.calls_shed = counter(
            "calls_shed",
            "Calls rejected or dropped for want of time or memory; their callers try again",
            "method",
        )
        self.pages = counter(
            "pages", "Pages ingested, by outcome: ok, failed, duplicate, invalid, fault", "outcome"
        )
        self.links_scored = counter("links_scored", "Links scored", "policy")
        self.links_skipped = counter(
            "links_skipped",
            "Links of ingested pages that are to skip by a setting of the crawl, by reason: crawl_budget, "
            "site_stopped, trap, respect, copy",
            "reason",
        )
        self.novel_chars = counter(
            "novel_text_chars",
            "Characters of new long text; divided by linkscore_pages_total, new text per page",
        )
        self.pages_left = counter(
            "pages_left_to_python",
            "Pages that the compiled reader left to pure Python, by reason: depth, attributes, rel",
            "reason",
        )
        self.feedback = counter("feedback", "Feedback events, by outcome: ok, duplicate, invalid", "outcome")
        self.rewarded = counter(
            "feedback_applied", "Feedback events applied, by the policy of their crawl", "policy"
        )
        self.reward = counter("feedback_reward", "Sum of rewards reported, by policy", "policy")
        self.buckets_ranked = counter("buckets_ranked", "Buckets ranked", "policy")
        self.refetches = counter(
            "refetches",
            "Fetches of known pages, by outcome: changed, unchanged, not_modified, gone, failed",
            "outcome",
        )
        self.commit_seconds = seconds("log_commit", "Time to make a group of events durable", _COMMIT_S)
        self.commit_events = counter("log_events", "Events made durable")
        self.commit_failures = counter("log_commit_failures", "Groups that could not be made durable")
        self.apply_failures = counter("apply_failures", "Durable events that could not be applied")
        self.state_seconds = seconds(
            "state",
            "Time to write the state of a site, or of all where policies know something across them",
            LATENCY_S,
        )
        self.sites_evicted = counter(
            "sites_put_away",
            "Sites evicted to keep within site_memory_mb; as many as pages: raise the setting",
        )
        self.state_failures = counter(
            "state_failures", "States that could not be written; their sites are read from more events"
        )
        self.learning_seconds = seconds("learning", "Time to learn a site", LEARNING_S)
        self.learning_failures = counter("learning_failures", "Learnings that failed")
        self.site_notices = counter(
            "site_notices",
            "Notices about sites, once each: trap_copies, trap_endless, trap_fading, needs_examples, "
            "examples_not_met, menus, behind_labels",
            "kind",
        )
        self._calls: dict[tuple[str, str], Histogram] = {}
        self._pages: dict[tuple[str, str], tuple[Counter, Counter]] = {}
        build = gauge("build_info", "Always 1", "version", "python", "reader")
        build.labels(version("linkscore"), platform.python_version(), KERNELS.name).set(1)

    def count_call(self, method: str, code: str, seconds: float, request_id: str) -> None:
        """Count a call that ended. Its name is an exemplar: OpenMetrics has the latest of each bucket."""
        series = self._calls.get((method, code))
        if series is None:
            series = self._calls[method, code] = self.rpc_seconds.labels(method, code)
        series.observe(seconds, {"request_id": request_id})

    def count_page(self, outcome: str, policy: str, *, links: int, novel_chars: int) -> None:
        """Count a page that was applied, and the links on it that `policy` scored."""
        series = self._pages.get((outcome, policy))
        if series is None:
            made = self.pages.labels(outcome), self.links_scored.labels(policy)
            series = self._pages[outcome, policy] = made
        pages, scored = series
        pages.inc()
        scored.inc(links)
        self.novel_chars.inc(novel_chars)

    def count_left_page(self, reason: str) -> None:
        """Count a page that the compiled reader left to the pure one."""
        self.pages_left.labels(reason).inc()

    def count_feedback(
        self, policy: str, rewards: Sequence[float], *, duplicates: int = 0, invalid: int = 0
    ) -> None:
        """Count feedback of a crawl that `policy` orders: rewards applied, and events that were not."""
        for outcome, count in (("ok", len(rewards)), ("duplicate", duplicates), ("invalid", invalid)):
            if count:
                self.feedback.labels(outcome).inc(count)
        if rewards:
            self.rewarded.labels(policy).inc(len(rewards))
            self.reward.labels(policy).inc(sum(rewards))
