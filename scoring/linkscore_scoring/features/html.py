"""HTML to features: one parse by libxml2, one serialisation in C, one walk over its tags."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from itertools import accumulate, compress, count
from operator import not_
from threading import get_ident

from lxml import etree

from linkscore_scoring.columns import numbered, picking
from linkscore_scoring.errors import InvalidPage
from linkscore_scoring.features.body import (
    CROWDED_BYTES,
    LAST_ENDS,
    MAX_ATTRIBUTES,
    decompress,
    detect_charset,
    flattened,
    is_html,
    media_type,
    opened,
    to_utf8,
    with_body,
    without_crowds,
)
from linkscore_scoring.features.layout import of_outline, of_tags
from linkscore_scoring.features.things import thing_of
from linkscore_scoring.features.types import Head, Limits, Links, PageFeatures, PathTrie
from linkscore_scoring.features.walk import (
    BLOCK_CHARS,
    MAX_ALT_CHARS,
    MAX_CLASS_CHARS,
    MAX_LINK_PATH_CHARS,
    MAX_NAME_CHARS,
    MAX_PATH_CHARS,
    MAX_REL_CHARS,
    SKIPPED_TAGS,
    PageWalk,
    PathTree,
    TagTable,
    cut_tags,
)
from linkscore_scoring.features.words import page_words
from linkscore_scoring.hashing import hash_block
from linkscore_scoring.kernels import KERNELS, Kernels
from linkscore_scoring.urls.identity import UrlCache, UrlResolver, validate_url

MAX_LINK_PATHS = 2_000
"""Distinct link paths told apart on one page; a bound for hostile pages, the others are one link path."""

MAX_LINK_PATHS_CHARS = 500_000
"""Characters of all link paths of one page; the largest of 400 stored pages has 6,400."""

MAX_LINKS_CHARS = 1_000_000
"""Characters of all URLs of a page, from where links are cut: a long ``<base href>`` would make 20 MB of
10,000 short links. The largest of 400 stored pages has 135,000."""

OTHER_LINK_PATH = "a[]"
"""What stands for the link paths that are not told apart."""


class PageLinkPaths(dict[str, int]):
    """The distinct link paths of a page and the row of each, within bounds.

    `is_cut`: some were not told apart. `is_full`: those not known yet are one.
    """

    def __init__(self) -> None:
        self.is_cut = self.is_full = False
        self._chars = 0

    def row(self, link_path: str | None) -> int:
        """Return the row of a link path, which is that of all others if it is None, or new and too much."""
        if link_path is not None and link_path in self:
            return self[link_path]
        if link_path is None or self.is_full or len(link_path) > MAX_LINK_PATH_CHARS:
            self.is_cut = True
            link_path = OTHER_LINK_PATH
        self._chars += len(link_path)
        found = self.setdefault(link_path, len(self))
        self.is_full = len(self) >= MAX_LINK_PATHS or self._chars > MAX_LINK_PATHS_CHARS
        return found


@dataclass(frozen=True, slots=True)
class Anchors:
    """The anchors of a page as columns, in document order: what either reader gives.

    `hrefs`, `texts`, `rels`, `blocks_before`: as `Links` has them; hrefs as written. `link_paths`: index
    into `link_path_table`. `is_cut`, `link_paths_cut`: the page has more anchors, or more link paths than
    are told apart.
    """

    hrefs: list[str]
    texts: list[str]
    rels: list[str]
    blocks_before: list[int]
    link_paths: list[int]
    link_path_table: list[str]
    is_cut: bool
    link_paths_cut: bool


LayoutOf = Callable[[PageFeatures, list[int]], list[float] | None]
"""Gives the layout of a page from its features and the number of each link's anchor."""
Read = tuple[Head, Anchors, list[str], LayoutOf]
"""What a reader of pages gives: head, anchors, notes of what was cut, and the layout if it is wanted."""
EMPTY: Read = Head(), Anchors([], [], [], [], [], [], False, False), ["empty"], lambda _, __: None


