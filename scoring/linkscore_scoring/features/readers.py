"""Readers of pages that are not HTML, by kind: each brought by an annex.

An annex registers a `Reader` by the entry points of the group ``linkscore.readers``, under the name of the
kind in the wire contract, in lower case.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import Protocol

from linkscore_scoring.errors import InvalidPage
from linkscore_scoring.features.types import Limits, PageFeatures

GROUP = "linkscore.readers"


class Reader(Protocol):
    """Reads a body as fetched."""

    def __call__(self, body: bytes, *, url: str, content_encoding: str, limits: Limits) -> PageFeatures:
        """Return its features, or raise `InvalidPage`."""


@cache
def _readers() -> dict[str, Reader]:
    return {entry.name: entry.load() for entry in entry_points(group=GROUP)}


def reader_of(kind: str) -> Reader:
    """Return the reader of a kind of page.

    Raises `InvalidPage`: if no annex that is installed reads it.
    """
    found = _readers().get(kind)
    if found is None:
        raise InvalidPage(f"is not known to this server, got {kind!r}", field="kind")
    return found
