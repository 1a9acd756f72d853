"""Events as the store takes them."""

from __future__ import annotations

from linkscore_server.store import NewEvent


def event(number: int, site: str = "a.example", id: str = "") -> NewEvent:
    """Return one that says its number."""
    return NewEvent(site, id, b"page %d" % number)
