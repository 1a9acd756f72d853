"""Inside scoring data flows one way: features -> site -> learners -> policies -> engine."""

from __future__ import annotations

from pathlib import Path

import pytest

import linkscore_scoring
from support.imports import imports_of

pytestmark = pytest.mark.whole

ROOT = Path(linkscore_scoring.__file__).parent
# Rooms in the order data flows: a room reads those named and itself. `testing` may read them all.
BASE = {"bounded", "columns", "errors", "hashing", "types", "state"}
MAY_READ = {
    "state": {"errors"},
    "kernels": {"bounded"},
    "urls": {"bounded", "errors", "hashing", "state"},
    "features": {"errors", "hashing", "kernels", "urls"},
    "pagination": BASE | {"features", "urls"},
    "clustering": BASE | {"features", "kernels", "urls"},
    "graph": BASE | {"features", "urls"},
    "browse_logs": BASE | {"features", "urls"},
    "wanted": {"errors", "features", "state"},
    "site": BASE | {"features", "kernels", "urls", "pagination", "clustering", "browse_logs"},
    "learners": BASE | {"features", "urls", "pagination", "clustering", "browse_logs", "site"},
    "policies": BASE
    | {
        "features",
        "urls",
        "pagination",
        "clustering",
        "graph",
        "browse_logs",
        "wanted",
        "site",
        "learners",
    },
    "encodings": {"errors"},
    "engine": BASE
    | {
        "features",
        "kernels",
        "urls",
        "pagination",
        "clustering",
        "browse_logs",
        "wanted",
        "site",
        "learners",
        "policies",
        "encodings",
    },
    "revisits": {"bounded", "errors", "hashing", "state", "types", "features", "site", "engine"},
    "exporters": {"errors", "types", "site", "policies", "engine"},
    "limits": BASE | {"site", "policies", "engine"},
    "respect": BASE | {"features", "site", "engine"},
    "copies": BASE | {"features", "urls", "pagination", "site", "policies", "engine"},
}
FOREIGN = {
    "grpc",
    "google",
    "linkscore",
    "linkscore_server",
    "linkscore_lab",
    "socket",
    "os",
    "time",
    "random",
}


def files_of(room: str) -> list[Path]:
    """Return the files of a package, or the one of a module."""
    return sorted((ROOT / room).rglob("*.py")) or [ROOT / f"{room}.py"]


@pytest.mark.parametrize("package", MAY_READ)
def test_a_package_reads_only_what_lies_before_it(package: str) -> None:
    rooms = {path.stem for path in ROOT.iterdir() if path.is_dir() or path.suffix == ".py"}
    others = rooms - MAY_READ[package] - {package, "sums"}  # which reads nothing
    wrong = {
        f"{file.relative_to(ROOT)} -> {name}"
        for file in files_of(package)
        for name in imports_of(file)
        if name.startswith("linkscore_scoring.") and name.split(".")[1] in others
    }
    assert wrong == set()


def test_every_package_has_its_place_in_the_order() -> None:
    packages = {path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()}
    assert packages == {*MAY_READ, "testing"} - {"encodings"}


def test_errors_read_nothing() -> None:
    assert not [name for name in imports_of(ROOT / "errors.py") if name.startswith("linkscore")]


def test_scoring_knows_no_server_no_socket_and_no_clock() -> None:
    wrong = {
        f"{file.relative_to(ROOT)} -> {name}"
        for file in ROOT.rglob("*.py")
        for name in imports_of(file)
        if name.split(".")[0] in FOREIGN
    }
    assert wrong == set()


def test_nothing_of_the_library_reads_the_testing_package() -> None:
    readers = {
        file.relative_to(ROOT).parts[0]
        for file in ROOT.rglob("*.py")
        if any(name.startswith("linkscore_scoring.testing") for name in imports_of(file))
    }
    assert readers <= {"testing"}


def test_kernels_alone_import_the_compiled_ones() -> None:
    """They are chosen once: a module that asked again could choose otherwise."""
    rooms = [
        ROOT,
        *(ROOT.parents[1] / name for name in ("server", "cli", "lab", "console", "frontier", "research")),
    ]
    importers = {
        file.relative_to(ROOT.parents[1]).as_posix()
        for room in rooms
        for file in room.rglob("*.py")
        if any(name.split(".")[0] == "linkscore_native" for name in imports_of(file))
    }
    assert importers == {"scoring/linkscore_scoring/kernels/native.py"}
