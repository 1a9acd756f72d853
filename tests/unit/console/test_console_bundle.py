"""The libraries in the wheel are those that `make console` built, with their licences."""

from __future__ import annotations

import hashlib
from pathlib import Path

import linkscore_console

STATIC = Path(linkscore_console.__file__).parent / "static"
VENDOR = STATIC / "vendor"


def test_every_bundled_file_is_as_it_was_built() -> None:
    sums = dict(line.split("  ")[::-1] for line in (VENDOR / "SHA256SUMS").read_text().splitlines())
    files = {path.name for path in VENDOR.iterdir()} - {"SHA256SUMS"}
    assert sums.keys() == files
    for name, digest in sums.items():
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == digest, name
