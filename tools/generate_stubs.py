"""Generate the Python stubs with the pinned generator; --check fails if they would change."""

from __future__ import annotations

import argparse
import filecmp
import subprocess
import sys
import tempfile
from pathlib import Path

_TARGET = Path("clients/python")
_PACKAGE = Path("linkscore/v1")


def main() -> int:
    """Generate, or compare; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python", help="interpreter of the environment that holds grpcio-tools")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    if not given.check:
        return generate(given.python, _TARGET)
    with tempfile.TemporaryDirectory() as folder:
        code = generate(given.python, Path(folder))
        return code or report(differing(Path(folder) / _PACKAGE, _TARGET / _PACKAGE))


def generate(python: str, target: Path) -> int:
    """Write stubs, type stubs and service stubs below `target`."""
    outputs = [f"--{kind}_out={target}" for kind in ("python", "pyi", "grpc_python")]
    protos = sorted(map(str, Path("proto", _PACKAGE).glob("*.proto")))
    return subprocess.run(
        [python, "-m", "grpc_tools.protoc", "-Iproto", *outputs, *protos], check=False
    ).returncode


def differing(fresh: Path, committed: Path) -> list[str]:
    """Return the stubs that are missing, changed or left over."""
    names = {path.name for folder in (fresh, committed) for path in folder.glob("*_pb2*")}
    _, changed, lone = filecmp.cmpfiles(fresh, committed, sorted(names), shallow=False)
    return [*changed, *lone]


def report(names: list[str]) -> int:
    """Print what differs; return the exit code."""
    for name in names:
        print(f"{_TARGET / _PACKAGE / name}: not what the contract generates, run make gen", file=sys.stderr)
    return 1 if names else 0


if __name__ == "__main__":
    sys.exit(main())
