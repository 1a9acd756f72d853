"""All settings of the server: flag > environment `LINKSCORE_*` > file > default."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from linkscore_cli.extras import install_command
from linkscore_cli.files import CannotListen, bound, is_address, text_of
from linkscore_scoring.errors import FieldProblem, InvalidInput
from linkscore_server.operator_files import parse_tokens, tls_problems

ENVIRONMENT_PREFIX = "LINKSCORE_"
_NO_SETTINGS = {"LINKSCORE_NATIVE"}  # read by linkscore_native, in every process that reads pages
# Set by Kubernetes for services named linkscore, linkscore-metrics, ...
_KUBERNETES = re.compile(r"(.*_)?(SERVICE_(HOST|PORT)|PORT)(_.*)?")
_SITE_SHARE = 0.75
"""Share of `memory_mb` that sites get if nothing is said. Chosen: the rest is the process and calls."""
_DATABASE = re.compile(r"postgres(ql)?://[^/]*/[^/?]+(\?.*)?")
_PASSWORD = re.compile(r"(://[^:/@]*):.*@")  # of USER:PASSWORD@HOST
_EXTRAS = {
    "http": ("uvicorn", "starlette"),
    "postgres": ("psycopg",),
}
"""Modules that come with an extra."""
_SOCKET_BYTES = 107  # of the path of a Unix socket on Linux, see unix(7)
_LEAST_MB, _MOST_MB = 128, 1 << 24
"""Of `memory_mb`: the process itself takes some 100; 16 TB. Bounds."""

_LEAST_BROWSE_MB = 64
"""Of `browse_memory_mb`: DuckDB imports and mines within it. A bound, chosen."""
_LEAST_KEPT = 100
"""Of what is read of a page or kept of a site: with less nothing is learned. A bound, chosen."""
_LEAST_MESSAGE = 16_384
"""Bytes of a page with its headers, or of an error that names all that is wrong. A bound, chosen."""

_DAYS = 3_650  # ten years, as a call of MineSite may ask for: a bound
_KINDS = {int: "a whole number", float: "a number", str: "a text"}

_FILES = "Addresses and files"
_TLS = "TLS and tokens"
_MEMORY = "Memory"
_LOAD = "Load"
_DISK = "Durability"
_PAGE = "Limits of a page"
_CALL = "Limits of a call"
_LOGS = "Logs"
_BROWSE = "Browse logs"
"""Headings that settings are listed under."""


def setting(
    group: str,
    default: Any,
    doc: str,
    *,
    least: float = 1,
    most: float = 2**31 - 1,
    among: tuple[str, ...] = (),
) -> Any:
    """Return the field of a setting: its heading, what it says in words, and what it may be."""
    return field(
        default=default,
        metadata={"group": group, "doc": doc, "least": least, "most": most, "among": among},
    )


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of a server; every field is a flag, an environment variable and a key of the file."""

    listen: str = setting(
        _FILES, "127.0.0.1:7411", "gRPC address, `host:port` or `unix:PATH`; port 0 takes a free one"
    )
    metrics_listen: str = setting(
        _FILES, "127.0.0.1:9411", "HTTP address of the metrics, `host:port`; empty: no metrics port"
    )
    json_listen: str = setting(
        _FILES, "", "HTTP address of calls in JSON, `host:port`; port 0 takes a free one; empty: no such port"
    )
    data_dir: str = setting(
        _FILES,
        "./linkscore-data",
        "folder of the crawls, on a local disk; `postgresql://USER@HOST/DATABASE`: share them with other "
        "servers; `memory`: keep nothing",
    )
    peers_listen: str = setting(
        _FILES,
        "127.0.0.1:0",
        "address `host:port` where other servers over the same database reach this one; takes no token",
    )
    advertise: str = setting(
        _FILES, "", "address `host:port` that the other servers use, where it differs from peers_listen"
    )
    tls_cert: str = setting(_TLS, "", "PEM file of the certificate chain; with `tls_key` it switches TLS on")
    tls_key: str = setting(_TLS, "", "PEM file of the private key")
    tls_client_ca: str = setting(
        _TLS, "", "PEM file of the authority of clients; every client then needs a certificate"
    )
    token_file: str = setting(
        _TLS,
        "",
        "file of the tokens that calls must carry, one line each as `linkscore token` prints it; empty: "
        "every call is taken",
    )
    memory_mb: int = setting(
        _MEMORY,
        1_800,
        "memory of the whole server, MiB; above it pages and feedback get RESOURCE_EXHAUSTED with a retry "
        "delay, queries are answered; 90 % of the container's memory is a good start",
        least=_LEAST_MB,
        most=_MOST_MB,
    )
    site_memory_mb: int = setting(
        _MEMORY,
        0,
        "memory for the sites of all crawls, MiB, estimated; above it the sites longest without an event are "
        "forgotten, and read from the disk when needed; 0: three quarters of memory_mb",
        least=0,
        most=_MOST_MB,
    )
    site_links: int = setting(
        _MEMORY,
        200_000,
        "links remembered per site, the bound on memory that matters most: some 0.7 KB each",
        least=_LEAST_KEPT,
    )
    target_delay_s: float = setting(
        _LOAD,
        5.0,
        "seconds a call may wait for others of its crawl; then it gets RESOURCE_EXHAUSTED with a retry delay",
        least=0.001,
        most=3_600,
    )
    max_inflight_bytes: int = setting(
        _LOAD,
        256 << 20,
        "size of all requests and answers in work, bytes; a crawl that has more of it than it leaves free "
        "gets RESOURCE_EXHAUSTED with a retry delay; the default suits 2 GB of memory",
        most=1 << 40,
    )
    learning_processes: int = setting(
        _LOAD,
        1,
        "processes per worker that learn the templates of sites, started when needed; "
        "0: the process that answers calls does it",
        least=0,
        most=64,
    )
    workers: int = setting(
        _LOAD, 1, "server processes on this machine; they share crawls, port and memory bounds", most=64
    )
    min_free_mb: int = setting(
        _DISK,
        256,
        "free space on the disk of data_dir, MiB, at most a twentieth of the disk; below it pages and "
        "feedback are refused as DISK_FULL; 0: until a write fails",
        least=0,
    )
    idle_crawl_s: float = setting(
        _DISK,
        1_800.0,
        "seconds without a call after which a crawl is closed; the next call opens it again",
        least=0.001,
        most=31_536_000,
    )
    drain_s: float = setting(
        _DISK, 15.0, "seconds that calls in progress get to finish after SIGTERM", least=0.001, most=3_600
    )
    max_body_bytes: int = setting(
        _PAGE, 10_000_000, "largest page body after decompression, bytes", least=1_000
    )
    max_links: int = setting(
        _PAGE, 10_000, "links read from a page, not of a sitemap; later ones are left out"
    )
    max_depth: int = setting(_PAGE, 250, "element depth read from a page", least=10)
    max_message_bytes: int = setting(
        _CALL, 64 << 20, "largest gRPC message, bytes, both ways", least=_LEAST_MESSAGE
    )
    max_crawls: int = setting(
        _CALL, 100, "crawls a server may have; another one is refused with LIMIT_EXCEEDED", most=1_000_000
    )
    log_level: str = setting(
        _LOGS,
        "info",
        "least level of log lines: debug, info, warning or error",
        among=("debug", "info", "warning", "error"),
    )
    browse_retention_days: int = setting(
        _BROWSE, 90, "days that an imported day of a browse log is kept", most=_DAYS
    )
    browse_window_days: int = setting(
        _BROWSE, 60, "latest days of a browse log that are mined", least=2, most=_DAYS
    )
    browse_mine_min_visits: int = setting(_BROWSE, 1_000, "visits a site needs to be mined without a request")
    browse_max_pages_a_day: int = setting(
        _BROWSE,
        500,
        "pages of a site that a client may visit on a day; a client with more counts as a program",
    )
    browse_memory_mb: int = setting(
        _BROWSE,
        512,
        "memory of one import or mining of browse logs, MiB, beside memory_mb",
        least=_LEAST_BROWSE_MB,
        most=_MOST_MB,
    )

    def __post_init__(self) -> None:
        if not self.site_memory_mb:
            share = min(_MOST_MB, int(_SITE_SHARE * self.memory_mb))
            object.__setattr__(self, "site_memory_mb", max(1, share))

    def problems(self) -> list[FieldProblem]:
        """Return what cannot work: name, rule, the value got, and what to write."""
        found = [
            FieldProblem(f.name, rule) for f in fields(self) if (rule := _broken(f, getattr(self, f.name)))
        ]
        if not found:  # the others compare numbers that are right by themselves
            found = [FieldProblem(name, rule) for name, is_broken, rule in self._rules() if is_broken]
        return [*found, *self._data_dir_problems(), *self._address_problems(), *self._file_problems()]

    @property
    def is_in_database(self) -> bool:
        """Whether crawls are in PostgreSQL, shared with other servers."""
        return is_database(self.data_dir)

    def shown(self) -> dict[str, str]:
        """Return the settings in force by name, as people read them: without the password of a database."""
        return {f.name: _PASSWORD.sub(r"\1:***@", str(getattr(self, f.name))) for f in fields(self)}

    def _rules(self) -> list[tuple[str, bool, str]]:
        """Return what settings must be beside each other and on this machine: name, whether broken, rule."""
        machine_mb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
        several = self.workers > 1
        needs = {extra: f"needs the {extra} extra: {install_command(extra)}" for extra in _EXTRAS}
        return [
            (
                "memory_mb",
                self.memory_mb > machine_mb,
                f"must be at most the {machine_mb} MiB of this machine, got {self.memory_mb}",
            ),
            (
                "site_memory_mb",
                self.site_memory_mb >= self.memory_mb,
                f"must be below memory_mb, which is {self.memory_mb}, got {self.site_memory_mb}; "
                "write 0 for three quarters of it",
            ),
            (
                "max_message_bytes",
                self.max_message_bytes > self.max_inflight_bytes,
                f"must be at most max_inflight_bytes, which is {self.max_inflight_bytes}, "
                f"got {self.max_message_bytes}",
            ),
            (
                "workers",
                several and self.data_dir == "memory",
                "must be 1 with data_dir = memory: nothing is shared there",
            ),
            (
                "workers",
                several and self.listen.startswith("unix:"),
                "must be 1 at a unix socket: one process listens there",
            ),
            (
                "workers",
                several and self.is_in_database,
                "must be 1 over a database: start as many servers, which share it by themselves",
            ),
            ("json_listen", bool(self.json_listen) and _is_missing("http"), needs["http"]),
            ("data_dir", self.is_in_database and _is_missing("postgres"), needs["postgres"]),
        ]

    def _file_problems(self) -> Iterator[FieldProblem]:
        for name in ("tls_cert", "tls_key", "tls_client_ca", "token_file"):
            path = getattr(self, name)
            if path and not Path(path).is_file():
                yield FieldProblem(name, f"no such file: {path}")
        yield from tls_problems(self.tls_cert, self.tls_key, self.tls_client_ca)
        if self.token_file and Path(self.token_file).is_file():
            try:
                parse_tokens(text_of(Path(self.token_file)))
            except (OSError, ValueError) as exc:
                yield FieldProblem("token_file", f"{self.token_file}: {exc}")

    def _data_dir_problems(self) -> Iterator[FieldProblem]:
        if self.data_dir == "memory":
            return
        if self.is_in_database or "://" in self.data_dir or self.data_dir[:1] in {"", "~"}:
            if not _DATABASE.fullmatch(self.data_dir):
                rule = "must be a folder (no ~), postgresql://USER@HOST/DATABASE, or memory"
                yield FieldProblem("data_dir", f"{rule}, got {self.shown()['data_dir']!r}")
            return
        there = Path(self.data_dir).absolute()
        while not there.exists():
            there = there.parent
        disk = os.statvfs(there)
        if not there.is_dir() or not disk.f_blocks or not os.access(there, os.W_OK):
            rule = f"must be a folder on a disk that this user may write, or memory, got {self.data_dir!r}"
            yield FieldProblem("data_dir", f"{rule}: {there} is none")
        elif Settings.min_free_mb != self.min_free_mb > (most := disk.f_blocks * disk.f_frsize >> 20):
            rule = f"must be below the {most} MiB of the disk of data_dir, got {self.min_free_mb}"
            yield FieldProblem("min_free_mb", rule)

    def _address_problems(self) -> Iterator[FieldProblem]:
        if self.advertise:  # a name of this server for others: it need not be one here
            yield from address_problems("advertise", self.advertise, unix=False, is_own=False)
        taken: dict[str, str] = {}
        for name in ("listen", "metrics_listen", "json_listen", "peers_listen"):
            address = getattr(self, name)
            if not address and name in ("metrics_listen", "json_listen"):
                continue
            yield from address_problems(name, address, unix=name == "listen")
            port = address.rpartition(":")[2]
            if port.isdecimal() and int(port) and taken.setdefault(port, name) != name:
                rule = f"must have a port of its own, {taken[port]} has {port} too"
                yield FieldProblem(name, f"{rule}; write 0 for a free one")


