"""HTML to features: one parse by libxml2, one serialisation in C, one walk over its tags."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict
from threading import local

from lxml import etree

from linkscore_scoring.errors import InvalidPage
from linkscore_scoring.features.body import decompress, detect_charset, is_html, to_utf8
from linkscore_scoring.features.layouts import layout_reader
from linkscore_scoring.features.markup import (
    MAX_ALT_CHARS,
    MAX_CLASS_CHARS,
    MAX_LINK_PATH_CHARS,
    MAX_NAME_CHARS,
    MAX_REL_CHARS,
    SKIPPED_TAGS,
    TagTable,
)
from linkscore_scoring.features.outlinks import (
    MAX_LINK_PATHS,
    MAX_LINK_PATHS_CHARS,
    OTHER_LINK_PATH,
    Anchors,
    anchors_of,
    outlinks,
)
from linkscore_scoring.features.types import Head, Limits, PageFeatures, PathTrie, Words
from linkscore_scoring.features.walk import BLOCK_CHARS, MAX_PATH_CHARS, PageWalk, cut_tags
from linkscore_scoring.features.words import page_words
from linkscore_scoring.hashing import hash_block
from linkscore_scoring.kernels import KERNELS, Kernels
from linkscore_scoring.urls.identity import is_plain, validate_url
from linkscore_scoring.urls.resolve import UrlCache, UrlResolver

MAX_REMEMBERED = 60_000
"""Distinct tags and steps remembered between pages: a bound of memory, chosen and not measured."""

MAX_ATTRIBUTES = 1_000
"""Attributes of a tag, from which on it loses all: libxml2 appends them to a linked list, so that many take
quadratic time. Chosen, not measured."""

# Pages smaller than this are not searched: 8,000 attributes take 4 ms.
_CROWDED_BYTES = 16_384

MAX_TITLE_CHARS = 200
"""Characters of a title that are kept: a bound, chosen."""
_TITLE_WITHIN_BYTES = _CROWDED_BYTES
"""First bytes of a page in which its title is looked for: all of 1,779 stored ones have it there."""
_ATTRIBUTE = rb"[\s/]*+[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s>\"'][^\s>]*+)?+)?+"
# Whole tags, one after the other and never one inside of another, so that each byte is read once. What has no
# tags in it (comments, scripts) is passed over as a tokenizer does.
_TAG = re.compile(
    rb"<(?:!--(?:-?>|.*?(?:-->|--!>|\Z))"
    rb"|(script|style|title|textarea|xmp|iframe|noembed|noframes)(?=[\s/>])(?:"
    + _ATTRIBUTE
    + rb")*+.*?(?:</\1|\Z)"
    rb"|[a-zA-Z][^\s/>]*+(?:" + _ATTRIBUTE + rb")*+)",
    re.DOTALL | re.IGNORECASE,
)
_CROWDED_TAG = re.compile(
    rb"<([a-zA-Z][^\s/>]*+)((?:" + _ATTRIBUTE + rb"){%d,}+)" % MAX_ATTRIBUTES, re.DOTALL
)
# A name and what separates it from the next: so long is the shortest tag that is crowded, at least.
_CROWDED_TAG_BYTES = 2 * MAX_ATTRIBUTES
_QUOTED_TAG_END = re.compile(rb"=\s*+(?:\"[^\">]*+>|'[^'>]*+>)")
_TAG_START = re.compile(rb"<[a-zA-Z]")


class Extractor:
    """Turns pages into features, and remembers what the pages of a site have in common, which makes it fast.

    One thread at a time may use an extractor; what it gives does not depend on the pages it saw before.

    Parameters
    ----------
    limits
        Bounds for every page.
    max_remembered
        Tags remembered between pages, or steps and paths by the compiled reader; above it the extractor
        forgets them all.
    kernels
        Read what they can; those of this process unless others are given.
    on_left
        Called with the reason for each page that a compiled reader leaves to this one; what it
        raises ends the reading.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        max_remembered: int = MAX_REMEMBERED,
        kernels: Kernels = KERNELS,
        on_left: Callable[[str], None] = lambda reason: None,
    ) -> None:
        self.limits = limits or Limits()
        self.max_remembered = max_remembered
        self._urls = UrlCache()
        self._tags = TagTable()
        self._parser = etree.HTMLParser(
            encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True, no_network=True
        )
        self._on_left = on_left
        bounds = kernel_bounds(self.limits, max_remembered)
        self._compiled = None if kernels.reader is None else kernels.reader(bounds)

    def extract(
        self,
        body: bytes,
        *,
        url: str,
        content_type: str = "",
        content_encoding: str = "",
        layout: bool = False,
        words: Words = Words.NONE,
        title: bool = False,
    ) -> PageFeatures:
        """Return the features of one page; see `extract`."""
        features = PageFeatures(
            url, validate_url(url, "url", max_chars=self.limits.url_chars, error=InvalidPage)
        )
        raw = decompress(body, content_encoding, max_bytes=self.limits.body_bytes)
        if not is_html(raw, content_type):
            features.notes.append("not_html")
            return features
        features.charset = detect_charset(raw, content_type)
        markup, broken = to_utf8(raw, features.charset)
        if broken:
            features.notes.append("decode_errors")
        if not self._read_compiled(markup, features, layout=layout):
            self._read_purely(markup, features, layout=layout)
        if words and (root := self._parse(markup, features)) is not None:
            chars = features.text_chars + features.anchor_chars
            features.words = page_words(root, words, in_anchors=features.anchor_chars / max(1, chars))
        if title:
            features.title = self._title(markup)
        return features

    def _title(self, markup: bytes) -> str:
        """Return the text of `<title>`; whichever reader reads the rest, so that both give the same."""
        try:
            root = etree.fromstring(markup[:_TITLE_WITHIN_BYTES], self._parser)
        except etree.XMLSyntaxError:
            return ""
        text = "" if root is None else root.findtext("head/title") or ""
        return " ".join(text.split())[:MAX_TITLE_CHARS]

    def _read_compiled(self, markup: bytes, features: PageFeatures, *, layout: bool) -> bool:
        """Fill the features from a page, or say that this is left to Python."""
        if self._compiled is None:
            return False
        measured = layout_reader() if layout else None
        found = self._compiled(markup, measured is not None)
        if isinstance(found, str):
            self._on_left(found)
            return False
        if found["is_empty"]:
            features.notes.append("empty")
            return True
        features.paths = PathTrie(*found["paths"])
        for name in ("text_chars", "anchor_chars", "block_hashes", "block_chars"):
            setattr(features, name, found[name])
        head = Head(found["base"], found["canonical"], found["nofollow"])
        cuts = [cut for cut in ("elements_cut", "depth_cut", "paths_cut") if found[cut]]
        numbers = self._add_links(features, Anchors(*found["anchors"]), head, cuts)
        if measured is not None:
            features.layout = measured.of_outline(found["outline"], features, numbers)
        return True

    def _read_purely(self, markup: bytes, features: PageFeatures, *, layout: bool) -> None:
        root = self._parse(markup, features)
        if root is None:
            features.notes.append("empty")
        else:
            self._read(root, features, layout=layout)

    def _parse(self, markup: bytes, features: PageFeatures) -> etree._Element | None:
        if len(markup) > _CROWDED_BYTES:
            thinned = without_crowds(markup)
            if len(thinned) < len(markup):
                markup = thinned
                if "attributes_cut" not in features.notes:  # a page whose words are read is parsed again
                    features.notes.append("attributes_cut")
        try:
            return etree.fromstring(markup, self._parser)
        except etree.XMLSyntaxError:
            return None

    def _read(self, root: etree._Element, features: PageFeatures, *, layout: bool) -> None:
        head = read_head(root)
        etree.strip_elements(root, *SKIPPED_TAGS, with_tail=False)
        if len(self._tags) > self.max_remembered:
            self._tags = TagTable()
        walk = PageWalk(self._tags, self.limits)
        # A doctype of XHTML would make libxml2 write empty elements as full ones.
        root.getroottree().docinfo.clear()
        markup = etree.tostring(root, encoding="unicode", with_tail=False)
        walk.read(markup)
        features.text_chars = sum(map(len, walk.texts))
        features.anchor_chars = walk.anchor_chars()
        blocks = [text for text in walk.texts if len(text) >= BLOCK_CHARS]
        features.block_chars = list(map(len, blocks))
        features.block_hashes = list(map(hash_block, blocks))
        features.paths, paths_cuts = walk.paths.trie(self.limits)
        cuts = ["elements_cut", *paths_cuts] if walk.elements_cut else paths_cuts
        numbers = self._add_links(features, anchors_of(walk, self.limits), head, cuts)
        if layout and (reader := layout_reader()) is not None:
            cut = cut_tags(markup, self.limits)[0]
            features.layout = reader.of_tags(cut, self._tags, features, numbers)

    def _add_links(self, features: PageFeatures, anchors: Anchors, head: Head, cuts: list[str]) -> list[int]:
        """Add the links of a page and what was cut, and return the number of each link's anchor."""
        features.links, numbers, links_cut = outlinks(anchors, self._resolver_of(features, head))
        links_cuts = {"links_cut": links_cut, "apaths_cut": anchors.link_paths_cut}
        features.notes += cuts + [note for note, cut in links_cuts.items() if cut]
        return numbers

    def _resolver_of(self, features: PageFeatures, head: Head) -> UrlResolver:
        """Note what the head of a page says, and return what resolves its links."""
        features.nofollow = head.nofollow
        resolver = self._resolver(features.url, features.charset)
        if head.base:
            base = resolver.resolve(head.base)
            if not isinstance(base, str):
                resolver = self._resolver(base[0], features.charset)
        if head.canonical == features.url and is_plain(features.url):  # as pages are, mostly
            features.canonical_key = features.key
        elif head.canonical:
            canonical = resolver.resolve(head.canonical)
            features.canonical_key = "" if isinstance(canonical, str) else canonical[1]
        return resolver

    def _resolver(self, base_url: str, charset: str) -> UrlResolver:
        return UrlResolver(base_url, max_chars=self.limits.url_chars, charset=charset, cache=self._urls)


