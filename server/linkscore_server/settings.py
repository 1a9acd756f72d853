"""All settings of the server, built once: flag > environment `LINKSCORE_*` > file > default."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from linkscore_scoring.errors import FieldProblem, InvalidInput
from linkscore_server import kafka_properties
from linkscore_server.text_files import text_of
from linkscore_server.tls_files import tls_problems
from linkscore_server.tokens import parse_tokens

ENVIRONMENT_PREFIX = "LINKSCORE_"
_KAFKA = "kafka://"
_NO_SETTINGS = {"LINKSCORE_NATIVE"}  # read by linkscore_native, in every process that reads pages
# Set by Kubernetes for services named linkscore, linkscore-metrics, ...
_KUBERNETES = re.compile(r"(.*_)?(SERVICE_(HOST|PORT)|PORT)(_.*)?")


def _setting(default: Any, doc: str, *, may_be_zero: bool = False) -> Any:
    return field(default=default, metadata={"doc": doc, "may_be_zero": may_be_zero})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of a server; every field is a flag, an environment variable and a key of the file."""

    listen: str = _setting(
        "127.0.0.1:7411", "gRPC address, `host:port` or `unix:PATH`; port 0 takes a free one"
    )
    metrics_listen: str = _setting(
        "127.0.0.1:9411", "Prometheus HTTP address `host:port`; empty: no metrics port"
    )
    workers: int = _setting(
        1, "processes that share crawls, their groups and the port; memory bounds are of all together"
    )
    data_dir: str = _setting("./linkscore-data", "folder of the event logs; `memory`: keep nothing")
    log: str = _setting(
        "file",
        "where events go: `file`: into data_dir; `kafka://HOST:PORT,HOST:PORT`: to brokers, see scale.md",
    )
    kafka_properties: str = _setting(
        "",
        "file of `name = value` lines passed on to the Kafka client (librdkafka) as they are: TLS, SASL",
    )
    kafka_prefix: str = _setting("linkscore", "what the names of the topics of this server begin with")
    kafka_replicas: int = _setting(
        3, "brokers that have a copy of each topic; all but one must confirm a page"
    )
    peers_listen: str = _setting(
        "",
        "address `host:port` where other processes over the same brokers ask this one: they share crawls; "
        "empty: this process has all",
    )
    advertise: str = _setting("", "address `host:port` at which they reach it; empty: that of peers_listen")
    role: str = _setting(
        "all",
        "of a process in a cluster. `all`: answers calls, and has a share of the crawls; `front`: answers "
        "calls by asking the others; `owner`: answers only the others, at peers_listen",
    )
    session_s: float = _setting(
        15.0,
        "seconds without a sign of life after which other processes take over what this one has; "
        "longer than brokers take to replace one of theirs",
    )
    max_message_bytes: int = _setting(64 << 20, "largest gRPC message, bytes, both ways")
    max_body_bytes: int = _setting(10_000_000, "largest page body after decompression, bytes")
    max_links: int = _setting(10_000, "links of a page that are read")
    max_depth: int = _setting(250, "element depth that is read")
    max_elements: int = _setting(50_000, "elements of a page that are read")
    max_pages_per_call: int = _setting(500, "pages in one IngestPages or ClassifyPages call")
    max_links_per_call: int = _setting(20_000, "links in one ScoreLinks call")
    max_buckets_per_call: int = _setting(100_000, "buckets in one RankBuckets call")
    max_sites_per_call: int = _setting(100_000, "sites in one RankSites call")
    max_feedback_per_call: int = _setting(5_000, "events in one ReportFeedback call")
    max_records_per_batch: int = _setting(100_000, "records in one batch of ImportBrowseRecords")
    max_crawls: int = _setting(100, "crawls of one server")
    max_items_in_work: int = _setting(
        20_000,
        "pages and feedback events waiting for an answer; a crawl that has its share may come back",
    )
    max_inflight_bytes: int = _setting(
        256 << 20,
        "bytes of requests in work at a time, of all calls; more are told to come back; for 2 GB of memory",
    )
    site_memory_mb: int = _setting(
        900,
        "memory that the sites of all crawls may take, MiB, by an estimate; those longest without an event "
        "are put away and come back when asked for; for 2 GB of memory",
    )
    memory_mb: int = _setting(
        1_800,
        "memory that the server may take, MiB; above it pages and feedback are told to come back; "
        "for 2 GB of memory",
    )
    target_delay_s: float = _setting(
        5.0, "seconds of work that may stand in front of a call; four times as much in a burst"
    )
    site_links: int = _setting(200_000, "links remembered per site")
    site_blocks: int = _setting(500_000, "text block hashes remembered per site")
    site_apaths: int = _setting(20_000, "distinct tag paths remembered per site")
    site_arms: int = _setting(20_000, "bandit arms per site")
    browse_retention_days: int = _setting(90, "days that a day of a browse log is kept after it came")
    browse_window_days: int = _setting(60, "days of a browse log that are mined, the last ones")
    browse_mine_every_days: int = _setting(1, "new days of a site's browse log after which it is mined again")
    browse_mine_min_visits: int = _setting(1_000, "visits of a site below which it is mined on request only")
    browse_max_pages_a_day: int = _setting(
        500, "pages of a site that a client visits on one day before it is taken for a program"
    )
    browse_memory_mb: int = _setting(512, "memory of one import or mining of browse logs, MiB")
    stream_window: int = _setting(32, "pages of one stream in work at a time")
    snapshot_events: int = _setting(
        5_000, "events between snapshots of a crawl; as many are replayed after a crash, 3 ms each"
    )
    keep_log: str = _setting(
        "all",
        "`all`, or `snapshots`: delete log segments whose events two snapshots hold (Data folder, Cutting)",
    )
    learning_processes: int = _setting(
        1,
        "processes that learn sites beside this one, started when needed, of each worker; "
        "0: sites are learned by the process that answers calls",
        may_be_zero=True,
    )
    min_free_mb: int = _setting(
        256,
        "space that stays free on the disk of data_dir, MiB, at most a twentieth of the disk; below it pages "
        "and feedback are refused as DISK_FULL; 0: until a write fails",
        may_be_zero=True,
    )
    idle_crawl_s: float = _setting(
        1_800.0, "seconds without a call after which a crawl is put away; the next call opens it again"
    )
    drain_s: float = _setting(15.0, "seconds for calls in flight after SIGTERM")
    min_ping_interval_ms: int = _setting(
        5_000, "client keepalive pings closer together than this are refused"
    )
    tls_cert: str = _setting("", "PEM certificate chain; with `tls_key` switches TLS on")
    tls_key: str = _setting("", "PEM private key")
    tls_client_ca: str = _setting("", "PEM certificates of client authorities; switches mutual TLS on")
    token_file: str = _setting(
        "",
        "tokens that calls must carry, one a line as `linkscore token new` prints it, or a plain one alone",
    )
    log_level: str = _setting("info", "debug, info, warning or error")
    otlp_endpoint: str = _setting(
        "", "OpenTelemetry collector that traces go to, `http://host:port` of its gRPC port; empty: no traces"
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
        if self.workers > 1 and self.data_dir == "memory":
            found.append(FieldProblem("workers", "must be 1 with data_dir = memory: nothing is shared there"))
        if self.workers > 1 and self.listen.startswith("unix:"):
            found.append(FieldProblem("workers", "must be 1 at a unix socket: one process listens there"))
        found += tls_problems(self.tls_cert, self.tls_key, self.tls_client_ca)
        found += self._token_problems() + self._tracing_problems() + self._kafka_problems()
        found += self._role_problems()
        found += _address_problems("listen", self.listen, unix=True)
        found += _address_problems("metrics_listen", self.metrics_listen or "127.0.0.1:0", unix=False)
        return found

    @property
    def is_clustered(self) -> bool:
        """Whether other processes over the same brokers are part of the same server."""
        return bool(self.peers_listen) or self.role == "front"

    @property
    def kafka_hosts(self) -> str:
        """Brokers that the log is kept by, ``host:port,host:port``; empty: it is kept in files."""
        return self.log.removeprefix(_KAFKA) if self.log.startswith(_KAFKA) else ""

    def client_properties(self) -> dict[str, str]:
        """Return what the file of properties says, nothing if there is none."""
        if not self.kafka_properties:
            return {}
        return kafka_properties.parse(text_of(Path(self.kafka_properties)))

    def _kafka_problems(self) -> list[FieldProblem]:
        if self.log == "file":
            return [FieldProblem("peers_listen", "needs log = kafka://")] if self.peers_listen else []
        hosts = self.kafka_hosts.split(",")
        if not all(host and not _address_problems("log", host, unix=False) for host in hosts):
            return [FieldProblem("log", f"must be file or kafka://HOST:PORT,HOST:PORT, got {self.log!r}")]
        if not kafka_properties.is_installed():
            return [FieldProblem("log", "needs the kafka extra: pip install 'linkscore[kafka]'")]
        found = [
            FieldProblem(name, f"must be {must} with log = kafka://")
            for name, must, is_so in (
                ("workers", "1", self.workers == 1),
                ("keep_log", "all", self.keep_log == "all"),
                ("data_dir", "a folder", self.data_dir != "memory"),
            )
            if not is_so
        ]
        if self.peers_listen:
            found += _address_problems("peers_listen", self.peers_listen, unix=False)
            found += _address_problems("advertise", self.advertise or self.peers_listen, unix=False)
        if not re.fullmatch(r"[A-Za-z0-9._-]{1,100}", self.kafka_prefix):
            found.append(
                FieldProblem("kafka_prefix", f"must be letters, digits, . _ -, got {self.kafka_prefix!r}")
            )
        try:
            refused = kafka_properties.refusal(self.client_properties())
        except (OSError, ValueError) as exc:
            refused = str(exc)
        if refused:
            found.append(FieldProblem("kafka_properties", f"{self.kafka_properties}: {refused}"))
        return found

    def _role_problems(self) -> list[FieldProblem]:
        if self.role not in ("all", "front", "owner"):
            return [FieldProblem("role", f"must be all, front or owner, got {self.role!r}")]
        if self.role != "all" and not self.kafka_hosts:
            return [FieldProblem("role", f"{self.role} needs log = kafka://")]
        if self.role == "owner" and not self.peers_listen:
            return [FieldProblem("peers_listen", "must be set with role = owner: it is asked by the others")]
        if self.role == "front" and self.peers_listen:
            return [FieldProblem("peers_listen", "must be empty with role = front: nobody asks it")]
        return []

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
            return [
                FieldProblem("otlp_endpoint", "needs the tracing extra: pip install 'linkscore[tracing]'")
            ]
        return []


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
    settings = Settings(**values)
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
        f.name: {"int": int, "float": float}.get(str(f.type), str) for f in fields(Settings)
    }
    values = {}
    for name, value in raw.items():
        if name not in kinds:
            problems.append(FieldProblem(name, "unknown setting"))
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


def _address_problems(name: str, address: str, *, unix: bool) -> list[FieldProblem]:
    if unix and address.startswith("unix:") and address != "unix:":
        return []
    host, _, port = address.rpartition(":")
    if host and port.isdecimal() and int(port) <= 65_535:
        return []
    forms = "host:port or unix:PATH" if unix else "host:port"
    return [FieldProblem(name, f"must be {forms}, got {address!r}")]
