"""Certificates of the server, read again when their files change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import grpc

from linkscore_server.operator_files import Watched, tls_problems


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
