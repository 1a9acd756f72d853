"""Features of pages that a crawler parsed itself, in the same form as those extracted here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from linkscore_scoring.errors import InvalidPage
from linkscore_scoring.features.html import MAX_LINKS_CHARS, PageApaths
from linkscore_scoring.features.markup import MAX_APATH_CHARS, MAX_NAME_CHARS, class_tokens, rel_tokens
from linkscore_scoring.features.types import Limits, Links, PageFeatures, PathTrie
from linkscore_scoring.features.walk import BLOCK_CHARS, MAX_PATH_CHARS
from linkscore_scoring.hashing import hash_block
from linkscore_scoring.urls.identity import validate_url
from linkscore_scoring.urls.resolve import UrlResolver

MAX_TAG_PATHS_CHARS = 2_000_000
"""Characters of the tag paths of a page as sent: 20,000 paths of 100, far more than a page has; chosen."""

# Characters of an anchor text that are looked at, over those that are kept: white space may stand between.
_ANCHOR_SLACK = 20

_ELEMENT = re.compile(r"([^/\[\]]+)(?:\[([^\]]*)\])?")


@dataclass(frozen=True, slots=True)
class ExtractedLink:
    """A link as a crawler found it: href as written, anchor text, tag path and rel, empty if unknown."""

    url: str
    anchor: str = ""
    tag_path: str = ""
    rel: str = ""


def page_from_extracted(
    url: str,
    tag_paths: Sequence[str],
    counts: Sequence[int],
    text_blocks: Sequence[str],
    canonical_url: str,
    *,
    limits: Limits,
) -> PageFeatures:
    """Return the features of a page from its tag paths and long text blocks.

    Parameters
    ----------
    url
        Final absolute URL.
    tag_paths, counts
        Distinct root-to-leaf paths such as ``html/body[home]/div/text()`` and how often each occurs, same
        length.
    text_blocks
        Texts outside anchors; those under 25 characters are passed over.

    Raises
    ------
    InvalidPage
        If the URL, a path or the number of paths is not usable.
    """
    if len(tag_paths) > limits.path_nodes:
        rule = f"must have at most {limits.path_nodes} entries, got {len(tag_paths)}"
        raise InvalidPage(rule, field="extracted.tag_paths", reason="TOO_MANY_ITEMS")
    for field, texts, most in (
        ("tag_paths", tag_paths, MAX_TAG_PATHS_CHARS),
        ("text_blocks", text_blocks, limits.body_bytes),
    ):
        if (chars := sum(map(len, texts))) > most:
            rule = f"must have at most {most} characters together, got {chars}"
            raise InvalidPage(rule, field=f"extracted.{field}", reason="TOO_MANY_ITEMS")
    page = PageFeatures(url, validate_url(url, "url", max_chars=limits.url_chars, error=InvalidPage))
    page.paths = _trie(tag_paths, counts, limits)
    blocks = [text for text in (" ".join(block.split()) for block in text_blocks) if len(text) >= BLOCK_CHARS]
    page.block_hashes = [hash_block(text) for text in blocks]
    page.block_chars = [len(text) for text in blocks]
    page.text_chars = sum(map(len, text_blocks))
    if canonical_url:
        resolved = UrlResolver(url).resolve(canonical_url)
        page.canonical_key = resolved[1] if isinstance(resolved, tuple) else ""
    return page


def with_links(page: PageFeatures, given: Sequence[ExtractedLink], *, limits: Limits) -> PageFeatures:
    """Return the page with the crawler's links instead of its own, one row per usable link in input order.

    Links that name no crawlable URL are counted in `Links.skipped` by reason and leave a row with empty URL,
    so that rows and input keep step. A layout is of the page's own links: it is dropped. Tag paths are cut at
    `MAX_APATH_CHARS`, and links from where their URLs have more than `MAX_LINKS_CHARS` together.
    """
    links, table, chars = Links(), PageApaths(), 0
    resolver = UrlResolver(page.url, max_chars=limits.url_chars)
    for link in given[: limits.links]:
        found = resolver.resolve(link.url)
        chars += len(found[0]) if isinstance(found, tuple) else 0
        if chars > MAX_LINKS_CHARS:
            break
        if not isinstance(found, tuple):
            links.skipped[found] = links.skipped.get(found, 0) + 1
            found = ("", "")
        links.urls.append(found[0])
        links.keys.append(found[1])
        anchor = link.anchor[: _ANCHOR_SLACK * limits.anchor_chars]
        links.anchors.append(" ".join(anchor.split())[: limits.anchor_chars])
        links.rels.append(rel_tokens(link.rel))
        links.apaths.append(table.row(link.tag_path[:MAX_APATH_CHARS]))
        links.blocks_before.append(0)
    links.apath_table = table.texts
    cuts = {"links_cut": len(links) < len(given), "apaths_cut": table.is_cut}
    notes = [*page.notes, *(note for note, cut in cuts.items() if cut)]
    return replace(page, links=links, notes=notes, layout=None)


def _trie(tag_paths: Sequence[str], counts: Sequence[int], limits: Limits) -> PathTrie:
    trie, known, chars = PathTrie(), dict[tuple[int, str, str], int](), 0
    for i, (path, count) in enumerate(zip(tag_paths, counts, strict=True)):
        node = -1
        steps = path.strip("/").split("/")
        if len(steps) > limits.depth:
            raise InvalidPage(
                f"must have at most {limits.depth} elements, got {len(steps)}",
                field=f"extracted.tag_paths[{i}]",
            )
        for step in steps:
            found = _ELEMENT.fullmatch(step)
            if found is None:
                rule = f"must be elements like div[class tokens] joined by /, got {path[:100]!r}"
                raise InvalidPage(rule, field=f"extracted.tag_paths[{i}]")
            nodes = len(trie.tags)
            node = _node(trie, known, node, found[1][:MAX_NAME_CHARS].lower(), class_tokens(found[2] or ""))
            chars += len(trie.tags[node]) + len(trie.classes[node]) if len(trie.tags) > nodes else 0
        if chars > MAX_PATH_CHARS or len(trie.tags) > limits.path_nodes:
            rule = f"must have at most {limits.path_nodes} distinct elements of {MAX_PATH_CHARS} characters"
            raise InvalidPage(rule, field="extracted.tag_paths", reason="TOO_MANY_ITEMS")
        trie.leaves[node] += count
    return trie


def _node(trie: PathTrie, known: dict[tuple[int, str, str], int], parent: int, tag: str, classes: str) -> int:
    name = (parent, tag, classes)
    if name not in known:
        known[name] = len(trie.tags)
        trie.parents.append(parent)
        trie.tags.append(tag)
        trie.classes.append(classes)
        trie.leaves.append(0)
    return known[name]
