"""HTML to features: one parse by libxml2, one serialisation in C, one walk over its tags."""

from __future__ import annotations

import re
from threading import local

from lxml import etree

from linkscore_scoring.errors import InvalidPage
from linkscore_scoring.features.body import decompress, is_html
from linkscore_scoring.features.charset import detect_charset, to_text
from linkscore_scoring.features.graph import SKIPPED_TAGS, PathGraph
from linkscore_scoring.features.hashing import hash64
from linkscore_scoring.features.head import Head, read_head
from linkscore_scoring.features.types import Limits, Links, PageFeatures, PathTrie
from linkscore_scoring.features.urls import UrlCache, UrlResolver, validate_url
from linkscore_scoring.features.walk import PageWalk

MAX_REMEMBERED = 60_000

# libxml2 appends attributes to a linked list: a tag with very many takes quadratic time.
_CROWDED_BYTES = 65_536
_CROWDED_TAG = re.compile(
    rb"<([a-zA-Z][^\s/>]*+)(?:[\s/]*+[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s>\"'][^\s>]*+)?+)?+){1000,}+"
)


class Extractor:
    """Turns pages into features, and remembers what the pages of a site have in common, which makes it fast.

    One thread at a time may use an extractor; what it gives does not depend on the pages it saw before.

    Parameters
    ----------
    limits
        Bounds for every page.
    max_remembered
        Places and tags remembered between pages; above it the extractor forgets them all.
    """

    def __init__(self, limits: Limits | None = None, *, max_remembered: int = MAX_REMEMBERED) -> None:
        self.limits = limits or Limits()
        self.max_remembered = max_remembered
        self._urls = UrlCache()
        self._graph = PathGraph(self.limits.depth)
        self._parser = etree.HTMLParser(
            encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True, no_network=True
        )

    def extract(
        self, body: bytes, *, url: str, content_type: str = "", content_encoding: str = ""
    ) -> PageFeatures:
        """Return the features of one page; see `extract`."""
        features = PageFeatures(url, validate_url(url, "url", limits=self.limits, error=InvalidPage))
        raw = decompress(body, content_encoding, max_bytes=self.limits.body_bytes)
        if not is_html(raw, content_type):
            features.notes.append("not_html")
            return features
        features.charset = detect_charset(raw, content_type)
        root = self._parse(raw, features)
        if root is None:
            features.notes.append("empty")
        else:
            self._read(root, features)
        return features

    def _parse(self, raw: bytes, features: PageFeatures) -> etree._Element | None:
        text, broken = to_text(raw, features.charset)
        if broken:
            features.notes.append("decode_errors")
        utf8 = text.encode("utf-8", "replace")
        if len(utf8) > _CROWDED_BYTES and _CROWDED_TAG.search(utf8):
            features.notes.append("attributes_cut")
            utf8 = _CROWDED_TAG.sub(rb"<\1", utf8)
        try:
            return etree.fromstring(utf8, self._parser)
        except etree.XMLSyntaxError:
            return None

    def _read(self, root: etree._Element, features: PageFeatures) -> None:
        head = _take_head(root)
        if self._graph.size > self.max_remembered:
            self._graph = PathGraph(self.limits.depth)
        walk = PageWalk(self._graph, self.limits)
        walk.read(etree.tostring(root, encoding="unicode", with_tail=False))
        cuts = {"elements_cut": walk.elements_cut, "depth_cut": walk.depth_cut}
        features.notes += [note for note, cut in cuts.items() if cut]
        features.nofollow = head.nofollow
        features.text_chars, features.anchor_chars = walk.text_chars, walk.anchor_chars
        features.block_chars = [len(block) for block in walk.blocks]
        features.block_hashes = [hash64(" ".join(block.split())) for block in walk.blocks]
        features.paths = self._trie(walk, features)
        self._link(walk, head, features)

    def _trie(self, walk: PageWalk, features: PageFeatures) -> PathTrie:
        trie = self._graph.trie(walk.leaves, self.limits.path_nodes)
        if sum(trie.leaves) < len(walk.leaves):
            features.notes.append("paths_cut")
        return trie

    def _link(self, walk: PageWalk, head: Head, features: PageFeatures) -> None:
        resolver = self._resolver(features.url, features.charset)
        if head.base:
            base = resolver.resolve(head.base)
            if not isinstance(base, str):
                resolver = self._resolver(base[0], features.charset)
        if head.canonical:
            canonical = resolver.resolve(head.canonical)
            features.canonical_key = "" if isinstance(canonical, str) else canonical[1]
        features.links = self._links(walk, resolver)
        if len(walk.anchors) > self.limits.links:
            features.notes.append("links_cut")

    def _resolver(self, base_url: str, charset: str) -> UrlResolver:
        return UrlResolver(base_url, self.limits, charset=charset, cache=self._urls)

    def _links(self, walk: PageWalk, resolver: UrlResolver) -> Links:
        links = Links()
        table: dict[str, int] = {}
        kept = walk.anchors[: self.limits.links]
        for anchor, text in zip(kept, walk.anchor_texts(len(kept)), strict=True):
            answer = resolver.resolve(anchor.href)
            if isinstance(answer, str):
                links.skipped[answer] = links.skipped.get(answer, 0) + 1
                continue
            links.urls.append(answer[0])
            links.keys.append(answer[1])
            links.anchors.append(text)
            links.rels.append(anchor.rel)
            links.apaths.append(table.setdefault(self._graph.apath(anchor.node), len(table)))
        links.apath_table = list(table)
        return links


def extract(
    body: bytes, *, url: str, content_type: str = "", content_encoding: str = "", limits: Limits | None = None
) -> PageFeatures:
    """Return the features of one fetched page, from its bytes.

    Displayed leaves are non-blank texts, ``img`` and ``a`` with href; ``script``, ``style``, ``noscript``,
    ``template``, ``head``, comments and processing instructions are not looked at. Links are ``a`` and
    ``area`` with href. Wrong charsets, broken markup and nesting of any depth never raise; what was cut or
    repaired is in `PageFeatures.notes`: ``not_html``, ``empty``, ``decode_errors``, ``attributes_cut``,
    ``elements_cut``, ``paths_cut``, ``depth_cut``, ``links_cut``.

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

    Raises
    ------
    InvalidPage
        `url` is no absolute http(s) URL, or `body` cannot be decompressed within `limits`.

    Notes
    -----
    Cost: about twice the bare parse, when pages of a site follow each other. Source: Xu, Gao, Callan 2018,
    sections 3.1 and 3.2. Differences: the leaf set is made precise as above; the Apath is kept for links out
    of the site too.
    """
    limits = limits or Limits()
    known: dict[Limits, Extractor] = _thread.__dict__.setdefault("extractors", {})
    extractor = known.get(limits)
    if extractor is None:
        known.clear()
        extractor = known[limits] = Extractor(limits)
    return extractor.extract(body, url=url, content_type=content_type, content_encoding=content_encoding)


_thread = local()


def _take_head(root: etree._Element) -> Head:
    """Read the head, then take out all that is not displayed."""
    head = root.find("head")
    markup = "" if head is None else etree.tostring(head, encoding="unicode", with_tail=False)
    if next(root.iter("base"), None) is not None:
        markup = etree.tostring(next(root.iter("base")), encoding="unicode", with_tail=False) + markup
    etree.strip_elements(root, *SKIPPED_TAGS, with_tail=False)
    return read_head(markup)
