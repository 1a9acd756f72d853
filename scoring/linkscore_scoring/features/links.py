"""The anchors of a page as columns of resolved links."""

from __future__ import annotations

from linkscore_scoring.features.types import Limits, Links
from linkscore_scoring.features.walk import PageWalk
from linkscore_scoring.urls.resolve import UrlResolver

MAX_APATHS = 2_000
"""Distinct Apaths told apart on one page."""

_OTHER_APATH = "a[]"


def outlinks(walk: PageWalk, resolver: UrlResolver, limits: Limits) -> tuple[Links, list[int], list[str]]:
    """Return the links of a page, the number of each one's anchor among all of the page, and which of
    ``links_cut`` and ``apaths_cut`` applied.
    """
    links = Links()
    table: dict[str, int] = {}
    rows: dict[int, int] = {}
    columns = zip(walk.nodes, walk.anchor_texts(), walk.blocks_before(), strict=True)
    numbers: list[int] = []
    anchors = walk.anchors[: limits.links]
    for number, (tag, (node, text, blocks)) in enumerate(zip(anchors, columns, strict=False)):
        answer = resolver.resolve(tag.href)
        if isinstance(answer, str):
            links.skipped[answer] = links.skipped.get(answer, 0) + 1
            continue
        if node not in rows:
            apath = walk.paths.apath(node, limits.depth) if len(table) < MAX_APATHS else _OTHER_APATH
            rows[node] = table.setdefault(apath, len(table))
        numbers.append(number)
        links.urls.append(answer[0])
        links.keys.append(answer[1])
        links.anchors.append(text)
        links.rels.append(tag.rel)
        links.apaths.append(rows[node])
        links.blocks_before.append(blocks)
    links.apath_table = list(table)
    cuts = {"links_cut": len(walk.anchors) > limits.links, "apaths_cut": len(table) > MAX_APATHS}
    return links, numbers, [note for note, cut in cuts.items() if cut]
