"""Files that people name: however long a line and however deep the nesting, one message, little memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from linkscore.messages import example_page
from linkscore_cli.connection import _token
from linkscore_cli.crawls import _experience
from linkscore_lab.datasets.site import read_labels
from linkscore_scoring.errors import InvalidInput
from linkscore_server.browse_logs.reading import log_file
from linkscore_server.operator_files import TokenFile
from linkscore_server.settings import load

SIZE = 600 << 20
"""Bytes of a file of one line: none of what reads it may need even a half of them."""

MESSAGES = (click.ClickException, InvalidInput, ValueError)
READERS: dict[str, Callable[[Path], Any]] = {
    "browse log": log_file,
    "labels": read_labels,
    "settings": lambda path: load({}, {}, path),
    "token file of a server": TokenFile,
    "token file in settings": lambda path: load({"token_file": str(path)}, {}, None),
    "token file of a client": lambda path: _token(None, path),
    "example page": lambda path: example_page(str(path)),
    "experience": _experience,
}


@pytest.fixture
def peak_bytes() -> Iterator[Callable[[], int]]:
    """How much memory Python took at most so far."""
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


@pytest.mark.parametrize("reader", READERS)
def test_a_file_of_one_endless_line_is_refused_before_it_is_read(
    reader: str, tmp_path: Path, peak_bytes: Callable[[], int]
) -> None:
    path = tmp_path / "endless.tsv"
    with path.open("wb") as file:
        file.write(b"url\tpage_type\n" if reader == "labels" else b"x")
        file.truncate(SIZE)
    with pytest.raises(MESSAGES):
        READERS[reader](path)
    assert peak_bytes() < SIZE / 2
