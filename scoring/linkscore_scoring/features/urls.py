"""URLs: identity, host, validation, and resolution of the hrefs of a page.

The identity of a URL is ``w3lib.url.canonicalize_url`` without fragment. That costs 30-50 us, so URLs whose
canonical form can be read off (plain characters, nothing escaped, no dot segments) take a short cut that
gives the same answer.
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import urljoin, urlsplit

from w3lib.url import canonicalize_url, safe_url_string

from linkscore_scoring.errors import InvalidInput, InvalidLink
from linkscore_scoring.features.types import Limits

MAX_CACHED_URLS = 100_000

_C0_OR_SPACE = "".join(map(chr, range(33)))
_TAB_OR_NEWLINE = str.maketrans("", "", "\t\n\r")
# Hrefs that are not a plain path: a scheme, "//host", a lone query, "\\", path parameters, an absolute path
# with dots.
_CAREFUL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//|\?|[^?]*[;\\]|/[^?]*/\.|/\.")
# Dot segments and empty segments, which urljoin takes out of relative paths.
_CAREFUL_FOLDER = re.compile(r"^[^?]*/[/.]|^\.|;")
_DEFAULT_PORT = {"http": ":80", "https": ":443"}
# What both safe_url_string and canonicalize_url leave as it is. "/." may begin a dot segment, ";" path
# parameters.
_ORIGIN = r"https?://[a-z0-9](?:[a-z0-9-]|\.(?=[a-z0-9]))*(?::[1-9][0-9]{0,3})?"
_PATH = r"(?:/(?!\.)(?:[A-Za-z0-9_~.:@!$&'()*+,=-]|%[89A-F][0-9A-F]|%20)*)+"
_PAIR = r"[A-Za-z0-9_.~-]+=[A-Za-z0-9_.~-]*"
_PLAIN = re.compile(rf"{_ORIGIN}{_PATH}(?:\?({_PAIR}(?:&{_PAIR})*))?", re.ASCII)
_ABSOLUTE = ("http://", "https://")


def identity(url: str) -> str:
    """Return the identity of an absolute URL: ``w3lib.url.canonicalize_url`` without fragment.

    Raises
    ------
    ValueError
        The port or the IPv6 host cannot be read.
    """
    plain = _PLAIN.fullmatch(url)
    if plain is None:
        return _canonical(url)
    query = plain[1]
    if query is None or "&" not in query:
        return url
    pairs = [pair.partition("=") for pair in query.split("&")]
    pairs.sort()
    return url[: plain.start(1)] + "&".join(map("".join, pairs))


def host_of(url: str) -> str:
    """Return ``host`` or ``host:port`` of an absolute URL, lower case, without user and default port.

    Raises
    ------
    ValueError
        The host cannot be read.
    """
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2].lower()
    return host.removesuffix(_DEFAULT_PORT.get(parts.scheme, ":")).removesuffix(":")


def validate_url(
    url: str, field: str, *, limits: Limits = Limits(), error: type[InvalidInput] = InvalidLink  # noqa: B008
) -> str:
    """Return the identity of a URL a client sent, if it is an absolute http(s) URL within `limits`.

    Raises
    ------
    InvalidInput
        As the type `error`, with `field`, the rule and the value got; reason ``INVALID_URL``.
    """
    rule = _broken_rule(url, limits)
    if not rule:
        try:
            return identity(url)
        except ValueError as problem:
            rule = f"must be a URL that can be parsed ({problem})"
    raise error(f"{rule}, got {url[:200]!r}", field=field, reason="INVALID_URL")


def _broken_rule(url: str, limits: Limits) -> str:
    if len(url) > limits.url_chars:
        return f"must have at most {limits.url_chars} characters"
    try:
        parts = urlsplit(url)
        usable = parts.scheme in _DEFAULT_PORT and bool(parts.hostname)
    except ValueError:
        usable = False
    return "" if usable else "must be an absolute http or https URL"


@lru_cache(maxsize=16_384)
def _canonical(url: str) -> str:
    return str(canonicalize_url(url))


class UrlCache:
    """Answers of `UrlResolver` kept across pages: the navigation links of a site are resolved once.

    It is emptied when it holds `max_urls`; it never changes an answer.
    """

    def __init__(self, max_urls: int = MAX_CACHED_URLS) -> None:
        self.max_urls = max_urls
        self.answers: dict[str, tuple[str, str] | str] = {}

    def put(self, name: str, answer: tuple[str, str] | str) -> None:
        """Remember an answer, making room when there is none."""
        if len(self.answers) >= self.max_urls:
            self.answers.clear()
        self.answers[name] = answer


class UrlResolver:
    """Resolves the hrefs of one page as ``safe_url_string(urljoin(base, href))`` does, by concatenation where
    it can.

    Parameters
    ----------
    base_url
        Absolute http(s) URL: the page's, or its ``<base href>``.
    limits
        `Limits.url_chars` bounds a link.
    charset
        Encoding of the page: browsers encode the queries of its links in it.
    cache
        Shared between pages; a new one if none is given.
    """

    def __init__(
        self, base_url: str, limits: Limits | None = None, *, charset: str = "utf-8", cache: UrlCache | None =
        None
    ) -> None:
        parts = urlsplit(base_url)
        folder = parts.path.rpartition("/")[0]
        self.base_url = base_url
        self._max_chars = (limits or Limits()).url_chars
        self._charset = charset
        self._cache = cache or UrlCache()
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._folder = f"{self._origin}{folder}/"
        self._folder_is_plain = _CAREFUL_FOLDER.search(f"{folder}/") is None

    def resolve(self, href: str) -> tuple[str, str] | str:
        """Return (URL without fragment, identity) of a raw href, or the reason why it names no crawlable URL.

        Reasons: ``empty``, ``fragment``, ``scheme`` (not http or https), ``invalid``, ``too_long``.
        """
        name = href.partition("#")[0].strip(_C0_OR_SPACE)
        if not name:
            return "fragment" if "#" in href else "empty"
        if not name.isprintable():
            name = name.translate(_TAB_OR_NEWLINE)
        joined = self._join(name)
        return self._cache.answers.get(joined) or self._settle(joined)

    def _join(self, name: str) -> str:
        """Return the absolute URL, or base, line feed and name when joining them takes more than concatenation."""
        if name.startswith(_ABSOLUTE):
            return name
        if _CAREFUL.match(name):
            return f"{self.base_url}\n{name}"
        if name[0] == "/":
            return self._origin + name
        if _CAREFUL_FOLDER.search(name):
            return f"{self._folder}\n{name}"
        if self._folder_is_plain:
            return self._folder + name
        return f"{self.base_url}\n{name}"

    def _settle(self, joined: str) -> tuple[str, str] | str:
        if len(joined) > self._max_chars + len(self.base_url):
            return "too_long"
        answer = self._answer(joined)
        if joined.isascii() or self._charset == "utf-8":
            self._cache.put(joined, answer)
        return answer

    def _answer(self, joined: str) -> tuple[str, str] | str:
        try:
            url = joined if _PLAIN.fullmatch(joined) else self._join_by_the_rules(joined)
            key = identity(url) if url else ""
        except ValueError:
            return "invalid"
        if not url:
            return "scheme"
        return (url, key) if len(url) <= self._max_chars else "too_long"

    def _join_by_the_rules(self, joined: str) -> str:
        base, found, name = joined.partition("\n")
        url = str(safe_url_string(urljoin(base, name) if found else joined, encoding=self._charset))
        parts = urlsplit(url)
        if parts.scheme not in _DEFAULT_PORT:
            return ""
        if not parts.hostname:
            raise ValueError("no host")
        return parts._replace(fragment="").geturl()
