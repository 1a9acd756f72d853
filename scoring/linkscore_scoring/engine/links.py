"""Links and fetches as a site takes them: tickets, batches for policies, fetches without session ids."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.columns import Repeated, picking
from linkscore_scoring.engine.events import PageFetched
from linkscore_scoring.engine.limits import SiteLimits, with_skips
from linkscore_scoring.engine.results import ScoredLinks
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.hashing import hash_of, hashes_of
from linkscore_scoring.pagination.page_links import page_links_of, with_page_links
from linkscore_scoring.policies.answers import KnownUrl
from linkscore_scoring.policies.base import Policy, any_part
from linkscore_scoring.site.model import Fetch, SiteModel
from linkscore_scoring.types import (
    UNKNOWN_CLUSTER,
    UNKNOWN_LINK_PATH,
    LinkBatch,
    PageObservation,
    links_of_page,
)
from linkscore_scoring.urls.session_ids import SessionIds

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

    `site`: 64-bit hash of the name of the site whose model scored the link; 0 if not known. `source`:
    identity hash of the page the link stands on; its cluster is looked up by it, so that tickets given out
    before learning profit from it. `link_path`: 64-bit id of the raw link path. `cluster`: persistent cluster
    of the source page when the ticket was written, for sources that were forgotten. `depth`: clicks from a
    seed to the link's target, 0..65535. `revision`: revision of the site model that wrote the ticket.
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

    `key`: secret of the store, at most 64 bytes; all servers over one store share it. `crawl`: name of the
    crawl; its tickets are foreign to every other.
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


_Context = tuple[int, int, int]
"""Link path, source cluster and depth of a link."""


@dataclass(frozen=True, slots=True)
class AskedLinks:
    """Links that are asked about, as columns of equal length.

    `urls`, `keys`: absolute URLs, and their identities. `tickets`: tickets as they were sent, empty if there
    is none. `anchors`: anchor texts; empty if unknown.
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

    `model`: the site that scores them. `links`: the links. `tickets`: what their distinct tickets say.
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
    limits: SiteLimits,
    spent: bool,
) -> ScoredLinks:
    """Score the links of a page that the site knows, and write their tickets.

    `page`: its features; None if there is no page. All its links are scored, in scope or not. `depth`,
    `cluster`: of the page. `limits`, `spent`: of the site, and whether the crawl as a whole stops.
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
    reasons = limits.judge(batch, model, spent=spent, page=page) if limits.is_set else None
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
        url_types=with_page_links(scored.url_types, fetch.page_links),
        skip_reasons=reasons,
        duplicates=limits.duplicates(batch, model),
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


def strip_session_ids(event: PageFetched, sessions: SessionIds) -> PageFetched:
    """Return a fetch whose URLs and identities carry no session id, the same one if there is none.

    Answers go by the rows of links, so a crawler's URLs stay as they are. What was remembered before a name
    was known to be of session ids keeps its identity. Cost O(characters).
    """
    requested, url = sessions.strip(event.requested_key), sessions.strip(event.url)
    features = _stripped(event.features, sessions) if event.features is not None else None
    if (requested, url) == (event.requested_key, event.url) and features is event.features:
        return event
    return replace(event, url=url, requested_key=requested, features=features)


def _stripped(features: PageFeatures, sessions: SessionIds) -> PageFeatures:
    before = [features.key, features.canonical_key, features.moved_to]
    own = sessions.strip_all(before)
    links = features.links
    keys = sessions.strip_all(links.keys)
    if keys == links.keys and own == before:
        return features
    links = replace(links, keys=keys, urls=sessions.strip_all(links.urls))
    url = sessions.strip(features.url)
    key, canonical_key, moved_to = own
    return replace(features, url=url, key=key, canonical_key=canonical_key, moved_to=moved_to, links=links)


def fetch_of(
    event: PageFetched,
    seq: int,
    ticket: Ticket,
    *,
    is_own_ticket: bool,
    site_of: Callable[[str], str] | None,
    seed: int,
) -> Fetch:
    """Return a fetch by what its event and the ticket of the link that led there say.

    `event`: the event, without session ids. `seq`: number of the event, or of the latest one for a question.
    `ticket`, `is_own_ticket`: the ticket, and whether the model of this site wrote it. `site_of`: scheme and
    host of a URL -> site, to tell which links belong to the crawl; None if all do. `seed`: seed of the crawl.
    """
    features = event.features
    return Fetch(
        seq=seq,
        url=event.url,
        key=hash_of(features.key) if features else hash_of(event.requested_key),
        requested=hash_of(event.requested_key),
        requested_key=event.requested_key,
        canonical=hash_of(features.canonical_key or features.key) if features else 0,
        features=features,
        link_keys=hashes_of(features.links.keys) if features else [],
        in_scope=_in_scope(features.links.urls, event.site, site_of) if features else [],
        page_links=page_links_of(features.url, features.links) if features else [],
        source=ticket.source if is_own_ticket else 0,
        link_path=ticket.link_path if is_own_ticket else UNKNOWN_LINK_PATH,
        depth=None if ticket is NO_TICKET else ticket.depth,
        seed=seed,
        now_s=event.now_s,
        status_code=event.status_code,
    )


# Characters before the host at most, those of "https://": the first slash behind them ends it.
_HOST_AT = 8


def _in_scope(urls: Sequence[str], site: str, site_of: Callable[[str], str] | None) -> list[int]:
    """Return the rows of the links that belong to the crawl; the site of each host is looked up once."""
    if site_of is None:
        return [row for row, url in enumerate(urls) if url]
    roots: dict[str, bool] = {}
    rows = []
    own = " "  # the latest root that belongs to the crawl, which most links share; no URL begins so
    for row, url in enumerate(urls):
        if url.startswith(own):
            rows.append(row)
            continue
        end = url.find("/", _HOST_AT)
        root = url if end < 0 else url[:end]
        if root not in roots:
            roots[root] = bool(root) and site_of(root) == site
        if roots[root]:
            rows.append(row)
            own = f"{root}/"
    return rows


def preview(fetch: Fetch, model: SiteModel, cluster: int) -> PageObservation:
    """Return the observation of a page that is only asked about; changes nothing. Cost O(links).

    What the site learns by taking a page in stays at its default: novel text, links seen first.
    """
    page = PageObservation(
        seq=fetch.seq,
        key=fetch.key,
        url=fetch.url,
        requested=fetch.requested,
        depth=model.memory.depth(fetch.requested) or 0,
        pattern=model.pattern_of(fetch.requested, fetch.requested_key),
        contexts=model.memory.contexts(fetch.requested),
        failed=fetch.features is None,
        refetch=model.memory.is_fetched(fetch.key),
        cluster=cluster,
    )
    if fetch.features is not None:
        _add_content(page, fetch, fetch.features, model)
    return page


def _add_content(page: PageObservation, fetch: Fetch, features: PageFeatures, model: SiteModel) -> None:
    links, rows = features.links, fetch.in_scope
    pick = picking(rows)
    keys = pick(fetch.link_keys)
    ids = [model.link_paths.find(raw).id for raw in links.link_path_table]
    page.links = links_of_page(
        pick(links.urls),
        keys,
        [ids[at] for at in pick(links.link_paths)],
        model.patterns_of(keys, pick(links.keys)),
        pick(links.anchors),
        source=page.cluster,
        depth=page.depth + 1,
    )
    page.blocks_before, page.rels = pick(links.blocks_before), pick(links.rels)
    page.fresh, page.first_here = [False] * len(rows), [False] * len(rows)
    page.layout = features.layout
    page.paths, page.is_copy = features.paths, fetch.canonical not in (fetch.key, fetch.requested)
    page.long_chars = sum(features.block_chars)
