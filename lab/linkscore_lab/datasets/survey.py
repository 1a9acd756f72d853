"""What a perfect crawl could find: the facts of one page, and a walk over a whole site.

The yardstick of every figure.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import lxml.html
from lxml import etree

from linkscore_lab.datasets.site import Reply, Site, follow, identity, identity_or_none, resolve

# What scoring calls a long text block (docs/concepts/harvest.md): shorter ones are menus and buttons.
LONG_TEXT_CHARS = 25
_TEXTS = etree.XPath("descendant::text()", smart_strings=False)
_WITHOUT = ("a", "script", "style")
_ANCHORS = etree.XPath("//a/@href")


@dataclass(frozen=True, slots=True)
class PageFacts:
    """One page, as far as the metrics look at it."""

    links: tuple[str, ...]  # Absolute URL of each anchor, in document order, nofollow included
    blocks: tuple[tuple[bytes, int], ...]  # Digest and characters of each long text block, in document order
    content: str  # Names the content: two pages with the same one are copies of each other


def read_page(url: str, body: bytes, *, links: bool = True) -> PageFacts:
    """Return the facts of the HTML page `body` found at `url`; a page that is no HTML has none.

    Without `links` those are left out.
    """
    root = _parse(body)
    if root is None:
        return PageFacts((), (), f"url {identity_or_none(url)}")
    base, canonical = _head(root)
    anchors = _ANCHORS(root) if links else ()
    start = _start(url, base)
    targets = tuple(link for href in anchors if (link := resolve(start, href)))
    blocks = tuple((_digest(text), len(text)) for text in _long_texts(root))
    return PageFacts(targets, blocks, _content(url, base, canonical, blocks))


def _parse(body: bytes) -> Any:
    try:
        return lxml.html.document_fromstring(body)
    except (etree.ParserError, etree.XMLSyntaxError):
        return None


def _head(root: Any) -> tuple[str | None, str | None]:
    """Return the addresses of the first base and the first canonical link that have one."""
    # Wherever they stand, at a tenth of what XPath takes.
    elements = [element for top in _tops(root) for element in top.iter("base", "link")]
    bases = (element.get("href") for element in elements if element.tag == "base")
    canonical = (
        element.get("href")
        for element in elements
        if element.tag == "link" and "canonical" in element.get("rel", "").split()
    )
    return _first(bases), _first(canonical)


def _first(addresses: Iterable[str | None]) -> str | None:
    return next((address for address in addresses if address is not None), None)


def _tops(root: Any) -> list[Any]:
    """Return what a document has beside each other: ``html``, and what stands behind its end."""
    return [root, *root.itersiblings()]


def _long_texts(root: Any) -> list[str]:
    """Return the long texts of a page, without links, scripts and styles; the tree loses those."""
    texts: list[str] = []
    for top in _tops(root):
        if isinstance(top.tag, str) and top.tag not in _WITHOUT:
            etree.strip_elements(top, *_WITHOUT, with_tail=False)
            texts += _TEXTS(top)
    return [
        text
        for found in texts
        if len(found) >= LONG_TEXT_CHARS and len(text := found.strip()) >= LONG_TEXT_CHARS
    ]


def _start(url: str, base: str | None) -> str:
    """Return what links are relative to."""
    return (resolve(url, base) if base else None) or url


def _content(url: str, base: str | None, canonical: str | None, blocks: tuple[tuple[bytes, int], ...]) -> str:
    """rel=canonical names the content, else the long text does; a page without either is only itself."""
    if canonical and (key := identity_or_none(resolve(_start(url, base), canonical) or "")):
        return f"canonical {key}"
    if blocks:
        return f"text {_digest(b''.join(digest for digest, _ in blocks)).hex()}"
    return f"url {identity_or_none(url)}"


def _digest(text: str | bytes) -> bytes:
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return hashlib.blake2b(data, digest_size=12).digest()


@dataclass(slots=True)
class Survey:
    """The reachable pages of a site."""

    # Facts of each reachable page by identity, in breadth-first order; without their links
    pages: dict[str, PageFacts] = field(default_factory=dict)
    # Page type by identity; pages without label are absent
    types: dict[str, str] = field(default_factory=dict)

    def of_types(self, wanted: Iterable[str]) -> frozenset[str]:
        """Return the reachable pages whose label is one of `wanted`."""
        chosen = frozenset(wanted)
        return frozenset(key for key in self.pages if self.types.get(key) in chosen)


def survey_site(site: Site, seen_page: Callable[[], None] = lambda: None) -> Survey:
    """Return what can be reached from the entry over anchors, nofollow included and redirects followed.

    `seen_page` is called for each page found. Cost: one parse a page.
    """
    survey, labels = Survey(), site.labels()
    asked = {identity(site.entry)}
    frontier = deque([site.entry])
    while frontier:
        final, reply = follow(site, frontier.popleft())
        key = identity(final)
        if not _is_page(reply) or key in survey.pages:
            continue
        facts = read_page(final, reply.body)
        survey.pages[key] = PageFacts((), facts.blocks, facts.content)
        if key in labels:
            survey.types[key] = labels[key]
        frontier.extend(_fresh(facts.links, asked))
        seen_page()
    return survey


def _is_page(reply: Reply) -> bool:
    return not reply.is_redirect and reply.status < 400


def _fresh(links: Iterable[str], asked: set[str]) -> list[str]:
    fresh = []
    for link in links:
        key = identity_or_none(link)
        if key is not None and key not in asked:
            asked.add(key)
            fresh.append(link)
    return fresh
