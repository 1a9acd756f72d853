"""What is wrong with settings, as a server says it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from linkscore_scoring.errors import InvalidInput
from linkscore_server.settings import load


def refused(flags: Mapping[str, Any], environment: Mapping[str, str], file: Path | None) -> dict[str, str]:
    """Return the rules broken by each field."""
    with pytest.raises(InvalidInput) as caught:
        load(flags, environment, file)
    found: dict[str, str] = {}
    for problem in caught.value.problems:
        found[problem.field] = f"{found.get(problem.field, '')}{problem.rule}"
    return found
