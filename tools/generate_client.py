"""Write the blocking Python client from the one for asyncio; --check fails if it would change.

Code and docstrings with their examples are changed alike; `unasync` would leave docstrings alone.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

SOURCE = Path("clients/python/linkscore/aio.py")
TARGET = Path("clients/python/linkscore/client.py")

_PATTERNS = (
    (r"\A", "# Made from aio.py by tools/generate_client.py: change that, then `make gen`.\n"),
    (r"The client for asyncio", "The client for programs that block"),
    (
        r"Asyncio client of a linkscore server; belongs .*?(?=\n\n    Parameters)",
        "Blocking client of a linkscore server; safe to share between threads. "
        "For asyncio see `AsyncClient`.",
    ),
    (r"\b(?:async|await) ", ""),
    (r"\b__a(enter|exit)__", r"__\1__"),
    (r"\bgrpc\.aio\.", "grpc."),
    (r"(?<!see `)\bAsync(Client|Iterator)\b", r"\1"),
)


def main() -> int:
    """Write, or compare; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    text = blocking(SOURCE.read_text(encoding="utf-8"))
    if not given.check:
        TARGET.write_text(text, encoding="utf-8")
    elif text != TARGET.read_text(encoding="utf-8"):
        print(f"{TARGET}: not what {SOURCE} makes, run make gen", file=sys.stderr)
        return 1
    return 0


def blocking(text: str) -> str:
    """Return the blocking twin of a module, in order as ruff has it."""
    for pattern, word in _PATTERNS:
        text, n = re.subn(pattern, word, text, flags=re.DOTALL)
        assert n, f"{SOURCE} has no {pattern} any more"
    return ruff("format", ruff("check", text, "--fix-only", "--unsafe-fixes"))


def ruff(command: str, text: str, *options: str) -> str:
    """Return a text as ruff changes it."""
    line = [
        str(Path(sys.executable).with_name("ruff")),
        command,
        "--quiet",
        *options,
        "--stdin-filename",
        str(TARGET),
        "-",
    ]
    return subprocess.run(line, input=text, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    sys.exit(main())