def extract(
    body: bytes,
    *,
    url: str,
    content_type: str = "",
    content_encoding: str = "",
    limits: Limits | None = None,
    layout: bool = False,
    words: Words = Words.NONE,
    title: bool = False,
) -> PageFeatures:
    """Return the features of one fetched page, from its bytes.

    Displayed leaves are non-blank texts, ``img`` and ``a`` with href; ``script``, ``style``, ``noscript``,
    ``template``, ``head``, comments and processing instructions are not looked at. Links are ``a`` and
    ``area`` with href. Wrong charsets, broken markup and nesting of any depth never raise; what was cut or
    repaired is in `PageFeatures.notes`: ``not_html``, ``empty``, ``decode_errors``, ``attributes_cut``,
    ``elements_cut``, ``paths_cut``, ``depth_cut``, ``links_cut``, ``apaths_cut``.

    Parameters
    ----------
    body
        Bytes as fetched.
    url
        Absolute http(s) URL after redirects.
    content_type, content_encoding
        The HTTP headers, empty if unknown.
    limits
        Bounds of the extraction; `Limits` defaults.
    layout
        Whether to find records and link groups too, where something measures them (`features.layouts`);
        it costs two to three times as much again.
    words
        What to read of its words; see `features.words`.
    title
        Whether to keep its title, cut at 200 characters.

    Raises
    ------
    InvalidPage
        `url` is no absolute http(s) URL, or `body` cannot be decompressed within `limits`.

    Notes
    -----
    Cost: about three times the bare parse, when pages of a site follow each other. Source: Xu, Gao, Callan
    2018, sections 3.1 and 3.2. Differences: the leaf set is made precise as above; the link path is kept for
    links out of the site too.

    Examples
    --------
    >>> page = extract(b"<h1>Hi</h1><p>See <a class=next href='/p?2'>more</a>", url="http://a.example/p")
    >>> page.links.urls, page.links.anchors, page.links.link_path_table
    (['http://a.example/p?2'], ['more'], ['html/body/p/a[next]'])
    """
    limits = limits or Limits()
    known: dict[Limits, Extractor] = _thread.__dict__.setdefault("extractors", {})
    extractor = known.get(limits)
    if extractor is None:
        known.clear()
        extractor = known[limits] = Extractor(limits)
    return extractor.extract(
        body,
        url=url,
        content_type=content_type,
        content_encoding=content_encoding,
        layout=layout,
        words=words,
        title=title,
    )


