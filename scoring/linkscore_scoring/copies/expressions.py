"""URL patterns and query keys as regular expressions, for crawlers that skip copies by themselves."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import permutations
from urllib.parse import quote

from linkscore_scoring.urls.pattern_tree import ANY_QUERY, REST

_MOST_KEYS = 3
"""Query keys of a pattern that is written: they may come in any order, so of more there are too many."""
_PLAIN = re.compile(r"[A-Za-z0-9._~-]")


def expression_of(tokens: Sequence[str]) -> str:
    """Return the RE2 expression of the URLs of a pattern, by its slots; empty if it has too many query keys.

    Wildcards fit any value: see `UrlPatterns.is_alone`. One of the path fits no namespace (``Category:``).

    Examples
    --------
    >>> expression_of(["a.org", "/print", "/#"])
    '^https?://a\\\\.org/print/[0-9]+$'
    >>> expression_of(["a.org", "/x", "?p", "p=#"])
    '^https?://a\\\\.org/x\\\\?p=[0-9]+$'
    """
    path, query = _split(tokens)
    if not query:
        return f"{_address(path)}$"
    if query[0] == ANY_QUERY:
        return rf"{_address(path)}\?[^#]*$"
    names = query[0].removeprefix("?").split("&")
    if len(names) > _MOST_KEYS:
        return ""
    values = dict(token.partition("=")[::2] for token in query[1:])
    pairs = [_pair(name, values.get(name, "*")) for name in names]
    orders = "|".join("&".join(order) for order in permutations(pairs))
    return rf"{_address(path)}\?{f'(?:{orders})' if pairs[1:] else orders}$"


def with_key(tokens: Sequence[str], key: str) -> str:
    """Return the RE2 expression of the URLs below a path, by its slots, that have a query key in any case.

    Examples
    --------
    >>> with_key(["a.org", "/x"], "sid")
    '^https?://a\\\\.org/x\\\\?(?:[^#]*&)?(?i:sid)(?:[=&]|$)'
    """
    path, _ = _split(tokens)
    return rf"{_address(path)}\?(?:[^#]*&)?(?i:{_text(key)})(?:[=&]|$)"


def _split(tokens: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Return the slots of host and path, and those of the query."""
    at = next((n for n, token in enumerate(tokens) if token.startswith("?")), len(tokens))
    return tokens[:at], tokens[at:]


def _address(tokens: Sequence[str]) -> str:
    host, *segments = tokens
    written = (
        "/[^?#]*" if token == REST else f"{_text(token[0])}{_value(token[1:], '/:')}" for token in segments
    )
    return f"^https?://{re.escape(host)}{''.join(written)}"


def _pair(name: str, value: str) -> str:
    """Return what fits a query key with a value; one without may be without its sign too."""
    return f"{_text(name)}={_value(value, '&')}" if value else f"{_text(name)}=?"


def _value(text: str, ends: str) -> str:
    """Return what fits a slot: ``*`` is anything without the characters that end it, ``#`` digits."""
    if text.startswith("*"):
        return f"[^{ends}?#]+{_text(text[1:])}"
    return "[0-9]+".join(map(_text, text.split("#")))


def _text(text: str) -> str:
    """Return what fits a text as it is or percent-encoded."""
    return "".join(char if _PLAIN.fullmatch(char) and char != "." else _odd(char) for char in text)


def _odd(char: str) -> str:
    encoded = quote(char, safe="")
    forms = dict.fromkeys((re.escape(char), encoded, encoded.lower()))
    return re.escape(char) if char in "./:" else f"(?:{'|'.join(forms)})"
