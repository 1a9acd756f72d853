"""Certificates of the server, read again when their files change."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import grpc

from linkscore_server.operator_files import tls_problems

_log = logging.getLogger(__name__)


def server_credentials(
    cert: str, key: str, client_ca: str = "", failed: Callable[[], None] = lambda: None
) -> grpc.ServerCredentials:
    """Return credentials that follow their files: a new connection gets the certificate of now.

    Files that are gone, or that do not fit together while they are being replaced, change nothing.
    """
    files = _CertificateFiles([Path(path) for path in (cert, key, client_ca) if path], failed)
    return grpc.dynamic_ssl_server_credentials(
        files.read(),
        files.read_if_changed,  # type: ignore[arg-type]  # None: as before
        require_client_authentication=bool(client_ca),
    )


class _CertificateFiles:
    def __init__(self, paths: list[Path], failed: Callable[[], None]) -> None:
        self._paths, self._failed = paths, failed
        self._seen = self._version()

    def read(self) -> grpc.ServerCertificateConfiguration:
        chain, key, *authorities = (path.read_bytes() for path in self._paths)
        return grpc.ssl_server_certificate_configuration(
            [(key, chain)], root_certificates=authorities[0] if authorities else None
        )

    def read_if_changed(self) -> grpc.ServerCertificateConfiguration | None:
        """Return the certificates if they changed; called for every new connection, in gRPC's own threads."""
        version = self._version()
        if version == self._seen:
            return None
        self._seen = version
        try:
            found = self.read()
            wrong = [problem.rule for problem in tls_problems(*map(str, self._paths))]
        except OSError as exc:
            wrong = [str(exc)]
        if wrong:
            _log.error("certificates stay as they were: %s", "; ".join(wrong))
            self._failed()
            return None
        _log.info("certificates read again")
        return found

    def _version(self) -> list[tuple[int, ...]]:
        return [_version(path) for path in self._paths]


def _version(path: Path) -> tuple[int, ...]:
    try:
        stat = path.stat()
    except OSError:
        return ()
    return stat.st_mtime_ns, stat.st_size, stat.st_ino