def anchors_of(walk: PageWalk, paths: PathTree, limits: Limits) -> Anchors:
    """Return the anchors a walk met."""
    anchors = walk.anchors[: limits.links]
    table, nodes = PageLinkPaths(), dict.fromkeys(node for _, node, _, _ in anchors)
    rows = {node: table.row(None if table.is_full else paths.link_path(node)) for node in nodes}
    return Anchors(
        [tag.href for tag, *_ in anchors],
        walk.anchor_texts(limits.links),
        [tag.rel for tag, *_ in anchors],
        walk.blocks_before(limits.links),
        [rows[node] for _, node, _, _ in anchors],
        list(table),
        len(walk.anchors) > limits.links,
        table.is_cut,
    )


def _add_links(
    features: PageFeatures, anchors: Anchors, head: Head, cuts: list[str], resolver: UrlResolver
) -> list[int]:
    """Add the links of a page, what its head says and what was cut; return the number of each link's
    anchor.
    """
    features.noindex = head.noindex
    canonical, key = resolver.resolve(head.canonical)
    features.canonical_key = key if canonical and head.canonical else ""
    urls, keys = resolver.resolve_all(anchors.hrefs, MAX_LINKS_CHARS)
    numbers = list(compress(count(), urls))
    skipped = Counter(compress(keys, map(not_, urls)))
    pick, urls = picking(numbers), list(filter(None, urls))
    within = len(urls)
    if sum(map(len, urls)) > MAX_LINKS_CHARS:
        within = bisect_right(list(accumulate(map(len, urls))), MAX_LINKS_CHARS)
        pick = picking(numbers[:within])
    table, link_paths = numbered(pick(anchors.link_paths))
    features.links = Links(
        urls[:within],
        pick(keys),
        pick(anchors.texts),
        link_paths,
        pick(anchors.rels),
        pick(anchors.blocks_before),
        list(map(anchors.link_path_table.__getitem__, table)),
        skipped,
    )
    all_cuts = {"links_cut": anchors.is_cut or within < len(urls), "apaths_cut": anchors.link_paths_cut}
    cuts = [*cuts, *(note for note, cut in all_cuts.items() if cut)]
    features.notes += [note for note in cuts if note not in features.notes]
    return numbers[:within]


MAX_REMEMBERED = 60_000
"""Distinct tags and steps remembered between pages: a bound of memory, chosen and not measured."""

MAX_TITLE_CHARS = 200
"""Characters of a title that are read: a bound, chosen."""

_DEEP = 2_000
"""Open elements at the end of a page from which on libxml2 may have stopped reading: it does at 2,048."""

REFRESH_LINK_PATH = "html/head/meta[]"

MAX_REDIRECT_S = 1
"""Seconds of a refresh that sends browsers on at once: nobody reads such a page. Chosen, not measured."""

_REFRESH = re.compile(
    r"[\t\n\f\r ]*(?:([0-9]{1,9})[0-9.]*|\.[0-9.]*)(?:[\t\n\f\r ]*[;,]|[\t\n\f\r ])[\t\n\f\r ]*"
    r"(?:url[\t\n\f\r ]*=[\t\n\f\r ]*)?(.*)",
    re.IGNORECASE | re.DOTALL,
)

_INERT_TAGS = ("noscript", "svg", "template")
"""What stands in these says nothing of the page itself."""


