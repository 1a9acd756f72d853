"""A page as policies would see it, without the site taking it in."""

from __future__ import annotations

from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.site.fetch import Fetch
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import PageObservation, layout_of_rows, links_of_page


def as_seen(fetch: Fetch, model: SiteModel, cluster: int) -> PageObservation:
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
    keys = [fetch.link_keys[row] for row in rows]
    ids = [model.apaths.find(raw).id for raw in links.apath_table]
    page.links = links_of_page(
        [links.urls[row] for row in rows],
        keys,
        [ids[links.apaths[row]] for row in rows],
        model.patterns_of(keys, [links.keys[row] for row in rows]),
        [links.anchors[row] for row in rows],
        source=page.cluster,
        depth=page.depth + 1,
    )
    page.blocks_before = [links.blocks_before[row] for row in rows]
    page.rels = [links.rels[row] for row in rows]
    page.fresh, page.first_here = [False] * len(rows), [False] * len(rows)
    page.layout = layout_of_rows(features.layout, rows) if features.layout is not None else None
    page.paths, page.is_copy = features.paths, fetch.canonical not in (fetch.key, fetch.requested)
    page.long_chars = sum(features.block_chars)
