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
        r = self.registry = CollectorRegistry()
        self.rpc_seconds = Histogram(
            "linkscore_rpc_duration_seconds",
            "Time to answer a call",
            ["method", "code"],
            buckets=LATENCY_S,
            registry=r,
        )
        self.reload_failures = Counter(
            "linkscore_reload_failures",
            "Changed files that cannot be used, by file: config, tokens, tls; what was known before goes on",
            ["file"],
            registry=r,
        )
        self._add_load_metrics(r)
        self._add_page_metrics(r)
        self._add_reward_metrics(r)
        self._add_question_metrics(r)
        self._add_revisit_metrics(r)
        self._add_log_metrics(r)
        self._add_state_metrics(r)
        self._add_learning_metrics(r)
        self._calls: dict[tuple[str, str], Histogram] = {}
        self._pages: dict[tuple[str, str], tuple[Counter, Counter]] = {}
        build = Gauge("linkscore_build_info", "Always 1", ["version", "python", "reader"], registry=r)
        build.labels(version("linkscore"), platform.python_version(), KERNELS.name).set(1)

    def count_call(self, method: str, code: str, seconds: float, *, request_id: str, trace_id: str) -> None:
        """Count a call that ended. Its names are exemplars: OpenMetrics has the latest of each bucket."""
        exemplar = {"request_id": request_id} | ({"trace_id": trace_id} if trace_id else {})
        series = self._calls.get((method, code))
        if series is None:
            series = self._calls[method, code] = self.rpc_seconds.labels(method, code)
        series.observe(seconds, exemplar)

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

    def _add_load_metrics(self, r: CollectorRegistry) -> None:
        self.inflight_bytes = Gauge(
            "linkscore_inflight_bytes", "Bytes of requests and answers in work, of all calls", registry=r
        )
        self.inflight_bytes_limit = Gauge(
            "linkscore_inflight_bytes_limit", "The setting max_inflight_bytes", registry=r
        )
        self.queue_delay = Gauge(
            "linkscore_queue_delay_seconds",
            "Time that the call has waited which waits for its turn for longest; compare target_delay_s",
            registry=r,
        )
        self.calls_shed = Counter(
            "linkscore_calls_shed",
            "Calls rejected or dropped for want of time or memory; their callers try again",
            ["method"],
            registry=r,
        )

    def _add_page_metrics(self, r: CollectorRegistry) -> None:
        self.pages = Counter(
            "linkscore_pages",
            "Pages ingested, by outcome: ok, failed, duplicate, invalid, fault",
            ["outcome"],
            registry=r,
        )
        self.links_scored = Counter("linkscore_links_scored", "Links scored", ["policy"], registry=r)
        self.links_skipped = Counter(
            "linkscore_links_skipped",
            "Links of ingested pages that are to skip by a setting of the crawl, by reason: crawl_budget, "
            "site_stopped, trap, respect, copy",
            ["reason"],
            registry=r,
        )
        self.novel_chars = Counter(
            "linkscore_novel_text_chars",
            "Characters of new long text; divided by linkscore_pages_total, new text per page",
            registry=r,
        )
        self.pages_left = Counter(
            "linkscore_pages_left_to_python",
            "Pages that the compiled reader left to pure Python, by reason: depth, attributes, rel",
            ["reason"],
            registry=r,
        )

    def _add_question_metrics(self, r: CollectorRegistry) -> None:
        self.buckets_ranked = Counter("linkscore_buckets_ranked", "Buckets ranked", ["policy"], registry=r)

    def _add_revisit_metrics(self, r: CollectorRegistry) -> None:
        self.refetches = Counter(
            "linkscore_refetches",
            "Fetches of known pages, by outcome: changed, unchanged, not_modified, gone, failed",
            ["outcome"],
            registry=r,
        )

    def _add_reward_metrics(self, r: CollectorRegistry) -> None:
        self.feedback = Counter(
            "linkscore_feedback",
            "Feedback events, by outcome: ok, duplicate, invalid",
            ["outcome"],
            registry=r,
        )
        self.rewarded = Counter(
            "linkscore_feedback_applied",
            "Feedback events applied, by the policy of their crawl",
            ["policy"],
            registry=r,
        )
        self.reward = Counter(
            "linkscore_feedback_reward", "Sum of rewards reported, by policy", ["policy"], registry=r
        )

    def _add_log_metrics(self, r: CollectorRegistry) -> None:
        self.commit_seconds = Histogram(
            "linkscore_log_commit_duration_seconds",
            "Time to make a group of events durable",
            buckets=_COMMIT_S,
            registry=r,
        )
        self.commit_events = Counter("linkscore_log_events", "Events made durable", registry=r)
        self.commit_failures = Counter(
            "linkscore_log_commit_failures", "Groups that could not be made durable", registry=r
        )
        self.apply_failures = Counter(
            "linkscore_apply_failures", "Durable events that could not be applied", registry=r
        )

    def _add_state_metrics(self, r: CollectorRegistry) -> None:
        self.state_seconds = Histogram(
            "linkscore_state_duration_seconds",
            "Time to write the state of a site, or of all where policies know something across them",
            buckets=LATENCY_S,
            registry=r,
        )
        self.sites_evicted = Counter(
            "linkscore_sites_put_away",
            "Sites evicted to keep within site_memory_mb; as many as pages: raise the setting",
            registry=r,
        )
        self.state_failures = Counter(
            "linkscore_state_failures",
            "States that could not be written; their sites are read from more events",
            registry=r,
        )

    def _add_learning_metrics(self, r: CollectorRegistry) -> None:
        self.learning_seconds = Histogram(
            "linkscore_learning_duration_seconds", "Time to learn a site", buckets=LEARNING_S, registry=r
        )
        self.learning_failures = Counter("linkscore_learning_failures", "Learnings that failed", registry=r)
        self.site_notices = Counter(
            "linkscore_site_notices",
            "Notices about sites, once each: trap_copies, trap_endless, trap_fading, needs_examples, "
            "examples_not_met, menus, behind_labels",
            ["kind"],
            registry=r,
        )
