"""A fetch as a site takes it in: without session ids, with its links told apart, or only previewed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from linkscore_scoring.columns import picking
from linkscore_scoring.engine.events import PageFetched
from linkscore_scoring.engine.link_batches import hash_of, hashes_of
from linkscore_scoring.engine.tickets import NO_TICKET, Ticket
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.pagination.page_links import page_links_of
from linkscore_scoring.site.fetch import Fetch
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import UNKNOWN_LINK_PATH, PageObservation, layout_of_rows, links_of_page
from linkscore_scoring.urls.session_ids import SessionIds


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

    Parameters
    ----------
    event
        The event, without session ids.
    seq
        Number of the event, or of the latest one for a question.
    ticket, is_own_ticket
        The ticket, and whether the model of this site wrote it.
    site_of
        Scheme and host of a URL -> site, to tell which links belong to the crawl; None if all do.
    seed
        Seed of the crawl.
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
    page.layout = layout_of_rows(features.layout, rows) if features.layout is not None else None
    page.paths, page.is_copy = features.paths, fetch.canonical not in (fetch.key, fetch.requested)
    page.long_chars = sum(features.block_chars)
