"""The frontier is a client of the public contract: of the server it takes what guards a port, and no more."""

from __future__ import annotations

from pathlib import Path

import linkscore_frontier
from support.imports import imports_of

MAY_READ = {
    "linkscore_cli.files",
    "linkscore_server.grpc.frames",
    "linkscore_server.grpc.overload",
    "linkscore_server.grpc.room",
    "linkscore_server.tokens",
    "linkscore_server.tls",
    "linkscore_server.observability",
}


def test_it_reads_no_library_no_lab_and_little_of_the_server() -> None:
    files = [
        file for file in Path(linkscore_frontier.__file__).parent.glob("*.py") if "_pb2" not in file.name
    ]
    read = {name for file in files for name in imports_of(file) if name.startswith("linkscore_")}
    foreign = {name for name in read if not name.startswith("linkscore_frontier")}
    assert {name for name in foreign if not name.startswith(tuple(MAY_READ))} == set()
