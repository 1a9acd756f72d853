"""Features of pages that a crawler parsed itself, in the same form as those extracted here."""

from __future__ import annotations

import re
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
from linkscore_scoring.urls.identity import validate_url
from linkscore_scoring.urls.resolve import UrlResolver

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
    anchors, places = _Anchors(page.links), list[int]()
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
        place = -1 if link.tag_path else anchors.take(found[1], text)
        known = place >= 0
        links.anchors.append(text or (page.links.anchors[place] if known else ""))
        links.rels.append(rel_tokens(link.rel) or (page.links.rels[place] if known else ""))
        link_path = (
            page.links.link_path_table[page.links.link_paths[place]]
            if known
            else link.tag_path[:MAX_LINK_PATH_CHARS]
        )
        links.link_paths.append(table.row(link_path))
        links.blocks_before.append(page.links.blocks_before[place] if known else 0)
        places.append(place)
    links.link_path_table = table.texts
    cuts = {"links_cut": len(links) < len(given), "apaths_cut": table.is_cut}
    notes = [*page.notes, *(note for note, cut in cuts.items() if cut)]
    return replace(page, links=links, notes=notes)


class _Anchors:
    """Finds the anchor of a page that a crawler's link was made from."""

    def __init__(self, links: Links) -> None:
        self._links = links
        self._by_key = _turns(links.keys, links.anchors)

    def take(self, key: str, text: str) -> int:
        """Return the row of the anchor, -1 if the page has none; several rows come in turn."""
        if not key or not self._by_key:
            return -1
        return _next(self._by_key, key, text)


def _turns(names: Sequence[str], texts: Sequence[str]) -> dict[tuple[str, str | None], Iterator[int]]:
    """Return the rows of each name, and those of each name and text, to be taken in turn for ever."""
    rows: dict[tuple[str, str | None], list[int]] = {}
    for row, (name, text) in enumerate(zip(names, texts, strict=True)):
        rows.setdefault((name, None), []).append(row)
        rows.setdefault((name, text), []).append(row)
    return {name: cycle(found) for name, found in rows.items()}


def _next(turns: dict[tuple[str, str | None], Iterator[int]], name: str, text: str) -> int:
    rows = (turns.get((name, text)) if text else None) or turns.get((name, None))
    return -1 if rows is None else next(rows)


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
