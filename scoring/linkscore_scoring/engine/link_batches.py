"""Links as the batches that policies score, one per site, and the scores of those a site knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.columns import Repeated, picking
from linkscore_scoring.engine.limits import SiteLimit, duplicates, judged, with_skips
from linkscore_scoring.engine.results import ScoredLinks
from linkscore_scoring.engine.tickets import NO_TICKET, Ticket, TicketBook
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.hashing import hash64
from linkscore_scoring.pagination.page_links import with_page_links
from linkscore_scoring.policies.answers import KnownUrl
from linkscore_scoring.policies.base import Policy, any_part
from linkscore_scoring.site.fetch import Fetch
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import UNKNOWN_LINK_PATH, LinkBatch, links_of_page

_Context = tuple[int, int, int]
"""Link path, source cluster and depth of a link."""

hash_of = lru_cache(maxsize=1 << 18)(hash64)
"""Identity hash of a text; the last ones are kept (a bound), since the same links stand on many pages."""


def hashes_of(texts: list[str]) -> list[int]:
    """Return `hash_of` of each text."""
    return list(map(hash_of, texts))


@dataclass(frozen=True, slots=True)
class AskedLinks:
    """Links that are asked about, as columns of equal length.

    Attributes
    ----------
    urls, keys
        Absolute URLs, and their identities.
    tickets
        Tickets as they were sent, empty if there is none.
    anchors
        Anchor texts; empty if unknown.
    """

    urls: Sequence[str]
    keys: Sequence[str]
    tickets: Repeated[bytes]
    anchors: Sequence[str]

    def __len__(self) -> int:
        return len(self.urls)

    def rows(self, rows: Sequence[int]) -> AskedLinks:
        """Return some of the links."""
        pick = picking(rows)
        tickets = Repeated.of(pick(list(self.tickets)))
        return AskedLinks(pick(self.urls), pick(self.keys), tickets, pick(self.anchors))


def batch_of(model: SiteModel, links: AskedLinks, tickets: Sequence[Ticket]) -> LinkBatch:
    """Return links with their context, from tickets or as the site remembers it.

    URLs and identities come without session ids.

    Parameters
    ----------
    model
        The site that scores them.
    links
        The links.
    tickets
        What their distinct tickets say.
    """
    contexts = [None if ticket is NO_TICKET else _context(model, 0, ticket) for ticket in tickets]
    own = model.sessions.strip_all(list(links.keys))
    hashes = hashes_of(own)
    rows = zip(links.tickets.places.tolist(), hashes, strict=True)
    known = [contexts[place] or _context(model, key, NO_TICKET) for place, key in rows]
    link_paths, sources, depths = map(list, zip(*known, strict=True)) if known else ([], [], [])
    patterns = model.patterns_of(hashes, own)
    urls = model.sessions.strip_all(list(links.urls))
    return LinkBatch(urls, hashes, link_paths, sources, depths, patterns, links.anchors)


def batch_of_known(model: SiteModel, found: Sequence[KnownUrl]) -> LinkBatch:
    """Return URLs that a policy named, with the context the site remembers; anchors are not remembered."""
    hashes, urls = [key for key, _ in found], [url for _, url in found]
    known = [_context(model, key, NO_TICKET) for key in hashes]
    return LinkBatch(
        urls,
        hashes,
        [link_path for link_path, _, _ in known],
        [source for _, source, _ in known],
        [depth for _, _, depth in known],
        model.patterns_of(hashes, urls),
        [""] * len(urls),
    )


def link_of(model: SiteModel, fetch: Fetch) -> LinkBatch | None:
    """Return the link that a fetch followed, one row, as known before; None for a seed or a repetition."""
    memory = model.memory
    own = [(fetch.source, fetch.link_path)] if fetch.link_path != UNKNOWN_LINK_PATH else []
    in_links = own or memory.contexts(fetch.requested)
    if not in_links or memory.is_fetched(fetch.requested):
        return None
    depth = memory.depth(fetch.requested)
    source, link_path = in_links[0]
    pattern = model.pattern_of(fetch.requested, fetch.requested_key)
    return LinkBatch(
        [fetch.requested_key],
        [fetch.requested],
        [link_path],
        [model.cluster_of(source)],
        [(fetch.depth or 0) if depth is None else depth],
        [pattern],
        [""],
    )


def score_page(
    model: SiteModel,
    policy: Policy,
    fetch: Fetch,
    page: PageFeatures | None,
    book: TicketBook,
    *,
    depth: int,
    cluster: int,
    limits: Mapping[str, SiteLimit],
    spent: bool,
) -> ScoredLinks:
    """Score the links of a page that the site knows, and write their tickets.

    Parameters
    ----------
    page
        Its features; None if there is no page. All its links are scored, in scope or not.
    depth, cluster
        Of the page.
    limits, spent
        Of the site, and whether the crawl as a whole stops.
    """
    if page is None or not page.links.urls:
        return ScoredLinks(np.zeros(0))
    links = page.links
    ids = [model.link_paths.find(raw).id for raw in links.link_path_table]
    batch = links_of_page(
        links.urls,
        fetch.link_keys,
        [ids[i] for i in links.link_paths],
        model.patterns_of(fetch.link_keys, links.keys),
        links.anchors,
        source=cluster,
        depth=depth + 1,
    )
    scored = policy.score(batch, model)
    reasons = judged(limits, batch, model, spent=spent, page=page) if limits else None
    page_links = model.pagination.without_denied(
        fetch.page_links, links.urls, model.link_paths.classless(batch.link_paths)
    )
    buckets = Repeated.of(scored.buckets)
    site, revision = hash_of(model.name), model.revision
    ticket = Ticket(site, fetch.key, UNKNOWN_LINK_PATH, cluster, depth + 1, revision)
    values = book.write_all(ticket, ids)
    inside = set(fetch.in_scope) if len(fetch.in_scope) < len(links) else None
    return ScoredLinks(
        scored.scores,
        [f"{model.name}/{name}" for name in buckets.distinct],
        buckets.places.tolist(),
        bucket_values(policy, model, buckets, scored.scores),
        values,
        links.link_paths,
        scored.verdicts if reasons is None else with_skips(scored.verdicts, reasons),
        None if inside is None else [row in inside for row in range(len(links))],
        stage=model.stage,
        url_types=with_page_links(scored.url_types, page_links),
        skip_reasons=reasons,
        duplicates=duplicates(limits, batch, model),
    )


def score_known(model: SiteModel, policy: Policy, found: Sequence[KnownUrl]) -> ScoredLinks:
    """Score URLs that a policy named; they keep the tickets they were given."""
    scored = policy.score(batch_of_known(model, found), model)
    buckets = Repeated.of(scored.buckets)
    return ScoredLinks(
        scored.scores,
        [f"{model.name}/{name}" for name in buckets.distinct],
        buckets.places.tolist(),
        bucket_values(policy, model, buckets, scored.scores),
        verdicts=scored.verdicts,
        stage=model.stage,
        url_types=scored.url_types,
    )


def bucket_values(
    policy: Policy, model: SiteModel, buckets: Repeated[str], scores: NDArray[np.float64]
) -> list[float]:
    """Return the value of each distinct bucket of scored links; free where a link is worth its bucket."""
    if any_part(type(policy), policy.params, "residual"):
        return [float(value) for value in policy.value(buckets.distinct, model)]
    of_last = np.zeros(len(buckets.distinct))
    of_last[buckets.places] = scores
    return of_last.tolist()


def _context(model: SiteModel, key: int, ticket: Ticket) -> _Context:
    """Return link path, source cluster and depth of a link: by its ticket, else remembered, else unknown."""
    if ticket is not NO_TICKET:
        return ticket.link_path, model.cluster_of(ticket.source, default=ticket.cluster), ticket.depth
    for source, link_path in model.memory.contexts(key):
        return link_path, model.cluster_of(source), model.memory.depth(key) or 0
    return UNKNOWN_LINK_PATH, model.cluster_of(0), model.memory.depth(key) or 0
