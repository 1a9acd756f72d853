"""Tag paths as XPath 1.0 expressions."""

from __future__ import annotations

import re

_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_PADDED_CLASS = "concat(' ', normalize-space(@class), ' ')"


def xpath_of(tag_path: str) -> str:
    """Return the expression for the anchors of a raw Apath; empty if it names no element.

    A path from the root element is exact: the same elements, the same class tokens on the anchor. One that
    begins elsewhere, as crawlers may send them, fits anywhere. An element whose name is no plain one is any
    element.
    """
    path, has_classes, classes = tag_path.removesuffix("]").partition("[")
    names = [name if _NAME.fullmatch(name) else "*" for name in path.split("/") if name]
    if not names:
        return ""
    start = "/" if names[0] == "html" else "//"
    return start + "/".join(names) + (_exactly(classes.split()) if has_classes else "")


def _exactly(tokens: list[str]) -> str:
    """Return the predicate for elements with these class tokens, all different, and no others."""
    if not tokens:
        return "[not(normalize-space(@class))]"
    has = [f"contains({_PADDED_CLASS}, {_text(f' {token} ')})" for token in tokens]
    return f"[{' and '.join(has)} and string-length(normalize-space(@class)) = {len(' '.join(tokens))}]"


def _text(value: str) -> str:
    """Return a string; XPath has no escapes, so one with both kinds of quotes is put together."""
    if "'" not in value:
        return f"'{value}'"
    pieces = ', "\'", '.join(f"'{piece}'" for piece in value.split("'"))
    return f"concat({pieces})"