class Extractor:
    """Turns pages into features, and remembers what the pages of a site have in common, which makes it fast.

    One thread at a time may use an extractor; what it gives does not depend on the pages it saw before.

    `limits`: bounds for every page. `max_remembered`: tags remembered between pages, or steps and paths by
    the compiled reader; above it the extractor forgets them all. `kernels`: read what they can; those of
    this process unless others are given. `on_left`: called with the reason for each page that a compiled
    reader leaves to this one; what it raises ends the reading.
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
        self._tags = TagTable(self.limits)
        self._parser = etree.HTMLParser(
            encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True, no_network=True
        )
        self._on_left = on_left
        bounds: dict[str, int | str] = {  # a compiled reader has none of its own
            **asdict(self.limits),
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
            "crowded_bytes": CROWDED_BYTES,
            "remembered": max_remembered,
        }
        self._compiled = None if kernels.reader is None else kernels.reader(bounds)

    def extract(
        self,
        body: bytes,
        *,
        url: str,
        content_type: str = "",
        content_encoding: str = "",
        layout: bool = False,
        words: bool = False,
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
        markup = LAST_ENDS.sub(b"", markup)
        if media_type(content_type).essence.endswith("xml"):
            markup = opened(markup, is_xml=True)
        if broken:
            features.notes.append("decode_errors")
        shown = with_body(markup)
        read = self._read_compiled(shown, features, layout=layout) or self._read_purely(shown, features)
        head, anchors, cuts, layout_of = read
        resolver_at = partial(
            UrlResolver, max_chars=self.limits.url_chars, charset=features.charset, cache=self._urls
        )
        resolver = resolver_at(url)
        features.thing = thing_of(markup, head.title.strip())
        base, key = resolver.resolve(head.base)
        if key == "scheme" and _OTHER_BASE.match(head.base) and len(head.base) <= self.limits.url_chars:
            base = head.base  # no link without a scheme leads anywhere
        if base:
            resolver = resolver_at(base, is_page=key == features.key)
        numbers = _add_links(features, anchors, head, cuts, resolver)
        if layout:
            features.layout = layout_of(features, numbers)
        if head.refresh:
            _add_refresh(features, head.refresh, resolver)
        if words and (root := self._parse(shown, features)) is not None:
            strip_skipped(root)
            features.words = page_words(root, " ".join(head.title.split())[:MAX_TITLE_CHARS])
        return features

    def _read_compiled(self, markup: bytes, features: PageFeatures, *, layout: bool) -> Read | None:
        """Fill the features from a page and return its head and anchors; None if this is left to Python."""
        if self._compiled is None:
            return None
        found = self._compiled(markup, layout)
        if isinstance(found, str):
            self._on_left(found)
            return None
        if found["is_empty"]:
            return EMPTY
        features.paths = PathTrie(*found["paths"])
        for name in ("text_chars", "block_hashes", "block_chars"):
            setattr(features, name, found[name])
        head = Head(*(found[name] for name in ("base", "canonical", "noindex", "refresh", "title")))
        cuts = [cut for cut in ("elements_cut", "depth_cut", "paths_cut") if found[cut]]
        return head, Anchors(*found["anchors"]), cuts, partial(of_outline, found["outline"])

    def _read_purely(self, markup: bytes, features: PageFeatures) -> Read:
        """Fill the features from a page and return its head and anchors."""
        root = self._parse(markup, features)
        if root is None:
            return EMPTY
        head = read_head(root)
        strip_skipped(root)
        take_svg_links(root)
        if len(self._tags) > self.max_remembered:
            self._tags = TagTable(self.limits)
        walk = PageWalk(self._tags, self.limits)
        # A doctype of XHTML would make libxml2 write empty elements as full ones.
        root.getroottree().docinfo.clear()
        markup_text = etree.tostring(root, encoding="unicode", with_tail=False)
        walk.read(markup_text)
        features.text_chars = sum(map(len, walk.texts))
        blocks = [text for text in walk.texts if len(text) >= BLOCK_CHARS]
        features.block_chars = list(map(len, blocks))
        features.block_hashes = list(map(hash_block, blocks))
        tags = self._tags
        features.paths, paths_cuts = tags.paths.trie(walk.displayed)
        cuts = ["elements_cut", *paths_cuts] if walk.elements_cut else paths_cuts

        def layout_of(features: PageFeatures, numbers: list[int]) -> list[float]:
            return of_tags(cut_tags(markup_text, self.limits)[0], tags, features, numbers)

        return head, anchors_of(walk, tags.paths, self.limits), cuts, layout_of

    def _parse(self, markup: bytes, features: PageFeatures) -> etree._Element | None:
        markup = opened(markup)
        thinned = without_crowds(markup) if len(markup) > CROWDED_BYTES else markup
        # A page whose words are read is parsed again.
        if len(thinned) < len(markup) and "attributes_cut" not in features.notes:
            features.notes.append("attributes_cut")
        root = self._parsed(thinned)
        if root is not None and _ends_deep(root):
            root = self._parsed(flattened(thinned, 2 * self.limits.elements))
            if "depth_cut" not in features.notes:
                features.notes.append("depth_cut")
        return root

    def _parsed(self, markup: bytes) -> etree._Element | None:
        try:
            return etree.fromstring(markup, self._parser)
        except etree.XMLSyntaxError:
            return None


def _add_refresh(features: PageFeatures, content: str, resolver: UrlResolver) -> None:
    """Add a ``<meta>`` refresh as the last link, unless another leads there; note it if it is at once."""
    seconds, href = refresh_of(content)
    url, key = resolver.resolve(href)
    if not (url and href) or key == features.key:
        return
    if key not in (links := features.links).keys:
        if REFRESH_LINK_PATH not in (table := links.link_path_table):
            table.append(REFRESH_LINK_PATH)
        for column, text in ((links.urls, url), (links.keys, key), (links.anchors, ""), (links.rels, "")):
            column.append(text)
        links.link_paths.append(table.index(REFRESH_LINK_PATH))
        links.blocks_before.append(0)
    if seconds <= MAX_REDIRECT_S:
        features.moved_to = key


def extract(
    body: bytes,
    *,
    url: str,
    content_type: str = "",
    content_encoding: str = "",
    limits: Limits | None = None,
    layout: bool = False,
    words: bool = False,
) -> PageFeatures:
    """Return the features of one fetched page, from its bytes.

    Displayed leaves are non-blank texts, ``img`` and ``a`` with href; ``script``, ``style``, ``noscript``,
    ``noframes``, ``noembed``, ``head``, ``template`` that is no shadow root, comments and processing
    instructions are not looked at. Links are ``a`` and ``area`` with href, ``a`` of SVG, ``frame`` and
    ``iframe``, and as the last one where a ``<meta>`` refresh leads; at once, it is `PageFeatures.moved_to`.
    Wrong charsets, broken markup and nesting of any depth never raise; what was cut or
    repaired is in `PageFeatures.notes`: ``not_html``, ``empty``, ``decode_errors``, ``attributes_cut``,
    ``elements_cut``, ``paths_cut``, ``depth_cut``, ``links_cut``, ``apaths_cut``.

    `body`: bytes as fetched. `url`: absolute http(s) URL after redirects. `content_type`,
    `content_encoding`: the HTTP headers, empty if unknown. `limits`: bounds of the extraction; `Limits`
    defaults. `layout`: whether to measure it too, see `features.layout`; it costs twice as much
    again. `words`: whether its words are read; see `features.words`.

    Raises `InvalidPage`: `url` is no absolute http(s) URL, or `body` cannot be decompressed within `limits`.

    Cost: about three times the bare parse, when pages of a site follow each other. Source: Xu, Gao, Callan
    2018, sections 3.1 and 3.2. Differences: the leaf set is made precise as above; the link path is kept for
    links out of the site too.

    Examples
    --------
    >>> page = extract(b"<h1>Hi</h1><p>See <a class=next href='/p?2'>more</a>", url="http://a.example/p")
    >>> page.links.urls, page.links.anchors, page.links.link_path_table
    (['http://a.example/p?2'], ['more'], ['html/body/p/a[next]'])
    """
    return _extractor(limits, get_ident()).extract(
        body,
        url=url,
        content_type=content_type,
        content_encoding=content_encoding,
        layout=layout,
        words=words,
    )


@lru_cache(maxsize=8)
def _extractor(limits: Limits | None, thread: int) -> Extractor:
    """Return the extractor of a thread."""
    return Extractor(limits)


def strip_skipped(root: etree._Element) -> None:
    """Take out `SKIPPED_TAGS`, but for templates that are shadow roots, and the texts of frames."""
    shown = []
    for element in list(root.iter("template", "iframe", "frame")):
        if element.tag == "iframe":
            element.text = None
        elif element.tag == "template":
            if element.get("shadowrootmode", "").lower() in _SHADOW_MODES:
                element.tag = "shown"
                shown.append(element)
        elif next(element.iterancestors("body"), None) is not None:  # browsers ignore a frameset in a body
            element.attrib.pop("src", None)
    etree.strip_elements(root, *SKIPPED_TAGS, with_tail=False)
    for template in shown:
        template.tag = "template"


_SHADOW_MODES = frozenset({"open", "closed"})


def take_svg_links(root: etree._Element) -> None:
    """Write links of SVG 1.1, which have ``xlink:href``, as those of HTML and SVG 2."""
    for anchor in root.iter("a") if next(root.iter("svg"), None) is not None else ():
        if (
            "xlink:href" in anchor.attrib
            and "href" not in anchor.attrib
            and next(anchor.iterancestors("svg", "foreignobject"), root).tag == "svg"
        ):
            anchor.set("href", anchor.attrib["xlink:href"])


def _ends_deep(root: etree._Element) -> bool:
    """Say whether the last elements within each other are so many that the parser may have stopped there."""
    node, depth = root, 1
    while len(node):
        node, depth = node[-1], depth + 1
    return depth >= _DEEP


def read_head(root: etree._Element) -> Head:
    """Read a page, as parsed; of each the first counts, wherever it stands but in `_INERT_TAGS`."""
    found, inert = list(root.iter(*_INERT_TAGS, *_HEAD_TAGS)), set[etree._Element]()
    for outer in found:
        if outer.tag in _INERT_TAGS and outer not in inert:
            inert.update(outer.iter(*_INERT_TAGS, *_HEAD_TAGS))
    canonical = refresh = ""
    base: str | None = None
    title: str | None = None
    noindex = False
    for element in found:
        if element in inert:
            continue
        tag, content = element.tag, element.get("content", "")
        if tag == "base":
            base = element.get("href") if base is None else base
        elif tag == "link":
            if not canonical and "canonical" in element.get("rel", "").lower().split():
                canonical = element.get("href", "")
        elif tag == "title":
            title = (element.text or "") if title is None else title
        else:
            if element.get("name", "").strip().lower() == "robots":
                directives = content.lower().replace(",", " ").split()
                noindex = noindex or not {"noindex", "none"}.isdisjoint(directives)
            if not refresh and element.get("http-equiv", "").lower() == "refresh":
                refresh = content
    return Head((base or "").strip(), canonical.strip(), noindex, refresh, title or "")


_OTHER_BASE = re.compile("(?!(?:data|javascript):)", re.IGNORECASE)
"""What is a base though nobody crawls it; of ``data:`` and ``javascript:`` none is (WHATWG HTML, 4.2.3)."""
_HEAD_TAGS = ("base", "link", "meta", "title")


def refresh_of(content: str) -> tuple[int, str]:
    """Return after how many seconds a refresh leads where; the address is empty if it reloads the page.

    Source: WHATWG HTML, 4.2.5.3, shared declarative refresh steps.

    Examples
    --------
    >>> refresh_of("5; URL='/next'"), refresh_of("0,/next"), refresh_of("300")
    ((5, '/next'), (0, '/next'), (0, ''))
    """
    found = _REFRESH.match(content)
    if found is None:
        return 0, ""
    href = found[2]
    if href[:1] in {"'", '"'}:
        href = href[1:].partition(href[0])[0]
    return int(found[1] or 0), href
