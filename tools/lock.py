"""Resolve the requirements files anew: universal, with hashes, without index addresses."""

from __future__ import annotations

import subprocess
import sys

_COMPILE = ["uv", "pip", "compile", "--quiet", "--universal", "--generate-hashes", "--no-emit-index-url", "--no-emit-find-links"]
_LOCKS = {
    "requirements/server.lock": ["pyproject.toml", "--extra", "server"],
    "requirements/dev.lock": ["pyproject.toml", "--extra", "dev"],
    "requirements/gen.lock": ["requirements/gen.in"],
}


def main() -> int:
    """Write every lock; return the exit code."""
    for lock, sources in _LOCKS.items():
        header = ["--custom-compile-command", "make lock", "--python-version", "3.11"]
        code = subprocess.run([*_COMPILE, *header, *sources, "-o", lock], check=False).returncode
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
