"""Tickets: the context of a link in a few opaque bytes that the crawler keeps with the URL."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

from linkscore_scoring.types import UNKNOWN_CLUSTER, UNKNOWN_LINK_PATH

VERSION = 1
"""First byte of a ticket."""
_BODY = struct.Struct(">BQQQiHI")
"""Version, then the fields of a `Ticket`."""
_LINK_PATH = struct.Struct(">Q")
_LINK_PATH_AT = struct.calcsize(">BQQ")
"""Where the link path stands in the body."""
_MAC_BYTES = 8
"""Bytes of the MAC: guessing one takes 2^63 tries, and gains a wrong context only."""
_REMEMBERED = 16_384
"""A bound: tickets read lately; all are forgotten beyond it."""
TICKET_BYTES = _BODY.size + _MAC_BYTES
"""Size of a ticket, at most 64 by the wire contract."""


class Ticket(NamedTuple):
    """Where a link was found.

    Attributes
    ----------
    site
        64-bit hash of the name of the site whose model scored the link; 0 if not known.
    source
        Identity hash of the page the link stands on; its cluster is looked up by it, so that tickets given
        out before learning profit from it.
    link_path
        64-bit id of the raw link path.
    cluster
        Persistent cluster of the source page when the ticket was written, for sources that were forgotten.
    depth
        Clicks from a seed to the link's target, 0..65535.
    revision
        Revision of the site model that wrote the ticket.
    """

    site: int = 0
    source: int = 0
    link_path: int = UNKNOWN_LINK_PATH
    cluster: int = UNKNOWN_CLUSTER
    depth: int = 0
    revision: int = 0


NO_TICKET = Ticket()


class TicketBook:
    """Writes and reads the tickets of one crawl.

    Parameters
    ----------
    key
        Secret of the store, at most 64 bytes; all servers over one store share it.
    crawl
        Name of the crawl; its tickets are foreign to every other.
    """

    def __init__(self, key: bytes, crawl: str) -> None:
        own_key = blake2b(crawl.encode(), key=key, digest_size=32).digest()
        self._keyed = blake2b(key=own_key, digest_size=_MAC_BYTES)
        self._known: dict[bytes, Ticket] = {}

    def write(self, ticket: Ticket) -> bytes:
        """Return the ticket as `TICKET_BYTES` (at most 64) bytes ending in a MAC of 8 bytes."""
        body = self._body(ticket)
        return body + self._mac(body)

    @staticmethod
    def _body(ticket: Ticket) -> bytes:
        return _BODY.pack(
            VERSION,
            ticket.site,
            ticket.source,
            ticket.link_path,
            ticket.cluster,
            min(ticket.depth, 65_535),
            ticket.revision & 0xFFFFFFFF,
        )

    def write_all(self, ticket: Ticket, link_paths: list[int]) -> list[bytes]:
        """Return `write` of a ticket with each of these link paths: those of the links of one page."""
        body = self._body(ticket)
        before, behind = body[:_LINK_PATH_AT], body[_LINK_PATH_AT + _LINK_PATH.size :]
        bodies = [before + _LINK_PATH.pack(link_path) + behind for link_path in link_paths]
        return [own + self._mac(own) for own in bodies]

    def read(self, raw: bytes) -> Ticket | None:
        """Return the ticket, or None if it is empty, damaged, of another version or of another crawl."""
        return self._known.get(raw) or self.read_all([raw])[0]

    def read_all(self, tickets: Sequence[bytes]) -> list[Ticket | None]:
        """Return `read` of each.

        Tickets come again as long as their links wait, so those read lately are remembered.
        """
        known = self._known
        found = list(map(known.get, tickets))
        rows = [row for row, ticket in enumerate(found) if ticket is None and self._may_be(tickets[row])]
        for row in rows:
            raw = tickets[row]
            if self._mac(raw[: _BODY.size]) == raw[_BODY.size :]:
                _, *fields = _BODY.unpack_from(raw)
                found[row] = known[raw] = Ticket(*fields)
        if len(known) > _REMEMBERED:
            known.clear()  # at once: big questions are answered beside others
        return found

    @staticmethod
    def _may_be(raw: bytes) -> bool:
        return len(raw) == TICKET_BYTES and raw[0] == VERSION

    def _mac(self, body: bytes) -> bytes:
        mac = self._keyed.copy()
        mac.update(body)
        return mac.digest()
