"""Resolve the requirements files anew: universal, with hashes, without index addresses.

Arguments go to `uv pip compile`; `--upgrade` lets go of the versions locked so far.
"""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from pathlib import Path

from make_venv import find_uv

_COMPILE = ["pip", "compile", "--quiet", "--universal", "--generate-hashes", "--python-version", "3.11"]
_PORTABLE = ["--no-emit-index-url", "--no-emit-find-links", "--custom-compile-command", "make lock"]
_SERVER = "requirements/server.lock"
_LOCKS = {
    _SERVER: ["pyproject.toml", "--extra", "server"],
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
# What the container image may have besides: of each only what the server has not.
_EXTRAS = ("console", "http", "lab", "learners", "logs", "postgres")


def main() -> int:
    """Write every lock; return the exit code."""
    uv = find_uv(Path(sys.executable))
    for lock, sources in itertools.chain(_LOCKS.items(), map(beside_the_server, _EXTRAS)):
        command = [uv, *_COMPILE, *_PORTABLE, *sys.argv[1:], *sources, "-o", lock]
        code = subprocess.run(command, check=False).returncode
        if code:
            return code
    return 0


def beside_the_server(extra: str) -> tuple[str, list[str]]:
    """Return the lock of an extra of the image, and the arguments of uv; the server's is there already."""
    names = re.findall(r"^([\w.-]+)==", Path(_SERVER).read_text(encoding="utf-8"), re.MULTILINE)
    known = [argument for name in names for argument in ("--no-emit-package", name)]
    sources = ["pyproject.toml", "--extra", "server", "--extra", extra, "--constraint", _SERVER]
    return f"requirements/server-{extra}.lock", [*sources, *known]


if __name__ == "__main__":
    sys.exit(main())