_thread = local()


def kernel_bounds(limits: Limits, max_remembered: int = MAX_REMEMBERED) -> dict[str, int | str]:
    """Return the bounds of a compiled reader, which has none of its own."""
    return {
        **asdict(limits),
        "path_chars": MAX_PATH_CHARS,
        "name_chars": MAX_NAME_CHARS,
        "class_chars": MAX_CLASS_CHARS,
        "rel_chars": MAX_REL_CHARS,
        "alt_chars": MAX_ALT_CHARS,
        "block_chars": BLOCK_CHARS,
        "link_paths": MAX_LINK_PATHS,
        "link_paths_chars": MAX_LINK_PATHS_CHARS,
        "link_path_chars": MAX_LINK_PATH_CHARS,
        "other_link_path": OTHER_LINK_PATH,
        "attributes": MAX_ATTRIBUTES,
        "crowded_bytes": _CROWDED_BYTES,
        "remembered": max_remembered,
    }


def without_crowds(markup: bytes) -> bytes:
    """Return a page whose tags of `MAX_ATTRIBUTES` and more have none."""
    if not _may_be_crowded(markup):
        return markup
    parts, done = [], 0
    for tag in _TAG.finditer(markup):
        start, end = tag.span()
        if end - start > _CROWDED_TAG_BYTES and (crowded := _CROWDED_TAG.match(markup, start)):
            parts += [markup[done : crowded.start(2)]]
            done = crowded.end()
    return b"".join([*parts, markup[done:]]) if parts else markup


