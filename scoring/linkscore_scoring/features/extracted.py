"""Features of pages that a crawler parsed itself, in the same form as those extracted here."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle

from linkscore_scoring.errors import InvalidPage
from linkscore_scoring.features.html import MAX_LINKS_CHARS, PageLinkPaths
from linkscore_scoring.features.types import Limits, Links, PageFeatures, PathTrie, Words
from linkscore_scoring.features.walk import (
    BLOCK_CHARS,
    MAX_LINK_PATH_CHARS,
    MAX_NAME_CHARS,
    MAX_PATH_CHARS,
    class_tokens,
    rel_tokens,
)
from linkscore_scoring.features.words import words_of_texts
from linkscore_scoring.hashing import hash_block
from linkscore_scoring.urls.identity import UrlResolver, validate_url

MAX_TAG_PATHS_CHARS = 2_000_000
"""Characters of the tag paths of a page as sent: 20,000 paths of 100, far more than a page has; chosen."""

# Characters of an anchor text that are looked at, over those that are kept: white space may stand between.
_ANCHOR_SLACK = 20

# A name without blanks: what learns from paths separates tokens by them.
_ELEMENT = re.compile(r"([^\s/\[\]]+)(?:\[([^\]]*)\])?")


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
    words: Words = Words.NONE,
) -> PageFeatures:
    """Return the features of a page from its tag paths and long text blocks.

    `url`: final absolute URL. `tag_paths`, `counts`: distinct root-to-leaf paths such as
    ``html/body[home]/div/text()`` and how often each occurs, same length. `text_blocks`: texts outside
    anchors; those under 25 characters are passed over. `words`: what to read of the words of the text
    blocks; title, headings and anchors are not known.

    Raises `InvalidPage`: if the URL, a path or the number of paths is not usable.
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
    if words:
        page.words = words_of_texts("", "", *blocks, read=words)
    if canonical_url:
        resolved = UrlResolver(url).resolve(canonical_url)
        page.canonical_key = resolved[1] if isinstance(resolved, tuple) else ""
    return page


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
        chars += len(found[0]) if isinstance(found, tuple) else 0
        if chars > max_chars:
            break
        if not isinstance(found, tuple):
            links.skipped[found] = links.skipped.get(found, 0) + 1
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
    links.link_path_table = table.texts
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
            name = (node, found[1][:MAX_NAME_CHARS].lower(), class_tokens(found[2] or ""))
            node = known.setdefault(name, len(trie.tags))
            if node == len(trie.tags):
                trie.parents.append(name[0])
                trie.tags.append(name[1])
                trie.classes.append(name[2])
                trie.leaves.append(0)
                chars += len(name[1]) + len(name[2])
        if chars > MAX_PATH_CHARS or len(trie.tags) > limits.path_nodes:
            rule = f"must have at most {limits.path_nodes} distinct elements of {MAX_PATH_CHARS} characters"
            raise InvalidPage(rule, field="extracted.tag_paths", reason="TOO_MANY_ITEMS")
        trie.leaves[node] += count
    return trie
