"""Files of an operator, followed as they change: certificates and keys, and tokens, which say who calls.

A token file has one token a line, `NAME ROLE CRAWLS sha256:HEX`, as `linkscore token` prints it, and after
that `crawls=3`, say, if the token may have no more crawls than that; empty lines, and lines that begin with
`# `, say nothing. Only digests are kept: a token is 256 random bits, which nobody finds by trying, so that
the salt and slowness that protect passwords would cost every call and add nothing.
"""

from __future__ import annotations

import hashlib
import logging
import math
import re
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Generic, TypeVar

import grpc

from linkscore_cli.files import text_of
from linkscore_scoring.errors import FieldProblem

_LINE = re.compile(r"(?P<name>\S+)\s+(?P<role>\S+)\s+(?P<crawls>\S+)\s+sha256:(?P<digest>\S+)(?P<limit>.*)")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,62}")
_PATTERN = re.compile(r"[a-z0-9_*-]{1,64}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_LIMIT = re.compile(r"crawls=([1-9][0-9]{0,5})")


class Role(IntEnum):
    """What a caller may do; each role includes those before it."""

    READ = 1
    WRITE = 2
    ADMIN = 3


@dataclass(frozen=True, slots=True)
class Caller:
    """Who makes a call: a name for the log, a role, and patterns of crawls, in which `*` stands for any text.

    Of the crawls that fit, it creates none when there are `most_crawls`.
    """

    name: str
    role: Role
    crawls: tuple[str, ...] = ("*",)
    most_crawls: float = math.inf

    def may_touch(self, crawl: str) -> bool:
        """Say whether a crawl is among those of the caller."""
        return any(fnmatchcase(crawl, pattern) for pattern in self.crawls)


ANYBODY = Caller("-", Role.ADMIN)
"""The caller of a server without tokens."""


def digest_of(token: str) -> str:
    """Return what a token file keeps of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def parse_tokens(text: str) -> dict[str, Caller]:
    """Return the callers of a token file by the digest of their token."""
    numbered = enumerate((line.strip() for line in text.splitlines()), 1)
    lines = [(number, line) for number, line in numbered if line and not (line + " ").startswith("# ")]
    callers: dict[str, Caller] = {}
    for number, line in lines:
        digest, caller = _entry(number, line)
        if digest in callers or caller.name in (known.name for known in callers.values()):
            raise ValueError(f"line {number}: a name or a token that is there already")
        callers[digest] = caller
    if not callers:
        raise ValueError("has no token")
    return callers


def _entry(number: int, line: str) -> tuple[str, Caller]:
    found = _LINE.fullmatch(line)
    if found is None:
        rule = "must be NAME ROLE CRAWLS sha256:HEX, as `linkscore token` prints it"
        raise ValueError(f"line {number}: {rule}")
    crawls = tuple(found["crawls"].split(","))
    rules = {
        "the name must be letters, digits and ._@-": _NAME.fullmatch(found["name"]),
        "the role must be read, write or admin": found["role"].upper() in Role.__members__,
        "crawls must be patterns of a-z, 0-9, _, - and *, with commas between": all(
            map(_PATTERN.fullmatch, crawls)
        ),
        "the digest must be 64 hexadecimal digits": _DIGEST.fullmatch(found["digest"]),
    }
    for rule, kept in rules.items():
        if not kept:
            raise ValueError(f"line {number}: {rule}")
    limit = found["limit"].strip()
    most = _LIMIT.fullmatch(limit)
    if limit and most is None:
        raise ValueError(f"line {number}: after the digest may only stand crawls=NUMBER, from 1 to 999999")
    most_crawls = int(most[1]) if most else math.inf
    return found["digest"], Caller(found["name"], Role[found["role"].upper()], crawls, most_crawls)


class TokenFile:
    """The callers of a token file as it is now; one that cannot be used any more changes nothing."""

    def __init__(self, path: Path, failed: Callable[[], object] = lambda: None) -> None:
        self._file = Watched("tokens", [path], lambda: parse_tokens(text_of(path)), failed)

    def caller_of(self, authorization: str) -> Caller | None:
        """Return who sends a header `Bearer TOKEN`; None for nobody known."""
        self._file.changed()
        scheme, _, token = authorization.partition(" ")
        # A dictionary of digests: how long the look-up takes says nothing of a token, only of its hash.
        return self._file.value.get(digest_of(token)) if scheme == "Bearer" else None


def server_credentials(
    cert: str, key: str, client_ca: str = "", failed: Callable[[], None] = lambda: None
) -> grpc.ServerCredentials:
    """Return credentials that follow their files: a new connection gets the certificate of now.

    Files that are gone, or that do not fit together while they are being replaced, change nothing.
    """
    paths = [Path(path) for path in (cert, key, client_ca) if path]

    def read() -> grpc.ServerCertificateConfiguration:
        if wrong := tls_problems(cert, key, client_ca):
            raise ValueError("; ".join(problem.rule for problem in wrong))
        chain, private, *authorities = (path.read_bytes() for path in paths)
        return grpc.ssl_server_certificate_configuration(
            [(private, chain)], root_certificates=authorities[0] if authorities else None
        )

    files = Watched("certificates", paths, read, failed)
    return grpc.dynamic_ssl_server_credentials(
        files.value,
        # Called in gRPC's own threads; None: as before.
        lambda: files.value if files.changed() else None,  # type: ignore[arg-type, return-value]
        require_client_authentication=bool(client_ca),
    )


def listening(server: grpc.aio.Server, listen: str, credentials: grpc.ServerCredentials | None = None) -> str:
    """Have a server listen, by TLS with credentials; returns the address, with the port that it has."""
    port = server.add_secure_port(listen, credentials) if credentials else server.add_insecure_port(listen)
    return listen if listen.startswith("unix:") else f"{listen.rpartition(':')[0]}:{port}"


T = TypeVar("T")
_log = logging.getLogger(__name__)


class Watched(Generic[T]):
    """What files say, read again when one changes; what cannot be used is logged, and changes nothing."""

    def __init__(
        self, what: str, paths: Sequence[Path], read: Callable[[], T], failed: Callable[[], object]
    ) -> None:
        self._what, self._paths, self._read, self._failed = what, paths, read, failed
        self._seen = self._version()
        self.value = read()

    def changed(self) -> bool:
        """Look whether `value` is another one by now; costs a `stat` a file."""
        version = self._version()
        if version == self._seen:
            return False
        self._seen = version
        try:
            self.value = self._read()
        except (OSError, ValueError) as exc:
            _log.error("%s stay as they were: %s", self._what, exc)
            self._failed()
            return False
        _log.info("%s read again", self._what)
        return True

    def _version(self) -> list[tuple[int, ...]]:
        """Return what differs when a file was written or replaced."""
        return [_version(path) for path in self._paths]


def _version(path: Path) -> tuple[int, ...]:
    try:
        stat = path.stat()
    except OSError:
        return ()
    return stat.st_mtime_ns, stat.st_size, stat.st_ino


def tls_problems(cert: str, key: str, client_ca: str = "") -> list[FieldProblem]:
    """Return what is wrong with files of TLS: of those that are there gRPC says that it cannot bind."""
    found, context = list[FieldProblem](), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    if bool(cert) != bool(key):
        found.append(FieldProblem("tls_cert", "tls_cert and tls_key must be set together"))
    if client_ca and not cert:
        found.append(FieldProblem("tls_client_ca", "needs tls_cert and tls_key"))
    if Path(cert).is_file() and Path(key).is_file():
        try:
            context.load_cert_chain(cert, key, password="")
        except (OSError, ValueError) as exc:
            rule = f"{cert} and {key} must be a certificate and its key in PEM, without a password ({exc})"
            found.append(FieldProblem("tls_cert", rule))
    if Path(client_ca).is_file():
        try:
            context.load_verify_locations(client_ca)
        except (OSError, ValueError) as exc:
            found.append(FieldProblem("tls_client_ca", f"{client_ca}: must be certificates in PEM ({exc})"))
    return found