def is_database(data_dir: str) -> bool:
    """Say whether a place for crawls is a database of PostgreSQL."""
    return data_dir.startswith(("postgresql://", "postgres://"))


def _broken(one: Field[Any], value: Any) -> str:
    """Return the rule that a value breaks, empty if none."""
    may = one.metadata
    if may["among"]:
        return "" if value in may["among"] else f"must be {', '.join(may['among'])}, got {value!r}"
    if isinstance(value, str) or may["least"] <= value <= may["most"]:
        return ""
    return f"must be from {may['least']} to {may['most']}, got {value}; {one.default} is the default"


def _is_missing(extra: str) -> bool:
    return not all(map(find_spec, _EXTRAS[extra]))


def load(flags: Mapping[str, Any], environment: Mapping[str, str], file: Path | None) -> Settings:
    """Return the settings from all their sources."""
    problems: list[FieldProblem] = []
    raw: dict[str, Any] = {}
    try:
        raw |= tomllib.loads(text_of(file)) if file is not None else {}
    except (OSError, ValueError, RecursionError) as exc:
        problems.append(FieldProblem("config", f"cannot read {file}: {exc}"))
    for variable, value in environment.items():
        name = variable.removeprefix(ENVIRONMENT_PREFIX)
        if name != variable and variable not in _NO_SETTINGS and not _KUBERNETES.fullmatch(name):
            raw[name.lower()] = value
    raw |= {name: value for name, value in flags.items() if value is not None}
    settings = Settings(**_typed(raw, problems))
    problems += settings.problems()
    if problems:
        raise InvalidInput(problems)
    return settings


