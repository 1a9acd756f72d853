"""What a module imports, read from its text."""

from __future__ import annotations

import ast
from pathlib import Path


def imports_of(file: Path) -> set[str]:
    """Return the full names of the modules a file imports."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            found.add(node.module or "")
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found