def _may_be_crowded(markup: bytes) -> bool:
    """Say whether a page may have a crowded tag, at a fifth of the cost of looking at each of its tags.

    Such a tag is long, and ``>`` stands in it within quotes only. Pages with such quotes are not judged here;
    in all others there must be as many bytes without ``>`` behind the start of a tag.
    """
    if _QUOTED_TAG_END.search(markup):
        return True
    at = 0
    while at + _CROWDED_TAG_BYTES <= len(markup):
        # The last ">" of the window, not the first: what begins before it ends there, or is too short.
        found = markup.rfind(b">", at, at + _CROWDED_TAG_BYTES)
        if found < 0:
            found = markup.find(b">", at + _CROWDED_TAG_BYTES)
            found = len(markup) if found < 0 else found
            if _TAG_START.search(markup, at, found - _CROWDED_TAG_BYTES + 2):
                return True
        at = found + 1
    return False


def read_head(root: etree._Element) -> Head:
    """Read a page, as parsed; the first base and the first canonical link count, wherever they stand."""
    base = canonical = ""
    nofollow = False
    for element in root.iter("base", "link", "meta"):
        tag = element.tag
        if tag == "base":
            base = base or element.get("href", "")
        elif tag == "link":
            canonical = canonical or _canonical(element)
        else:
            nofollow = nofollow or _says_nofollow(element)
    return Head(base.strip(), canonical.strip(), nofollow)


def _canonical(link: etree._Element) -> str:
    rel = link.get("rel", "").lower()
    return link.get("href", "") if "canonical" in rel.split() else ""


def _says_nofollow(meta: etree._Element) -> bool:
    if meta.get("name", "").strip().lower() != "robots":
        return False
    directives = set(meta.get("content", "").lower().replace(",", " ").split())
    return not directives.isdisjoint({"nofollow", "none"})
