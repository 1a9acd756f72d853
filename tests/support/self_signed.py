"""A certificate of localhost that is its own authority."""

from __future__ import annotations

import subprocess
from pathlib import Path

_ASKED = (
    "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost "
    "-addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout key.pem -out cert.pem"
)


def self_signed(folder: Path) -> dict[str, str]:
    """Make a certificate and its key in a folder; as settings of a server."""
    subprocess.run(_ASKED.split(), cwd=folder, check=True, capture_output=True)
    return {"tls_cert": str(folder / "cert.pem"), "tls_key": str(folder / "key.pem")}
