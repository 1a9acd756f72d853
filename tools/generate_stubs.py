"""Generate the Python stubs with the pinned generator; --check fails if they would change."""

from __future__ import annotations

import argparse
import filecmp
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple


class Contract(NamedTuple):
    """Where a contract lies, its package, and where its stubs go."""

    protos: Path
    package: Path
    target: Path


_CONTRACTS = (
    Contract(Path("proto"), Path("linkscore/v1"), Path("clients/python")),
    Contract(Path("frontier/proto"), Path("linkscore_frontier"), Path("frontier")),
)


def main() -> int:
    """Generate, or compare; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python", help="interpreter of the environment that holds grpcio-tools")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    return max(
        (check(given.python, contract) if given.check else generate(given.python, contract, contract.target))
        for contract in _CONTRACTS
    )


def check(python: str, contract: Contract) -> int:
    """Generate somewhere else and compare; return the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        code = generate(python, contract, Path(folder))
        differ = differing(Path(folder) / contract.package, contract.target / contract.package)
        return code or report(contract, differ)


def generate(python: str, contract: Contract, target: Path) -> int:
    """Write stubs, type stubs and service stubs below `target`; return the exit code."""
    outputs = [f"--{kind}_out={target}" for kind in ("python", "pyi", "grpc_python")]
    protos = sorted(map(str, (contract.protos / contract.package).glob("*.proto")))
    return subprocess.run(
        [python, "-m", "grpc_tools.protoc", f"-I{contract.protos}", *outputs, *protos], check=False
    ).returncode


def differing(fresh: Path, committed: Path) -> list[str]:
    """Return the stubs that are missing, changed or left over."""
    names = {path.name for folder in (fresh, committed) for path in folder.glob("*_pb2*")}
    _, changed, lone = filecmp.cmpfiles(fresh, committed, sorted(names), shallow=False)
    return [*changed, *lone]


def report(contract: Contract, names: list[str]) -> int:
    """Print what differs; return the exit code."""
    for name in names:
        path = contract.target / contract.package / name
        print(f"{path}: not what the contract generates, run make gen", file=sys.stderr)
    return 1 if names else 0


if __name__ == "__main__":
    sys.exit(main())
