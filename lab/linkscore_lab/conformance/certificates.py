"""An authority, and certificates it signed, made anew for a test."""

from __future__ import annotations

import subprocess
from pathlib import Path

_NEW_KEY = ("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
# Longer than any run, short enough that nobody is tempted to use them elsewhere.
_DAYS = ("-days", "2")


def make_certificates(folder: Path) -> Path:
    """Write `ca.pem`, and `server.pem` and `client.pem` signed by it, each beside its `.key`.

    Returns the folder. The certificates hold for localhost and 127.0.0.1.
    """
    authority = ("-x509", "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem")
    _openssl(folder, *_NEW_KEY, *_DAYS, *authority)
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    for name in ("server", "client"):
        _openssl(folder, *_NEW_KEY, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        sign = ("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial")
        _openssl(folder, *sign, *_DAYS, "-extfile", "names", "-out", f"{name}.pem")
    return folder


def _openssl(folder: Path, *arguments: str) -> None:
    command = ["openssl", *arguments]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)  # noqa: S603 - arguments of ours
