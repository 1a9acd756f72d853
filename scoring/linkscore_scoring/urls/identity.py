"""URLs: parsed and resolved by the URL Standard (can_ada), and what makes two of them the same page.

The identity of a page is its URL as the standard writes it, without fragment, and by rules of ours on top: an
escape is written in one way, pairs of a query stand in the order of their names, what is empty is left out.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import compress, count
from operator import itemgetter, not_
from typing import Any
from urllib.parse import quote

import can_ada
import webencodings

from linkscore_scoring.errors import InvalidInput, InvalidLink

SCHEMES = ("http:", "https:")

MAX_URL_CHARS = 2_083
"""Longest URL taken unless told otherwise: what Internet Explorer took at most; chosen, not measured."""

MAX_PARAMETERS = 100
"""Pairs of a query that are put in order; the query of more is taken as it is. 2,083 characters hold 1,000.
Chosen, not measured."""

# Schemes have a few letters; what follows them in a long href is not looked at.
_SCHEME = re.compile(r"[\x00-\x20]*([a-zA-Z][a-zA-Z0-9+.-]{0,30}:)")
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


def known_identity(url: str) -> str:
    """Return the identity of a URL that was validated before; the URL itself if it has none."""
    try:
        return identity(url)
    except ValueError:
        return url


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
    written = _IN_QUERY.sub(_in_query, query)
    pairs = list(filter(None, written.split("&")))
    if len(pairs) > MAX_PARAMETERS:
        return f"{page}?{query}"
    if len(pairs) > 1 and all("=" in pair for pair in pairs):  # without names, places may mean something
        pairs.sort(key=lambda pair: pair.partition("=")[0])
    return f"{page}?{'&'.join(pairs)}" if pairs else page


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
    if scheme[1].lower() not in SCHEMES:
        return rule, "UNSUPPORTED_SCHEME"
    return f"{rule} with a host and a port that the URL Standard takes", "MALFORMED_URL"


MAX_CACHED_URLS = 100_000
"""Answers kept across pages, long ones counted for more: with `_ENTRY_CHARS` a bound of 40 M characters of
memory, chosen and not measured."""

# Characters of an href and its answer that count as one entry of the cache; usual ones have fewer.
_ENTRY_CHARS = 400

Answer = tuple[str, str]
"""(URL, identity); an empty URL and the reason where there is none."""

_C0_OR_SPACE = "".join(map(chr, range(33)))
_ROOTED = ("/", "http://", "https://")
# What takes more from the page than its folder: a query, and "http:" without slashes.
_OF_ONE_PAGE = re.compile(r" *(?:[?#]|\Z|https?:(?!//))", re.IGNORECASE)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
# Bytes of an encoded query that are written as they are: printable ones out of the query percent-encode set.
_ENCODERS = {"big5hkscs": "cp950"}
"""What writes an encoding as the standard does, where the codec that reads it knows more characters."""
codecs.register({"x_user_defined": webencodings.lookup("x-user-defined").codec_info}.get)
_PLAIN_BYTES = "!$%&()*+,-./:;=?@[\\]^_`{|}~"


class UrlCache:
    """Answers of `UrlResolver` kept across pages: the navigation links of a site are resolved once.

    It forgets all when it holds more than `max_urls`; it never changes an answer.
    """

    def __init__(self, max_urls: int = MAX_CACHED_URLS) -> None:
        self.max_urls = max_urls
        self.size = 0
        self.answers: dict[str, dict[str, Answer]] = {}  # by context, such as a folder


class UrlResolver:
    """Resolves the hrefs of one page.

    `base_url`: absolute http(s) URL: the page's, or its ``<base href>``. ValueError if it is none.
    `max_chars`: longest URL of a link. `charset`: encoding of the page: browsers encode the queries of its
    links in it. `cache`: shared between pages read with the same `max_chars`; a new one if none is given.
    `is_page`: whether the base is the page itself, to which ``#top`` leads then.
    """

    def __init__(
        self,
        base_url: str,
        *,
        max_chars: int = MAX_URL_CHARS,
        charset: str = "utf-8",
        cache: UrlCache | None = None,
        is_page: bool = True,
    ) -> None:
        self.max_chars = max_chars
        self._is_page = is_page
        self._base = parsed(base_url)
        self._charset = "utf-8" if charset.startswith("utf") else charset
        self._cache = cache = cache or UrlCache()
        if cache.size > cache.max_urls:
            cache.answers.clear()
            cache.size = 0
        page, known = self._base.href.partition("?")[0], cache.answers
        contexts = len(known)
        root, folder = "/".join(page.split("/", 3)[:3]), page.rpartition("/")[0]
        self._rooted, self._relative = (
            known.setdefault(f"{self._charset} {context}", {}) for context in (root, f"{folder}/")
        )
        cache.size += len(known) - contexts

    def resolve(self, href: str) -> Answer:
        """Return (URL without fragment, identity) of a raw href, or ("", why it names no URL to crawl).

        Reasons: ``empty``, ``fragment``, ``scheme`` (not http or https), ``invalid``, ``too_long`` (as
        written, or absolute). An href longer than a URL may be is not resolved: what ``../`` would take off
        is not worth the time.
        """
        known = self._rooted if href.startswith(_ROOTED) else self._relative
        answer = known.get(href)
        if answer is not None:
            return answer
        name, mark, _ = href.strip(_C0_OR_SPACE).partition("#")
        if not name and self._is_page:
            answer = "", "fragment" if mark else "empty"
        elif len(name) > self.max_chars:
            scheme = _SCHEME.match(name)
            answer = "", "too_long" if scheme is None or scheme[1].lower() in SCHEMES else "scheme"
        else:
            try:
                # With the mark of its fragment: a blank before that is not at the end, and stays.
                url = self._base + f"{name if name.isascii() else self._with_query(name)}{mark}"
                found = url.href.removesuffix("#")
                if not found.startswith(("http://", "https://")):
                    answer = "", "scheme"
                else:
                    fits = len(found) <= self.max_chars
                    answer = (found, identity_of(found)) if fits else ("", "too_long")
            except (ValueError, TypeError):  # TypeError: half a surrogate pair
                answer = "", "invalid"
        if len(href) <= self.max_chars and href.isprintable() and not _OF_ONE_PAGE.match(href):
            known[href] = answer
            self._cache.size += 1 + (len(href) + len(answer[0]) + len(answer[1])) // _ENTRY_CHARS
        return answer

    def resolve_all(self, hrefs: Sequence[str], max_chars: int) -> tuple[list[str], list[str]]:
        """Return the columns of `resolve` of each href, at the cost of two look-ups for what is known.

        It ends early with the href by which URLs resolved anew have more than `max_chars` together.
        """
        found: list[Any] = list(map(self._rooted.get, hrefs, map(self._relative.get, hrefs)))
        for row in compress(count(), map(not_, found)):
            found[row] = answer = self.resolve(hrefs[row])
            max_chars -= len(answer[0])
            if max_chars < 0:
                del found[row + 1 :]
        return list(map(itemgetter(0), found)), list(map(itemgetter(1), found))

    def _with_query(self, name: str) -> str:
        """Return an href whose query is escaped in the encoding of the page (URL Standard, 1.3)."""
        address, mark, query = name.partition("?")
        if not mark or self._charset == "utf-8":
            return name
        return f"{address}?{_NOT_ASCII.sub(lambda run: _encoded(run[0], self._charset), query)}"


def _encoded(text: str, charset: str) -> str:
    """Return a text percent-encoded after encoding: what the encoding has not is ``&#N;``, escaped."""
    try:
        written = text.encode(_ENCODERS.get(charset, charset))
        if charset != "euc_jp" or b"\x8f" not in written:  # JIS X 0212 is read only
            return quote(written, safe=_PLAIN_BYTES)
    except LookupError:  # no encoder: the standard takes UTF-8
        return text
    except UnicodeError:
        pass
    if len(text) == 1:
        byte = 128 if (text, charset) == ("€", "gbk") else chars_of_bytes(charset)[:160].find(text)
        return f"%{byte:X}" if byte >= 0 else f"%26%23{ord(text)}%3B"
    return "".join(_encoded(char, charset) for char in text)


@lru_cache
def chars_of_bytes(charset: str) -> str:
    """Return the character of each byte in an encoding that has one byte for each, empty in others.

    Bytes that Python's codec has no character for are controls, as the standard has it, or U+FFFD.
    """
    if not charset.startswith(("cp8", "cp12", "iso8859", "koi8", "mac")):
        return ""
    known = (bytes([byte]).decode(charset, "ignore") for byte in range(256))
    return "".join(char or chr(byte if byte < 160 else 0xFFFD) for byte, char in enumerate(known))
