"""Links of a question as the batches that policies score, one per site."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from linkscore_scoring.engine.tickets import NO_TICKET, Ticket
from linkscore_scoring.hashing import hash64
from linkscore_scoring.policies.answers import KnownUrl
from linkscore_scoring.site.fetch import Fetch
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import UNKNOWN_APATH, LinkBatch

hash_of = lru_cache(maxsize=1 << 18)(hash64)


def batch_of(
    model: SiteModel,
    rows: Sequence[int],
    urls: Sequence[str],
    keys: Sequence[str],
    tickets: Sequence[Ticket],
    anchors: Sequence[str],
) -> LinkBatch:
    """Return some rows of a list of links with their context, from tickets or as the site remembers it.

    URLs and identities come without session ids.
    """
    own = [model.sessions.strip(keys[row]) for row in rows]
    hashes = list(map(hash_of, own))
    known = [_context(model, key, tickets[row]) for row, key in zip(rows, hashes, strict=True)]
    return LinkBatch(
        [model.sessions.strip(urls[row]) for row in rows],
        hashes,
        [apath for apath, _, _ in known],
        [source for _, source, _ in known],
        [depth for _, _, depth in known],
        model.patterns_of(hashes, own),
        [anchors[row] for row in rows],
    )


def batch_of_known(model: SiteModel, found: Sequence[KnownUrl]) -> LinkBatch:
    """Return URLs that a policy named, with the context the site remembers; anchors are not remembered."""
    hashes, urls = [key for key, _ in found], [url for _, url in found]
    known = [_context(model, key, NO_TICKET) for key in hashes]
    return LinkBatch(
        urls,
        hashes,
        [apath for apath, _, _ in known],
        [source for _, source, _ in known],
        [depth for _, _, depth in known],
        model.patterns_of(hashes, urls),
        [""] * len(urls),
    )


def link_of(model: SiteModel, fetch: Fetch) -> LinkBatch | None:
    """Return the link that a fetch followed, one row, as known before; None for a seed or a repetition."""
    memory = model.memory
    ways = [(fetch.source, fetch.apath)] if fetch.apath != UNKNOWN_APATH else memory.contexts(fetch.requested)
    if not ways or memory.is_fetched(fetch.requested):
        return None
    depth = memory.depth(fetch.requested)
    return LinkBatch(
        [fetch.requested_key],
        [fetch.requested],
        [ways[0][1]],
        [model.cluster_of(ways[0][0])],
        [(fetch.depth or 0) if depth is None else depth],
        model.patterns_of([fetch.requested], [fetch.requested_key]),
        [""],
    )


def _context(model: SiteModel, key: int, ticket: Ticket) -> tuple[int, int, int]:
    """Return Apath, source cluster and depth of a link: by its ticket, else remembered, else unknown."""
    if ticket is not NO_TICKET:
        return ticket.apath, model.cluster_of(ticket.source, default=ticket.cluster), ticket.depth
    for source, apath in model.memory.contexts(key):
        return apath, model.cluster_of(source), model.memory.depth(key) or 0
    return UNKNOWN_APATH, model.cluster_of(0), model.memory.depth(key) or 0
