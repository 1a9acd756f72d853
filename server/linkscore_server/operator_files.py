"""Files of an operator: followed as they change, certificates and keys tried before anything listens."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from linkscore_scoring.errors import FieldProblem

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
