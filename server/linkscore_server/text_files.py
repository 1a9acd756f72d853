"""Small text files of an operator: settings and tokens."""

from __future__ import annotations

from pathlib import Path

MAX_BYTES = 1 << 20
"""A bound: 5,000 tokens take half of it, all settings a hundredth."""


def text_of(path: Path) -> str:
    """Return the text of a file; of one that is too long no more is read than tells it.

    Raises
    ------
    OSError
        If it cannot be read.
    ValueError
        If it is too long, or no UTF-8.
    """
    with path.open("rb") as file:
        raw = file.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise ValueError(f"must have at most {MAX_BYTES:,} bytes")
    return raw.decode("utf-8")
