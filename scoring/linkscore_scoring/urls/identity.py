"""URLs: identity, host and validation.

The identity of a URL is ``w3lib.url.canonicalize_url`` without fragment. That costs 30-50 us, so URLs whose
canonical form can be read off (plain characters, nothing escaped, no dot segments) take a short cut that
gives the same answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import urljoin, urlsplit

from w3lib.url import canonicalize_url

from linkscore_scoring.errors import InvalidInput, InvalidLink
from linkscore_scoring.urls.hosts import with_ascii_host

SCHEMES = ("http", "https")

MAX_URL_CHARS = 2_083
"""Longest URL taken unless told otherwise: what Internet Explorer took at most; chosen, not measured."""

MAX_PARAMETERS = 100
"""Parameters of a query that are put in order; the query of more is taken as it is. Each costs up to 4 us,
and 2,083 characters hold 1,000. Chosen, not measured."""

_DEFAULT_PORT = {"http": ":80", "https": ":443"}
# What both safe_url_string and canonicalize_url leave as it is. "/." may begin a dot segment, ";" path
# parameters.
_HOST = r"[a-z0-9](?:[a-z0-9-]|\.(?=[a-z0-9]))*(?::[1-9][0-9]{0,3})?"
_ORIGIN = rf"https?://{_HOST}"
_PATH = r"(?:/(?!\.)(?:[A-Za-z0-9_~.:@!$&'()*+,=-]|%[89A-F][0-9A-F]|%20)*)+"
# A query value: what stays, what is always escaped, and escapes of characters that are never unescaped.
_ESCAPE = r"%(?:[01][0-9A-F]|2[1-9A-CF]|3[A-F]|40|5[B-E]|60|7[B-DF]|[89A-F][0-9A-F])"
_PAIR = rf"(?:[A-Za-z0-9_.~-]|%[89A-F][0-9A-F])+=(?:[A-Za-z0-9_.~:/,@!$()*?=+-]|{_ESCAPE})*"
_QUOTED = str.maketrans({char: f"%{ord(char):02X}" for char in ":/,@!$()*?="})
_PLAIN_HOST = re.compile(rf"(https?)://({_HOST})(?=[/?#]|\Z)", re.ASCII)
_PLAIN = re.compile(rf"{_ORIGIN}{_PATH}(?:\?({_PAIR}(?:&{_PAIR})*))?", re.ASCII)


def identity(url: str) -> str:
    """Return the identity of an absolute URL: ``w3lib.url.canonicalize_url`` without fragment.

    Raises
    ------
    ValueError
        The port or the IPv6 host cannot be read.

    Examples
    --------
    >>> identity("HTTP://A.example/b?y=1&x=2#top")
    'http://a.example/b?x=2&y=1'
    """
    plain = plain_identity(url)
    return _canonical(url) if plain is None else plain


def plain_identity(url: str) -> str | None:
    """Return the identity of an absolute http(s) URL that needs no repair and no rules, None of any other."""
    plain = _PLAIN.fullmatch(url)
    if plain is None:
        return None
    query = plain[1]
    if query is None:
        return url
    if "&" not in query:
        key, _, value = query.partition("=")
        return f"{url[: plain.start(1)]}{key}={value.translate(_QUOTED)}"
    pairs = sorted(pair.split("=", 1) for pair in query.split("&"))
    # Of equal keys the values are sorted as they are unescaped, and so are keys that hold escapes.
    if len({key for key, _ in pairs}) < len(pairs) or any("%" in key for key, _ in pairs):
        return _canonical(url)
    return url[: plain.start(1)] + "&".join([f"{key}={value.translate(_QUOTED)}" for key, value in pairs])


# A crawler that scores its frontier again sends the same links again.
_remembered = lru_cache(maxsize=32_768)(plain_identity)
# Longer URLs are not remembered, so that memory is bounded in bytes: 49,152 answers of twice so many. Of the
# links of 400 stored pages one in a thousand is longer.
_REMEMBERED_CHARS = 512


def is_plain(url: str) -> bool:
    """Say whether `url` is an absolute http(s) URL that needs no repair and no rules to be identified."""
    return remembered_identity(url) is not None


def remembered_identity(url: str) -> str | None:
    """Return `plain_identity` of a URL that is likely to be asked for again."""
    return _remembered(url) if len(url) <= _REMEMBERED_CHARS else plain_identity(url)


def browser_form(url: str) -> str:
    """Return an absolute URL as crawlers that follow the URL standard write it: no user, default port or dot
    segments.

    Examples
    --------
    >>> browser_form("http://me@A.example:80/b/../c/./d?x=1")
    'http://a.example/c/d?x=1'
    """
    parts = urlsplit(url)
    path = urlsplit(urljoin("http://host/", parts.path)).path if "/." in parts.path else parts.path
    return parts._replace(netloc=host_of(url), path=path or "/").geturl()


def host_of(url: str) -> str:
    """Return ``host`` or ``host:port`` of an absolute URL, lower case, without user and default port.

    Raises
    ------
    ValueError
        The host cannot be read.
    """
    plain = _PLAIN_HOST.match(url)  # a fifth of the cost
    if plain is not None:
        return plain[2].removesuffix(_DEFAULT_PORT[plain[1]])
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2].lower()
    return host.removesuffix(_DEFAULT_PORT.get(parts.scheme, ":")).removesuffix(":")


def validate_url(
    url: str,
    field: str,
    *,
    max_chars: int = MAX_URL_CHARS,
    error: type[InvalidInput] = InvalidLink,
) -> str:
    """Return the identity of a URL a client sent, if it is an absolute http(s) URL of at most `max_chars`.

    Raises
    ------
    InvalidInput
        As the type `error`, with `field`, the rule and the value got; reason ``REQUIRED``, ``INVALID_VALUE``
        (too long), ``RELATIVE_URL``, ``UNSUPPORTED_SCHEME`` or ``MALFORMED_URL``.
    """
    if len(url) <= max_chars:
        plain = remembered_identity(url)
        if plain is not None:
            return plain
    rule, reason = _broken_rule(url, max_chars)
    if not rule:
        try:
            return identity(url)
        except ValueError as problem:
            rule, reason = f"must be a URL that can be parsed ({problem})", "MALFORMED_URL"
    raise error(f"{rule}, got {url[:200]!r}", field=field, reason=reason)


def plain_identities(urls: Sequence[str], *, max_chars: int = MAX_URL_CHARS) -> list[str | None]:
    """Return what `validate_url` would of each URL that needs no repair, None of the others."""
    most = min(max_chars, _REMEMBERED_CHARS)
    return [_remembered(url) if len(url) <= most else None for url in urls]


def _broken_rule(url: str, max_chars: int) -> tuple[str, str]:
    """Return the rule a URL breaks and the reason of the error, both empty if it breaks none."""
    if len(url) > max_chars:
        return f"must have at most {max_chars} characters", "INVALID_VALUE"
    if is_plain(url):
        return "", ""
    rule = "must be an absolute http or https URL"
    if not url:
        return rule, "REQUIRED"
    try:
        parts = urlsplit(with_ascii_host(url))
        host = parts.hostname
    except ValueError as problem:
        return f"{rule} ({problem})", "MALFORMED_URL"
    if not parts.scheme:
        return rule, "RELATIVE_URL"
    if parts.scheme not in SCHEMES:
        return rule, "UNSUPPORTED_SCHEME"
    return ("", "") if host else (f"{rule} with a host", "MALFORMED_URL")


def _canonical(url: str) -> str:
    return _known_canonical(url) if len(url) <= _REMEMBERED_CHARS else _canonicalized(url)


def _canonicalized(url: str) -> str:
    page, mark, query = url.partition("#")[0].partition("?")
    if query.count("&") < MAX_PARAMETERS:
        return str(canonicalize_url(with_ascii_host(url)))
    return f"{canonicalize_url(with_ascii_host(page))}{mark}{query}"


_known_canonical = lru_cache(maxsize=16_384)(_canonicalized)
