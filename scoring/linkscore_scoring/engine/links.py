"""Links as a site takes them: tickets, batches for policies, fetches without session ids."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import compress, count
from operator import methodcaller, not_
from typing import NamedTuple

from linkscore_scoring.columns import Repeated
from linkscore_scoring.engine.events import PageFetched
from linkscore_scoring.hashing import hash_of
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import UNKNOWN_CLUSTER, UNKNOWN_LINK_PATH, LinkBatch
from linkscore_scoring.urls.session_ids import SessionIds

VERSION = 1
"""First byte of a ticket."""
_BODY = struct.Struct(">BQQQiH")
"""Version, then the fields of a `Ticket`."""
_MAC_BYTES = 8
"""Bytes of the MAC: guessing one takes 2^63 tries, and gains a wrong context only."""
_REMEMBERED = 16_384
"""A bound: tickets read lately; all are forgotten beyond it."""
TICKET_BYTES = _BODY.size + _MAC_BYTES
"""Size of a ticket, at most 64 by the wire contract."""


class Ticket(NamedTuple):
    """Where a link was found.

    `site`: 64-bit hash of the name of the site whose model scored the link; 0 if not known. `source`:
    identity hash of the page the link stands on; its cluster is looked up by it, so that tickets given out
    before learning profit from it. `link_path`: 64-bit id of the raw link path. `cluster`: persistent cluster
    of the source page when the ticket was written, for sources that were forgotten. `depth`: clicks from a
    seed to the link's target, 0..65535.
    """

    site: int = 0
    source: int = 0
    link_path: int = UNKNOWN_LINK_PATH
    cluster: int = UNKNOWN_CLUSTER
    depth: int = 0


class TicketBook:
    """Writes and reads the tickets of one crawl.

    `key`: secret of the store, at most 64 bytes; all servers over one store share it. `crawl`: name of the
    crawl; its tickets are foreign to every other.
    """

    def __init__(self, key: bytes, crawl: str) -> None:
        own_key = blake2b(crawl.encode(), key=key, digest_size=32).digest()
        self._keyed = blake2b(key=own_key, digest_size=_MAC_BYTES)
        self._known: dict[bytes, Ticket] = {}

    def write_all(self, ticket: Ticket, link_paths: Sequence[int]) -> list[bytes]:
        """Return a ticket with each of these link paths, those of the links of one page, as bytes.

        They have `TICKET_BYTES` (at most 64), and end in a MAC of 8 bytes.
        """
        site, source, _, cluster, depth = ticket
        last = cluster, min(depth, 65_535)
        bodies = [_BODY.pack(VERSION, site, source, link_path, *last) for link_path in link_paths]
        return [body + self._mac(body) for body in bodies]

    def read(self, raw: bytes) -> Ticket | None:
        """Return the ticket, or None if it is empty, damaged, of another version or of another crawl."""
        found = self._known.get(raw)  # tickets come again as long as their links wait
        if found is None and len(raw) == TICKET_BYTES and raw[0] == VERSION:
            body = raw[: _BODY.size]
            if self._mac(body) == raw[_BODY.size :]:
                found = Ticket(*_BODY.unpack(body)[1:])
                if len(self._known) >= _REMEMBERED:
                    self._known.clear()  # at once: big questions are answered beside others
                self._known[raw] = found
        return found

    def _mac(self, body: bytes) -> bytes:
        mac = self._keyed.copy()
        mac.update(body)
        return mac.digest()


def batch_of(
    model: SiteModel,
    urls: Sequence[str],
    keys: Sequence[str],
    tickets: Repeated[Ticket | None] | None = None,
    anchors: Sequence[str] = (),
) -> LinkBatch:
    """Return links that are asked about, with their context from tickets or as the site remembers it.

    URLs and identities come without session ids. Without tickets and anchors nothing is known of these.
    """
    own = model.sessions.strip_all(list(keys))
    hashes = hash_of.of_all(own)
    if tickets is None:
        known = [_remembered(model, key) for key in hashes]
    else:
        contexts = [
            ticket
            and (ticket.link_path, model.cluster_of(ticket.source, default=ticket.cluster), ticket.depth)
            for ticket in tickets.distinct
        ]
        places = zip(tickets.places.tolist(), hashes, strict=True)
        known = [contexts[place] or _remembered(model, key) for place, key in places]
    link_paths, sources, depths = map(list, zip(*known, strict=True)) if known else ([], [], [])
    patterns = model.patterns_of(hashes, own)
    urls, anchors = model.sessions.strip_all(list(urls)), anchors or [""] * len(urls)
    return LinkBatch(urls, hashes, link_paths, sources, depths, patterns, anchors)


def _remembered(model: SiteModel, key: int) -> tuple[int, int, int]:
    """Return link path, source cluster and depth of a link as the site remembers it, else unknown."""
    contexts = model.memory.contexts(key) or [(0, UNKNOWN_LINK_PATH)]
    source, link_path = contexts[0]
    return link_path, model.cluster_of(source), model.memory.depth(key) or 0


def strip_session_ids(event: PageFetched, sessions: SessionIds) -> PageFetched:
    """Return a fetch whose URLs and identities carry no session id, the same one if there is none.

    Answers go by the rows of links, so a crawler's URLs stay as they are. What was remembered before a name
    was known to be of session ids keeps its identity. Cost O(characters).
    """
    page = event.features
    texts = [event.requested_key, event.url]
    if page is not None:
        texts += [page.url, page.key, page.canonical_key, page.moved_to, *page.links.keys]
    own = sessions.strip_all(texts)
    if own == texts:
        return event
    if page is not None:
        links = replace(page.links, keys=own[6:], urls=sessions.strip_all(page.links.urls))
        url, key, canonical_key, moved_to = own[2:6]
        page = replace(page, url=url, key=key, canonical_key=canonical_key, moved_to=moved_to, links=links)
    return replace(event, requested_key=own[0], url=own[1], features=page)


# Characters before the host at most, those of "https://": the first slash behind them ends it.
_HOST_AT = 8


def rows_in_scope(urls: Sequence[str], site: str, site_of: Callable[[str], str] | None) -> list[int]:
    """Return the rows of the links that belong to the crawl; `site_of` is asked once for scheme and host of
    each, None: all belong to it.
    """
    if site_of is None:
        return list(compress(count(), urls))
    roots: dict[str, bool] = {}
    begins_as_most = methodcaller("startswith", (f"https://{site}/", f"http://{site}/"))
    is_own = list(map(begins_as_most, urls))
    for row in compress(count(), map(not_, is_own)):
        end = (url := urls[row]).find("/", _HOST_AT)
        root = url if end < 0 else url[:end]
        if root not in roots:
            roots[root] = bool(root) and site_of(root) == site
        is_own[row] = roots[root]
    return list(compress(count(), is_own))
