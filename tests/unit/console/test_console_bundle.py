"""The libraries in the wheel are those that `make console` built, with their licences."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import linkscore_console

STATIC = Path(linkscore_console.__file__).parent / "static"
VENDOR = STATIC / "vendor"
BUNDLE = Path(__file__).parents[3] / "console/bundle"


def test_every_bundled_file_is_as_it_was_built() -> None:
    sums = dict(line.split("  ")[::-1] for line in (VENDOR / "SHA256SUMS").read_text().splitlines())
    files = {path.name for path in VENDOR.iterdir()} - {"SHA256SUMS"}
    assert sums.keys() == files
    for name, digest in sums.items():
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == digest, name


def test_libraries_are_pinned_and_their_licences_are_there() -> None:
    package = json.loads((BUNDLE / "package.json").read_text())
    pins = package["dependencies"] | package["devDependencies"]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in pins.values())
    notices = (VENDOR / "LICENSES.txt").read_text()
    for name, version in package["dependencies"].items():
        assert f"{name} {version} (MIT)" in notices


def test_our_own_scripts_make_nothing_of_text() -> None:
    for script in STATIC.glob("*.js"):
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", script.read_text()
        ), script
