"""`make audit`: known weaknesses of what is locked, by pip-audit and cargo-audit.

Exit 0: looked up, none is known. 1: some are, named. 2: not looked up, because a tool or its database is not
there: a line each says so, for silence would read as sound.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FOUND, NOT_DONE = 1, 2
_TIMEOUT_S = 600.0  # a bound, chosen: an audit of one lock takes seconds


def python_findings(report: dict[str, Any]) -> Iterator[str]:
    """Yield what a report of pip-audit names."""
    for package in report["dependencies"]:
        for weakness in package.get("vulns", ()):
            fixed = ", ".join(weakness["fix_versions"]) or "no version yet"
            yield f"{package['name']} {package['version']}: {weakness['id']}, fixed in {fixed}"


def rust_findings(report: dict[str, Any]) -> Iterator[str]:
    """Yield what a report of cargo-audit names."""
    for weakness in report["vulnerabilities"]["list"]:
        package, advisory = weakness["package"], weakness["advisory"]
        yield f"{package['name']} {package['version']}: {advisory['id']}, {advisory['title']}"


def audit(what: Path, command: list[str], findings: Callable[[dict[str, Any]], Iterator[str]]) -> int:
    """Look up one lock; says what came of it."""
    name = what.relative_to(ROOT)
    if shutil.which(command[0]) is None:
        print(f"{name}: NOT audited, there is no {command[0]} (see docs/development.md)")
        return NOT_DONE
    try:
        done = subprocess.run(
            command, cwd=what.parent, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
        found = list(findings(json.loads(done.stdout)))
    except (subprocess.TimeoutExpired, ValueError, LookupError, TypeError) as exc:
        said = ((done.stderr.strip() if isinstance(exc, ValueError) else "") or str(exc)).splitlines()[-1]
        print(f"{name}: NOT audited, {command[0]} has no database here: {said[:200]}")
        return NOT_DONE
    for line in found:
        print(f"{name}: {line}")
    print(f"{name}: {len(found)} known weaknesses")
    return FOUND if found else 0


def main() -> int:
    """Audit every lock; the worst of them counts."""
    codes = [
        audit(
            lock,
            [
                "pip-audit",
                "--requirement",
                str(lock),
                "--disable-pip",
                "--require-hashes",
                "--format",
                "json",
            ],
            python_findings,
        )
        for lock in sorted((ROOT / "requirements").glob("*.lock"))
    ]
    codes.append(audit(ROOT / "native" / "Cargo.lock", ["cargo-audit", "audit", "--json"], rust_findings))
    return FOUND if FOUND in codes else max(codes)


if __name__ == "__main__":
    sys.exit(main())
