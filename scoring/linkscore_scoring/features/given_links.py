"""Links that a crawler found itself, in the same form as those extracted here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle

from linkscore_scoring.features.html import MAX_LINKS_CHARS, PageLinkPaths
from linkscore_scoring.features.types import Limits, Links, PageFeatures
from linkscore_scoring.features.walk import (
    MAX_LINK_PATH_CHARS,
    rel_tokens,
)
from linkscore_scoring.urls.identity import UrlResolver

# Characters of an anchor text that are looked at, over those that are kept: white space may stand between.
_ANCHOR_SLACK = 20


@dataclass(frozen=True, slots=True)
class ExtractedLink:
    """A link as a crawler found it: href as written, anchor text, tag path and rel, empty if unknown."""

    url: str
    anchor: str = ""
    tag_path: str = ""
    rel: str = ""


def with_links(
    page: PageFeatures,
    given: Sequence[ExtractedLink],
    *,
    limits: Limits,
    max_chars: int = MAX_LINKS_CHARS,
) -> PageFeatures:
    """Return the page with the crawler's links instead of its own, one row per link in input order.

    A link without a tag path takes its place from the anchor of the page that leads to the same URL, if the
    page was read from its body: tag path, text block, record, and what was not sent of anchor text and
    ``rel``. Of several anchors it takes one of the same text, the first if none has it; a URL that is sent
    as often as it stands on the page takes them in turn.

    Links that name no crawlable URL are counted in `Links.skipped` by reason and leave a row with empty URL,
    so that rows and input keep step. Tag paths are cut at `MAX_LINK_PATH_CHARS`, and links from where their
    URLs have more than `max_chars` together.

    Examples
    --------
    >>> from linkscore_scoring.features.html import extract
    >>> page = extract(b"<ul><li><a href='/p?b=1&a=2'>More</a></ul>", url="http://a.example/")
    >>> links = with_links(page, [ExtractedLink("http://a.example:80/p?a=2&b=1#x")], limits=Limits()).links
    >>> links.link_path_table, links.anchors
    (['html/body/ul/li/a[]'], ['More'])
    """
    links, table, chars = Links(), PageLinkPaths(), 0
    resolver = UrlResolver(page.url, max_chars=limits.url_chars)
    turns = _turns(page.links)
    for link in given[: limits.links]:
        found = resolver.resolve(link.url)
        chars += len(found[0])
        if chars > max_chars:
            break
        if not found[0]:
            links.skipped[found[1]] = links.skipped.get(found[1], 0) + 1
            found = ("", "")
        links.urls.append(found[0])
        links.keys.append(found[1])
        text = " ".join(link.anchor[: _ANCHOR_SLACK * limits.anchor_chars].split())[: limits.anchor_chars]
        rel, link_path, blocks = rel_tokens(link.rel), link.tag_path[:MAX_LINK_PATH_CHARS], 0
        if not link.tag_path and found[1]:
            rows = (turns.get((found[1], text)) if text else None) or turns.get((found[1], None))
            if rows is not None:
                at, own = next(rows), page.links
                text, rel, blocks = text or own.anchors[at], rel or own.rels[at], own.blocks_before[at]
                link_path = own.link_path_table[own.link_paths[at]]
        links.anchors.append(text)
        links.rels.append(rel)
        links.link_paths.append(table.row(link_path))
        links.blocks_before.append(blocks)
    links.link_path_table = list(table)
    cuts = {"links_cut": len(links) < len(given), "apaths_cut": table.is_cut}
    notes = [*page.notes, *(note for note, cut in cuts.items() if cut)]
    return replace(page, links=links, notes=notes)


def _turns(links: Links) -> dict[tuple[str, str | None], Iterator[int]]:
    """Return the rows of each URL, and those of each URL and text, to be taken in turn for ever."""
    rows: defaultdict[tuple[str, str | None], list[int]] = defaultdict(list)
    for row, (key, text) in enumerate(zip(links.keys, links.anchors, strict=True)):
        rows[key, None].append(row)
        rows[key, text].append(row)
    return {name: cycle(found) for name, found in rows.items()}
