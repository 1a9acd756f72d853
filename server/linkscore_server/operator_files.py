"""Files of an operator: settings and tokens as text, certificates and keys before anything listens."""

from __future__ import annotations

import ssl
from pathlib import Path

from linkscore_scoring.errors import FieldProblem

MAX_BYTES = 1 << 20
"""A bound: 5,000 tokens take half of it, all settings a hundredth."""


def text_of(path: Path) -> str:
    """Return the text of a file; of one that is too long no more is read than tells it."""
    with path.open("rb") as file:
        raw = file.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise ValueError(f"must have at most {MAX_BYTES:,} bytes")
    return raw.decode("utf-8")


def tls_problems(cert: str, key: str, client_ca: str = "") -> list[FieldProblem]:
    """Return what is wrong with files of TLS that are there: of these gRPC says that it cannot bind."""
    found, context = list[FieldProblem](), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
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
