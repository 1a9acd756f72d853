"""URLs: parsed by the URL Standard (can_ada), and what makes two of them the same page.

The identity of a page is its URL as the standard writes it, without fragment, and by rules of ours on top: an
escape is written in one way, pairs of a query stand in the order of their names, what is empty is left out.
"""

from __future__ import annotations

import re
from functools import lru_cache
from operator import itemgetter

import can_ada

from linkscore_scoring.errors import InvalidInput, InvalidLink

SCHEMES = ("http:", "https:")

MAX_URL_CHARS = 2_083
"""Longest URL taken unless told otherwise: what Internet Explorer took at most; chosen, not measured."""

MAX_PARAMETERS = 100
"""Pairs of a query that are put in order; the query of more is taken as it is. 2,083 characters hold 1,000.
Chosen, not measured."""

_SCHEME = re.compile(r"[\x00-\x20]*[a-zA-Z][a-zA-Z0-9+.-]*:")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
# What servers read alike in a path, escaped or not, and is written plain: unreserved characters (RFC 3986,
# 6.2.2.2), those that RFC 2396 calls marks, those that no path may hold but as an escape, and of the
# delimiters those that no server separates by. "/", ";", "+", "&", "=", "%" and all that the standard escapes
# stay as they are written.
_PLAIN_IN_PATHS = _UNRESERVED | frozenset("!'()*,:@$[]|^")
_IN_PATH = re.compile(r"%([0-9A-Fa-f]{2})?")
# What is alike in a query read as a form, and is written as an escape there; "&", "=", "+", ";", "%" and "#"
# tell pairs apart.
_IN_QUERY = re.compile(r"%([0-9A-Fa-f]{2})?|[!()*,:@$/?\[\]|{}^`\\]")
_REMEMBERED_CHARS = 512  # longer URLs are worked out each time: a bound of memory, chosen


def identity(url: str) -> str:
    """Return the identity of an absolute URL.

    Raises `ValueError`: the URL is none by the URL Standard.

    Examples
    --------
    >>> identity("HTTP://A.example:80/b/../%7Ec?y=1&x=2#top")
    'http://a.example/~c?x=2&y=1'
    """
    return identity_of(parsed(url).href)


def parsed(url: str) -> can_ada.URL:
    """Return an absolute URL as the URL Standard reads it, or raise ValueError."""
    try:
        return can_ada.parse(url)
    except TypeError as problem:  # a text with half a surrogate pair
        raise ValueError(f"no text of Unicode, got {url[:200]!r}") from problem


def identity_of(href: str) -> str:
    """Return the identity of a URL that is written as the standard writes it."""
    page, _, query = href.partition("#")[0].partition("?")
    if "%" in page:
        page = _IN_PATH.sub(_in_path, page)
    if not query:
        return page
    pairs = [pair for pair in query.split("&") if pair]
    if len(pairs) > MAX_PARAMETERS:
        return f"{page}?{query}"
    names = [_IN_QUERY.sub(_in_query, pair).partition("=") for pair in pairs]
    if len(pairs) > 1 and all(mark for _, mark, _ in names):  # without names, places may mean something
        names.sort(key=itemgetter(0))
    return f"{page}?{'&'.join(map(''.join, names))}" if pairs else page


def _in_path(escape: re.Match[str]) -> str:
    """Return an escape as a path has it: plain if it need not be one, upper case, a lone ``%`` complete."""
    if escape[1] is None:
        return "%25"
    char = chr(int(escape[1], 16))
    return char if char in _PLAIN_IN_PATHS else escape[0].upper()


def _in_query(found: re.Match[str]) -> str:
    """Return an escape, or what may be one, as a query has it; a blank is ``+``, as in a form."""
    if found[1] is None:
        return f"%{ord(found[0]):02X}"
    char = chr(int(found[1], 16))
    return "+" if char == " " else char if char in _UNRESERVED else found[0].upper()


def host_of(url: str) -> str:
    """Return ``host`` or ``host:port`` of an absolute URL, as the standard writes it, without user.

    Raises `ValueError`: the URL is none by the URL Standard.
    """
    return parsed(url).host


def root_of(key: str) -> str:
    """Return scheme and host of an identity.

    Examples
    --------
    >>> root_of("http://a.org/b/c")
    'http://a.org'
    """
    return key[: key.find("/", len("https://"))]


def validate_url(
    url: str,
    field: str,
    *,
    max_chars: int = MAX_URL_CHARS,
    error: type[InvalidInput] = InvalidLink,
) -> str:
    """Return the identity of a URL a client sent, if it is an absolute http(s) URL of at most `max_chars`.

    Raises `InvalidInput`: as the type `error`, with `field`, the rule and the value got; reason
    ``REQUIRED``, ``INVALID_VALUE`` (too long), ``RELATIVE_URL``, ``UNSUPPORTED_SCHEME`` or
    ``MALFORMED_URL``.
    """
    if len(url) <= max_chars:
        try:
            found = _remembered(url) if len(url) <= _REMEMBERED_CHARS else identity(url)
        except ValueError:
            found = ""
        if found.startswith(("http://", "https://")):
            return found
    rule, reason = _broken_rule(url, max_chars)
    raise error(f"{rule}, got {url[:200]!r}", field=field, reason=reason)


# A crawler that scores its frontier again sends the same links again. Longer URLs are not remembered, so that
# memory is bounded in bytes; of the links of 400 stored pages one in a thousand is longer.
_remembered = lru_cache(maxsize=32_768)(identity)


def _broken_rule(url: str, max_chars: int) -> tuple[str, str]:
    """Return the rule that a URL breaks, and the reason of the error."""
    if len(url) > max_chars:
        return f"must have at most {max_chars} characters", "INVALID_VALUE"
    rule = "must be an absolute http or https URL"
    scheme = _SCHEME.match(url)
    if not url:
        return rule, "REQUIRED"
    if scheme is None:
        return rule, "RELATIVE_URL"
    if scheme[0].strip().lower() not in SCHEMES:
        return rule, "UNSUPPORTED_SCHEME"
    return f"{rule} with a host and a port that the URL Standard takes", "MALFORMED_URL"
