"""Make a virtual environment from a hash-locked requirements file, with uv where there is one.

Runs on a bare Python 3.11+: standard library only.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import venv
from pathlib import Path


def main() -> int:
    """Make the environment; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("lock", type=Path)
    parser.add_argument(
        "--editable", action="store_true", help="also install this project, without its dependencies"
    )
    given = parser.parse_args()
    if sys.version_info < (3, 11):
        print(f"linkscore needs Python 3.11 or later, this is {sys.version.split()[0]}", file=sys.stderr)
        return 1
    python = given.folder / "bin" / "python"
    if not python.exists():
        venv.create(given.folder, with_pip=True, clear=True)
    uv = find_uv(python)
    install = [uv, "pip", "install", "--quiet", "--python", str(python)]
    run([*install, "--require-hashes", "-r", str(given.lock)])
    if given.editable:
        run([*install, "--no-deps", "-e", "."])
    return 0


def find_uv(python: Path) -> str:
    """Return the path of uv: the one there is, or one installed into the environment of `python`."""
    own = python.parent / "uv"
    found = shutil.which("uv") or shutil.which(own)
    if found is None:
        run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "uv"])
    return found or str(own)


def run(command: list[str]) -> None:
    """Run a command; end with its exit code if it fails."""
    code = subprocess.run(command, check=False).returncode
    if code:
        sys.exit(code)


if __name__ == "__main__":
    sys.exit(main())
