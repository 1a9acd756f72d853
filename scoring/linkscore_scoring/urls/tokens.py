"""URLs cut into the slots of a pattern: host, path segments, query keys, one slot per query value."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import unquote, urlsplit

MAX_SEGMENTS = 12
"""Path segments that are told apart; deeper ones are one slot `REST`. A bound, chosen and not measured."""

MAX_QUERY_KEYS = 8
"""Query keys, in alphabetical order, that are told apart. A bound, chosen and not measured."""

_REMEMBERED = 4_096  # segments, and names and values of queries, a bound: sites repeat them

REST = "/**"
ANY_QUERY = "?*"

_DIGITS = re.compile(r"[0-9]+")
_NAMESPACE = re.compile(r"[^\W\d]+")
_EXTENSION = re.compile(r"\.[A-Za-z#]{1,5}$")


def url_tokens(key: str) -> list[str]:
    """Return the slots of a URL key from coarse to fine, digit runs as ``#``.

    ``http://a.org/x/12/?p=3&q=z`` gives ``a.org``, ``/x``, ``/#``, ``/``, ``?p&q``, ``p=#``, ``q=z``. Query
    keys are sorted and distinct; path segments past 12 become ``/**``, query keys past 8 are left out. A URL
    that cannot be split is one slot. Cost O(length).

    Examples
    --------
    >>> url_tokens("http://a.org/x/12/?p=3&q=z")
    ['a.org', '/x', '/#', '/', '?p&q', 'p=#', 'q=z']
    """
    try:
        host, path, query = _split(key)
    except ValueError:
        return [_fold(key)]
    segments = [token for segment in path.split("/")[1:] for token in _segment_tokens(segment)]
    if len(segments) > MAX_SEGMENTS:
        segments = [*segments[:MAX_SEGMENTS], REST]
    return [host.lower(), *segments, *_query_tokens(query)]


def wildcard_of(token: str) -> str:
    """Return the wildcard a literal slot generalises to; it keeps the kind of slot and a file extension."""
    if token.startswith("?"):
        return ANY_QUERY
    if token[:1] in {"/", ":"}:
        extension = _EXTENSION.search(token)
        return f"{token[0]}*{extension.group() if extension else ''}"
    name, equals, _ = token.partition("=")
    return f"{name}=*" if equals else "*"


def is_fixed(token: str) -> bool:
    """Return whether a slot never generalises: it is a wildcard, a bare number, or empty."""
    return token in {"/", "/#", ":#", REST} or token.endswith("=#") or token == wildcard_of(token)


def _split(key: str) -> tuple[str, str, str]:
    """Return host, path and query as `urlsplit` does; keys of links have nothing that takes its care."""
    scheme, _, rest = key.partition("://")
    plain = key.isascii() and key.isprintable() and not ("#" in key or "[" in key or "]" in key)
    if not plain or scheme not in ("http", "https"):
        parts = urlsplit(key)
        return parts.netloc, parts.path, parts.query
    address, _, query = rest.partition("?")
    host, slash, path = address.partition("/")
    return host, slash + path, query


@lru_cache(maxsize=_REMEMBERED)
def _segment_tokens(segment: str) -> tuple[str, ...]:
    """Return a path segment, cut after a namespace: ``Category:Ships`` is two slots, ``/Category`` and
    ``:Ships``.
    """
    segment = unquote(segment)
    space, colon, name = segment.partition(":")
    if colon and name and _NAMESPACE.fullmatch(space):
        return f"/{space}", f":{_fold(name)}"
    return (f"/{_fold(segment)}",)


def _query_tokens(query: str) -> list[str]:
    if not query:
        return []
    pairs = (piece.partition("=") for piece in query.split("&") if piece)
    values = {_query_part(name): _query_part(value) for name, _, value in pairs}
    names = sorted(values)[:MAX_QUERY_KEYS]
    return [f"?{'&'.join(names)}", *(f"{name}={values[name]}" for name in names)]


@lru_cache(maxsize=_REMEMBERED)
def _query_part(text: str) -> str:
    return _fold(unquote(text))


def _fold(text: str) -> str:
    return text if text.isalpha() else _DIGITS.sub("#", text)
