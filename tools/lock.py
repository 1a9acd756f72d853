"""Resolve the requirements files anew: universal, with hashes, without index addresses.

Arguments go to `uv pip compile`; `--upgrade` lets go of the versions locked so far.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from make_venv import find_uv

_COMPILE = ["pip", "compile", "--quiet", "--universal", "--generate-hashes", "--python-version", "3.11"]
_PORTABLE = ["--no-emit-index-url", "--no-emit-find-links", "--custom-compile-command", "make lock"]
_LOCKS = {
    "requirements/server.lock": [
        "pyproject.toml",
        *("--extra", "server"),
        *("--extra", "console"),
        *("--extra", "logs"),
        *("--extra", "kafka"),
        *("--extra", "tracing"),
    ],
    "requirements/demo.lock": ["pyproject.toml", "--extra", "lab"],
    "requirements/dev.lock": ["pyproject.toml", "--extra", "dev"],
    "requirements/gen.lock": ["requirements/gen.in"],
    "requirements/build.lock": ["requirements/build.in"],
    "requirements/docs.lock": ["requirements/docs.in"],
    "requirements/release.lock": ["requirements/release.in"],
    "requirements/crawlers.lock": [
        "pyproject.toml",
        *("--extra", "crawlee"),
        *("--extra", "crawl4ai"),
        "requirements/crawlers.in",
    ],
}


def main() -> int:
    """Write every lock; return the exit code."""
    uv = find_uv(Path(sys.executable))
    for lock, sources in _LOCKS.items():
        command = [uv, *_COMPILE, *_PORTABLE, *sys.argv[1:], *sources, "-o", lock]
        code = subprocess.run(command, check=False).returncode
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
