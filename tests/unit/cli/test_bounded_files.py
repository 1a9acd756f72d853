"""Large files that people name: however long a line, one message and little memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from linkscore.messages import example_page
from linkscore_scoring.errors import InvalidInput
from linkscore_server.browse_logs.reading import log_file

SIZE = 600 << 20
"""Bytes of a file of one line: none of what reads it may need even a half of them."""

MESSAGES = (InvalidInput, ValueError)
READERS: dict[str, Callable[[Path], Any]] = {
    "browse log": log_file,
    "example page": lambda path: example_page(str(path)),
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
        file.write(b"x")
        file.truncate(SIZE)
    with pytest.raises(MESSAGES):
        READERS[reader](path)
    assert peak_bytes() < SIZE / 2