def _typed(raw: Mapping[str, Any], problems: list[FieldProblem]) -> dict[str, Any]:
    kinds: dict[str, type] = {
        f.name: {"int": int, "float": float}.get(str(f.type), str) for f in fields(Settings)
    }
    values = {}
    for name, value in raw.items():
        if name not in kinds:
            problems.append(FieldProblem(name, f"unknown setting{_meant(name, kinds)}"))
            continue
        try:
            values[name] = _read(kinds[name], value)
        except (TypeError, ValueError, OverflowError):
            problems.append(FieldProblem(name, f"must be {_KINDS[kinds[name]]}, got {value!r}"))
    return values


def _read(kind: type, value: Any) -> Any:
    """Return a value as its setting's kind: texts are parsed, nothing else is converted at a loss."""
    if isinstance(value, bool) or (kind is str and not isinstance(value, str)):
        raise TypeError
    read = kind(value)
    if not isinstance(value, str) and read != value and value == value:
        raise ValueError
    return read


def address_problems(name: str, address: str, *, unix: bool, is_own: bool = True) -> list[FieldProblem]:
    """Return what is wrong with an address ``host:port``, or ``unix:PATH`` where a socket may be."""
    kind, _, path = address.partition(":")
    if unix and kind == "unix" and path:
        if Path(path).absolute().parent.is_dir() and len(path.encode()) <= _SOCKET_BYTES:
            return []
        rule = f"must be a path of at most {_SOCKET_BYTES} bytes in a folder that is there, got {path!r}"
        return [FieldProblem(name, rule)]
    if is_address(address):
        try:
            if is_own:
                bound(name, f"{address.rpartition(':')[0]}:0").close()
        except CannotListen as exc:
            return [FieldProblem(name, f"{address}: {exc.rule}")]
        return []
    forms = "host:port or unix:PATH" if unix else "host:port"
    return [FieldProblem(name, f"must be {forms}, with a port up to 65535, got {address!r}")]


def _meant(name: str, known: Mapping[str, Any]) -> str:
    found = get_close_matches(name, known, 1)
    return f"; did you mean {found[0]}?" if found else "; docs/reference/settings.md lists them"
