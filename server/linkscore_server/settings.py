"""All settings of the server, built once: flag > environment `LINKSCORE_*` > file > default."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, make_dataclass
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self, cast

from linkscore_cli.extras import install_command
from linkscore_scoring.errors import FieldProblem, InvalidInput
from linkscore_server.text_files import text_of
from linkscore_server.tls_files import tls_problems
from linkscore_server.tokens import parse_tokens

ENVIRONMENT_PREFIX = "LINKSCORE_"
SETTINGS = "linkscore.settings"
"""Group of entry points: settings of annexes."""
_NO_SETTINGS = {"LINKSCORE_NATIVE"}  # read by linkscore_native, in every process that reads pages
# Set by Kubernetes for services named linkscore, linkscore-metrics, ...
_KUBERNETES = re.compile(r"(.*_)?(SERVICE_(HOST|PORT)|PORT)(_.*)?")


def setting(default: Any, doc: str, *, may_be_zero: bool = False) -> Any:
    """Return the field of a setting, with what it says in words."""
    return field(default=default, metadata={"doc": doc, "may_be_zero": may_be_zero})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of a server; every field is a flag, an environment variable and a key of the file.

    Those of an annex are a subclass, which an entry point of the group ``linkscore.settings`` names: loaded
    whether or not the annex can be used, and imports nothing that comes with an extra.
    """

    listen: str = setting(
        "127.0.0.1:7411", "gRPC address, `host:port` or `unix:PATH`; port 0 takes a free one"
    )
    metrics_listen: str = setting(
        "127.0.0.1:9411", "HTTP address of the metrics, `host:port`; empty: no metrics port"
    )
    json_listen: str = setting(
        "", "HTTP address of calls in JSON, `host:port`; port 0 takes a free one; empty: no such port"
    )
    data_dir: str = setting(
        "./linkscore-data", "folder of logs and snapshots, on a local disk; `memory`: keep nothing"
    )
    max_message_bytes: int = setting(64 << 20, "largest gRPC message, bytes, both ways")
    max_body_bytes: int = setting(10_000_000, "largest page body after decompression, bytes")
    max_links: int = setting(10_000, "links read from a page, not of a sitemap; later ones are left out")
    max_depth: int = setting(250, "element depth read from a page")
    max_elements: int = setting(50_000, "elements read from a page; later ones are left out")
    max_pages_per_call: int = setting(500, "pages in one IngestPages or ClassifyPages call")
    max_links_per_call: int = setting(20_000, "links in one ScoreLinks call")
    max_buckets_per_call: int = setting(100_000, "buckets in one RankBuckets call")
    max_sites_per_call: int = setting(100_000, "sites in one RankSites call")
    max_feedback_per_call: int = setting(5_000, "events in one ReportFeedback call")
    max_crawls: int = setting(100, "crawls a server may have; another one is refused with LIMIT_EXCEEDED")
    max_inflight_bytes: int = setting(
        256 << 20,
        "size of all requests and answers in work, bytes; a crawl that has more of it than it leaves free "
        "gets RESOURCE_EXHAUSTED with a retry delay; the default suits 2 GB of memory",
    )
    site_memory_mb: int = setting(
        1_350,
        "memory for the sites of all crawls, MiB, estimated; above it the sites longest without an event are "
        "evicted to the disk, and read back when needed; three quarters of memory_mb are a good start",
    )
    memory_mb: int = setting(
        1_800,
        "memory of the whole server, MiB; above it pages and feedback get RESOURCE_EXHAUSTED with a retry "
        "delay, queries are answered; 90 % of the container's memory is a good start",
    )
    target_delay_s: float = setting(
        5.0,
        "seconds a call may wait for others of its crawl; then it gets RESOURCE_EXHAUSTED with a retry delay",
    )
    site_links: int = setting(
        200_000, "links remembered per site, the bound on memory that matters most: some 0.7 KB each"
    )
    site_blocks: int = setting(500_000, "hashes of text blocks remembered per site")
    site_apaths: int = setting(20_000, "distinct link paths remembered per site")
    site_arms: int = setting(20_000, "arms per site: groups of links that a policy learns values of")
    stream_window: int = setting(32, "pages of one stream that are processed at a time")
    snapshot_events: int = setting(
        500,
        "events between snapshots of a crawl; a start after a crash replays as many, 3 ms each; "
        "ten times as many with policies that know something across sites (`topic`, `anthelion`)",
    )
    snapshot_s: float = setting(
        5.0,
        "seconds after which a snapshot is written with the next event though there were fewer; 0: never",
        may_be_zero=True,
    )
    keep_log: str = setting(
        "all",
        "`all`: keep the whole log; `snapshots`: delete log segments whose events two snapshots hold",
    )
    learning_processes: int = setting(
        1,
        "processes per worker that learn the templates of sites, started when needed; "
        "0: the process that answers calls does it",
        may_be_zero=True,
    )
    min_free_mb: int = setting(
        256,
        "free space on the disk of data_dir, MiB, at most a twentieth of the disk; below it pages and "
        "feedback are refused as DISK_FULL; 0: until a write fails",
        may_be_zero=True,
    )
    idle_crawl_s: float = setting(
        1_800.0, "seconds without a call after which a crawl is closed; the next call opens it again"
    )
    drain_s: float = setting(15.0, "seconds that calls in progress get to finish after SIGTERM")
    min_ping_interval_ms: int = setting(5_000, "least time between keepalive pings of a client, milliseconds")
    tls_cert: str = setting("", "PEM file of the certificate chain; with `tls_key` it switches TLS on")
    tls_key: str = setting("", "PEM file of the private key")
    tls_client_ca: str = setting(
        "", "PEM file of the authority of clients; every client then needs a certificate"
    )
    token_file: str = setting(
        "",
        "file of the tokens that calls must carry, one line each as `linkscore token new` prints it; empty: "
        "every call is taken",
    )
    log_level: str = setting("info", "least level of log lines: debug, info, warning or error")
    otlp_endpoint: str = setting(
        "",
        "gRPC address of the OpenTelemetry collector that gets traces, `http://host:port`; empty: no traces",
    )

    def problems(self) -> list[FieldProblem]:
        """Return one problem for each field that cannot work."""
        found = [
            FieldProblem(f.name, f"must be {'>=' if may_be_zero else '>'} 0 and finite, got {value}")
            for f in fields(self)
            if f.type in ("int", "float")
            for value, may_be_zero in [(getattr(self, f.name), f.metadata["may_be_zero"])]
            if not (0 < value < math.inf or (may_be_zero and value == 0))
        ]
        if bool(self.tls_cert) != bool(self.tls_key):
            found.append(FieldProblem("tls_cert", "tls_cert and tls_key must be set together"))
        if self.tls_client_ca and not self.tls_cert:
            found.append(FieldProblem("tls_client_ca", "needs tls_cert and tls_key"))
        for name in ("tls_cert", "tls_key", "tls_client_ca", "token_file"):
            path = getattr(self, name)
            if path and not Path(path).is_file():
                found.append(FieldProblem(name, f"no such file: {path}"))
        if self.log_level not in ("debug", "info", "warning", "error"):
            found.append(
                FieldProblem("log_level", f"must be debug, info, warning or error, got {self.log_level!r}")
            )
        if self.keep_log not in ("all", "snapshots"):
            found.append(FieldProblem("keep_log", f"must be all or snapshots, got {self.keep_log!r}"))
        found += tls_problems(self.tls_cert, self.tls_key, self.tls_client_ca)
        found += self._token_problems() + self._tracing_problems()
        found += address_problems("listen", self.listen, unix=True)
        found += address_problems("metrics_listen", self.metrics_listen or "127.0.0.1:0", unix=False)
        found += address_problems("json_listen", self.json_listen or "127.0.0.1:0", unix=False)
        if self.json_listen and not _is_importable("uvicorn", "httptools", "starlette"):
            found.append(FieldProblem("json_listen", f"needs the http extra: {install_command('http')}"))
        return found

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return settings as those of this class: what they do not say is as by default."""
        if isinstance(settings, cls):
            return settings
        own = {one.name for one in fields(cls)}
        return cls(**{name: value for name, value in vars(settings).items() if name in own})

    def _token_problems(self) -> list[FieldProblem]:
        if not self.token_file or not Path(self.token_file).is_file():
            return []
        try:
            parse_tokens(text_of(Path(self.token_file)))
        except (OSError, ValueError) as exc:
            return [FieldProblem("token_file", f"{self.token_file}: {exc}")]
        return []

    def _tracing_problems(self) -> list[FieldProblem]:
        if not self.otlp_endpoint:
            return []
        if not self.otlp_endpoint.startswith(("http://", "https://")):
            return [FieldProblem("otlp_endpoint", f"must be http://host:port, got {self.otlp_endpoint!r}")]
        if not _is_importable(
            "opentelemetry.sdk", "opentelemetry.exporter", "opentelemetry.instrumentation.grpc"
        ):
            return [FieldProblem("otlp_endpoint", f"needs the tracing extra: {install_command('tracing')}")]
        return []


@cache
def all_settings() -> type[Settings]:
    """Return the settings of the core and of every annex that is installed, as one class."""
    found: list[type[Settings]] = [entry.load() for entry in sorted(entry_points(group=SETTINGS))]
    bases = [one for one in found if not any(one is not more and issubclass(more, one) for more in found)]
    made = make_dataclass("AllSettings", [], bases=(*bases, Settings), frozen=True, kw_only=True)
    return cast("type[Settings]", made)


def _is_importable(*modules: str) -> bool:
    try:
        return all(find_spec(module) for module in modules)
    except ImportError:
        return False


def load(flags: Mapping[str, Any], environment: Mapping[str, str], file: Path | None) -> Settings:
    """Return the settings from all their sources.

    Raises
    ------
    InvalidInput
        Naming every unknown key, every value that cannot be read and every rule broken, all at once.
    """
    problems: list[FieldProblem] = []
    raw: dict[str, Any] = {}
    raw.update(_from_file(file, problems))
    raw.update(_from_environment(environment))
    raw.update({name: value for name, value in flags.items() if value is not None})
    values = _typed(raw, problems)
    settings = all_settings()(**values)
    problems += settings.problems()
    if problems:
        raise InvalidInput(problems)
    return settings


def _from_file(file: Path | None, problems: list[FieldProblem]) -> dict[str, Any]:
    if file is None:
        return {}
    try:
        return tomllib.loads(text_of(file))
    except (OSError, ValueError, RecursionError) as exc:
        problems.append(FieldProblem("config", f"cannot read {file}: {exc}"))
        return {}


def _from_environment(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name.removeprefix(ENVIRONMENT_PREFIX).lower(): value
        for name, value in environment.items()
        if name.startswith(ENVIRONMENT_PREFIX)
        and name not in _NO_SETTINGS
        and not _KUBERNETES.fullmatch(name.removeprefix(ENVIRONMENT_PREFIX))
    }


def _typed(raw: Mapping[str, Any], problems: list[FieldProblem]) -> dict[str, Any]:
    kinds: dict[str, type] = {
        f.name: {"int": int, "float": float}.get(str(f.type), str) for f in fields(all_settings())
    }
    values = {}
    for name, value in raw.items():
        if name not in kinds:
            problems.append(FieldProblem(name, "unknown setting; it is of no annex that is installed either"))
            continue
        try:
            values[name] = _read(kinds[name], value)
        except (TypeError, ValueError, OverflowError):
            problems.append(FieldProblem(name, f"must be a {kinds[name].__name__}, got {value!r}"))
    return values


def _read(kind: type, value: Any) -> Any:
    """Return a value as its setting's kind: texts are parsed, nothing else is converted at a loss."""
    if isinstance(value, bool) or (kind is str and not isinstance(value, str)):
        raise TypeError
    read = kind(value)
    if not isinstance(value, str) and read != value and value == value:
        raise ValueError
    return read


def address_problems(name: str, address: str, *, unix: bool) -> list[FieldProblem]:
    """Return what is wrong with an address ``host:port``, or ``unix:PATH`` where a socket may be."""
    if unix and address.startswith("unix:") and address != "unix:":
        return []
    host, _, port = address.rpartition(":")
    if host and port.isdecimal() and int(port) <= 65_535:
        return []
    forms = "host:port or unix:PATH" if unix else "host:port"
    return [FieldProblem(name, f"must be {forms}, got {address!r}")]
