"""The console is a client like any other: it reads the client and the command line, nothing of the server."""

from __future__ import annotations

from pathlib import Path

import linkscore_console
from support.imports import imports_of


def test_the_console_knows_no_room_of_the_server() -> None:
    found = {
        name for file in Path(linkscore_console.__file__).parent.rglob("*.py") for name in imports_of(file)
    }
    own = {name.partition(".")[0] for name in found if name.startswith("linkscore")}
    assert own == {"linkscore", "linkscore_cli", "linkscore_console"}
