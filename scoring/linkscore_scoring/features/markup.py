"""Raw start tags, as libxml2 serialises them, to tag names, attributes and class tokens."""

from __future__ import annotations

import re
from html import unescape

# In serialised XML no quote and no "<" or ">" stands unescaped in a value, so a blank before the name and a
# quoted value after it can only be an attribute.
_ATTRIBUTE = re.compile(r' (class|href|rel|alt|name|content)="([^"]*)"')
_TAG = re.compile(r"<[^>]*>")


def attributes_of(raw: str) -> dict[str, str]:
    """Return the attributes features look at, of the inside of a start tag like ``a href="x" class="y"``."""
    found = _ATTRIBUTE.findall(raw)
    if "&" in raw:
        return {name: unescape(value) for name, value in found}
    return dict(found)


def tag_name(raw: str) -> str:
    """Return the element name of the inside of a start tag."""
    return raw.partition(" ")[0].rstrip("/")


def class_tokens(value: str) -> str:
    """Return a class attribute as `PathTrie.classes` has it: distinct tokens, sorted, joined by one space."""
    if not value or value.isalnum():
        return value
    return " ".join(sorted(set(value.split())))


def mend(markup: str) -> str:
    """Replace every ``<`` inside a tag by ``_``: HTML allows it in names, and it would be taken for a new tag."""
    if markup.count("<") == markup.count(">"):
        return markup
    return _TAG.sub(lambda tag: "<" + tag[0][1:].replace("<", "_"), markup)
