"""Fail if a client's generated code is not what the contract generates: run in the client's folder.

`cd clients/go && python ../../tools/check_generated.py linkscorev1` compares one folder of it with what
`buf.gen.yaml` makes; the generators must be there. `make test-clients` runs it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

PROTO = Path(__file__).resolve().parent.parent / "proto"
BUF = Path(sys.executable).parent / "buf"


def generate(target: Path) -> int:
    """Write the code of the client in the working folder below `target`; return the exit code."""
    command = [str(BUF), "generate", str(PROTO), "--template", "buf.gen.yaml", "--output", str(target)]
    return subprocess.run(command, check=False).returncode


def differing(fresh: Path, committed: Path) -> list[str]:
    """Return the files, by path below either folder, that are missing, changed or left over."""
    found, there = _files(fresh), _files(committed)
    return sorted(path for path in found | there if found.get(path) != there.get(path))


def _files(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def main() -> int:
    """Compare; print what differs; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="the generated code, below the working folder")
    folder = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as made:
        if code := generate(Path(made)):
            return code
        names = differing(Path(made, folder), folder)
    for name in names:
        print(
            f"{folder / name}: not what the contract generates, run make gen-{Path.cwd().name}",
            file=sys.stderr,
        )
    return int(bool(names))


if __name__ == "__main__":
    sys.exit(main())
