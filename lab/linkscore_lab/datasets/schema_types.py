"""Which types of structured data a page carries: microdata, JSON-LD and RDFa.

Sources: WHATWG HTML 5.2.2 (``itemtype``); JSON-LD 1.1, 4.2.3 (``@type``); RDFa 1.1 Core, 7 (``typeof``).
Only the names of types are read, nothing is resolved against a context or a vocabulary.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import lxml.html
from lxml import etree

_HINT = re.compile(rb"itemtype|ld\+json|typeof", re.IGNORECASE)
_PREFIX = re.compile(r"(?:https?://(?:www\.)?schema\.org/|schema:)", re.IGNORECASE)
_ITEM_TYPES = etree.XPath("//*[@itemscope]/@itemtype | //*/@typeof")
_JSON_LD = etree.XPath("//script[starts-with(normalize-space(@type), 'application/ld+json')]/text()")
# Some systems hide the JSON from old browsers.
_WRAPPING = re.compile(r"^\s*(?:<!--|//\s*<!\[CDATA\[|<!\[CDATA\[)|(?:-->|//\s*\]\]>|\]\]>)\s*$")


def type_name(name: str) -> str:
    """Return a type as it is compared: without the prefix of schema.org, in lower case."""
    return _PREFIX.sub("", name.strip(), count=1).rstrip("/#").lower()


def schema_types(body: bytes) -> frozenset[str]:
    """Return the types a page carries, each as `type_name`; none for what is no HTML.

    Cost: one parse of pages that mention structured data, a scan of the others.
    """
    if b"\x00" not in body and not _HINT.search(body):
        return frozenset()
    try:
        root = lxml.html.document_fromstring(body)
    except (etree.ParserError, etree.XMLSyntaxError):
        return frozenset()
    names = [name for value in _ITEM_TYPES(root) for name in value.split()]
    for text in _JSON_LD(root):
        names += _named(text)
    return frozenset(map(type_name, names))


def _named(text: str) -> Iterable[str]:
    """Return every ``@type`` of a JSON-LD text; a text that is no JSON has none."""
    try:
        return list(_walk(json.loads(_WRAPPING.sub("", text), strict=False)))
    except (ValueError, RecursionError):
        return ()


def _walk(root: Any) -> Iterator[str]:
    """Yield the types of all nodes, in lists, graphs and properties; a queue, so depth costs no stack."""
    queue = [root]
    while queue:
        node = queue.pop()
        if isinstance(node, dict):
            types = node.get("@type", ())
            yield from (name for name in _listed(types) if isinstance(name, str))
            queue += node.values()
        elif isinstance(node, list):
            queue += node


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
