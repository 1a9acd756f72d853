"""What the metrics look at of a page. The yardstick of every figure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import lxml.html
from lxml import etree

from linkscore_lab.datasets.site import identity_or_none, resolve

# What scoring calls a long text block (docs/concepts/harvest.md): shorter ones are menus and buttons.
LONG_TEXT_CHARS = 25
_TEXTS = etree.XPath("descendant::text()", smart_strings=False)
_WITHOUT = ("a", "script", "style")


@dataclass(frozen=True, slots=True)
class PageFacts:
    """One page, as far as the metrics look at it: its long text blocks, and what names its content.

    A block is a digest and a number of characters; two pages of one content are copies of each other.
    """

    blocks: tuple[tuple[bytes, int], ...]
    content: str


def read_page(url: str, body: bytes) -> PageFacts:
    """Return the facts of the HTML page `body` found at `url`; a page that is no HTML has none."""
    root = _parse(body)
    if root is None:
        return PageFacts((), f"url {identity_or_none(url)}")
    base, canonical = _head(root)
    blocks = tuple((_digest(text), len(text)) for text in _long_texts(root))
    return PageFacts(blocks, _content(url, base, canonical, blocks))


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


def _content(url: str, base: str | None, canonical: str | None, blocks: tuple[tuple[bytes, int], ...]) -> str:
    """rel=canonical names the content, else the long text does; a page without either is only itself."""
    start = (resolve(url, base) if base else None) or url
    if canonical and (key := identity_or_none(resolve(start, canonical) or "")):
        return f"canonical {key}"
    if blocks:
        return f"text {_digest(b''.join(digest for digest, _ in blocks)).hex()}"
    return f"url {identity_or_none(url)}"


def _digest(text: str | bytes) -> bytes:
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return hashlib.blake2b(data, digest_size=12).digest()
