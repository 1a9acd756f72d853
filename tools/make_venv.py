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

MEASURED = {
    "dev.lock": "; takes some 640 MB on disk and downloads 170 MB: half a minute on a fast line, "
    "seconds if uv has them",
}
"""What an environment takes, by its lock: measured in November 2026 on Linux, two busy cores."""


def main() -> int:
    """Make the environment; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("lock", type=Path)
    parser.add_argument(
        "--editable",
        action="store_true",
        help="also install this project and research, alone",
    )
    given = parser.parse_args()
    if sys.version_info < (3, 11):
        print(f"linkscore needs Python 3.11 or later, this is {sys.version.split()[0]}", file=sys.stderr)
        return 1
    python = given.folder / "bin" / "python"
    packages = count_packages(given.lock.read_text(encoding="utf-8"))
    say(f"{given.folder}: {packages} packages of {given.lock}{MEASURED.get(given.lock.name, '')}")
    if not python.exists():
        say("1 of 3: a virtual environment")
        venv.create(given.folder, with_pip=True, clear=True)
    uv = find_uv(python)
    say(f"2 of 3: {packages} packages")
    install = [uv, "pip", "install", "--python", str(python)]
    run([*install, "--require-hashes", "-r", str(given.lock)])
    if given.editable:
        say("3 of 3: linkscore itself")
        run([*install, "--quiet", "--no-deps", "-e", ".", "-e", "research"])
    say(f"{given.folder} is ready")
    return 0


def count_packages(lock: str) -> int:
    """Return how many packages a lock names."""
    return sum("==" in line and not line.startswith((" ", "#")) for line in lock.splitlines())


def say(line: str) -> None:
    """Tell who waits what goes on."""
    print(line, file=sys.stderr, flush=True)


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
