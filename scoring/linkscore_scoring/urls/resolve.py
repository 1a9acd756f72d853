"""Resolution of the hrefs of a page as ``urljoin`` does it, by concatenation where that is enough."""

from __future__ import annotations

import re
from urllib.parse import quote, urljoin, urlsplit

from w3lib.url import safe_url_string

from linkscore_scoring.urls.hosts import with_ascii_host
from linkscore_scoring.urls.identity import MAX_URL_CHARS, SCHEMES, identity, is_plain, plain_identity

MAX_CACHED_URLS = 100_000
"""Answers kept across pages, long ones counted for more: with `_ENTRY_CHARS` a bound of 40 M characters of
memory, chosen and not measured."""

# Characters of an href and its answer that count as one entry of the cache; usual ones have fewer.
_ENTRY_CHARS = 400

Answer = tuple[str, str] | str
"""(URL, identity), or the reason why there is none."""

_C0_OR_SPACE = "".join(map(chr, range(33)))
_TAB_OR_NEWLINE = str.maketrans("", "", "\t\n\r")
_ABSOLUTE = ("http://", "https://")
_ROOTED = ("/", "http://", "https://")
# Not to be concatenated: a scheme, "//host", a query alone, path parameters, "\\", dots in a rooted path.
_CAREFUL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//|\?|[^?]*[;\\]|/[^?]*/\.|/\.")
# Dot segments, and empty segments, which urljoin takes out of relative paths.
_UNEVEN = re.compile(r"[^?]*/[/.]|[./]")
# Schemes have a few letters; what follows them in a long href is not looked at.
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]{0,30}):")
# Hrefs that take more from the page than its folder: a query, an empty host, "http:" without slashes.
_OF_ONE_PAGE = re.compile(r"\?|//(?![a-zA-Z0-9])|https?:(?!//)", re.IGNORECASE)
_ASCII = bytes(range(128))


class UrlCache:
    """Answers of `UrlResolver` kept across pages: the navigation links of a site are resolved once.

    It forgets all when it holds more than `max_urls`; it never changes an answer.
    """

    def __init__(self, max_urls: int = MAX_CACHED_URLS) -> None:
        self.max_urls = max_urls
        self.size = 0
        self._answers: dict[str, dict[str, Answer]] = {}

    def answers(self, context: str) -> dict[str, Answer]:
        """Return the answers known in a context, such as a folder."""
        if self.size > self.max_urls:
            self._answers.clear()
            self.size = 0
        found = self._answers.get(context)
        if found is None:
            found = self._answers[context] = {}
            self.size += 1
        return found


class UrlResolver:
    """Resolves the hrefs of one page.

    Parameters
    ----------
    base_url
        Absolute http(s) URL: the page's, or its ``<base href>``.
    max_chars
        Longest URL of a link.
    charset
        Encoding of the page: browsers encode the queries of its links in it.
    cache
        Shared between pages read with the same `max_chars`; a new one if none is given.

    Attributes
    ----------
    origin, folder
        What rooted hrefs and relative ones are put behind, as far as that is enough: without a slash at the
        end, and with one.
    is_even
        Whether nothing in the folder keeps relative hrefs from being put behind it.
    """

    def __init__(
        self,
        base_url: str,
        *,
        max_chars: int = MAX_URL_CHARS,
        charset: str = "utf-8",
        cache: UrlCache | None = None,
    ) -> None:
        base_url = base_url if is_plain(base_url) else str(safe_url_string(with_ascii_host(base_url)))
        page = base_url.partition("#")[0].partition("?")[0]
        start = page.index("//") + 2
        slash = page.find("/", start)
        cache = cache or UrlCache()
        self.base_url = base_url
        self.origin = page if slash < 0 else page[:slash]
        self.folder = f"{page if slash < 0 else page.rpartition('/')[0]}/"
        self.is_even = ";" not in page and not _UNEVEN.match(self.folder[start:])
        self.max_chars = max_chars
        self.charset = charset
        self._cache = cache
        self._rooted = cache.answers(f"{charset} {self.origin}")
        self._relative = cache.answers(f"{charset} {self.folder}")
        self._absolute = cache.answers(charset)

    def resolve(self, href: str) -> Answer:
        """Return (URL without fragment, identity) of a raw href, or why it names no URL to crawl.

        The URL is ``safe_url_string(urljoin(base_url, href))`` in the encoding of the page. Reasons:
        ``empty``, ``fragment``, ``scheme`` (not http or https), ``invalid``, ``too_long`` (as written, or
        absolute). An href longer than a URL may be is not resolved: what ``../`` would take off is not
        worth the time.
        """
        known = self._rooted if href.startswith(_ROOTED) else self._relative
        answer = known.get(href)
        if answer is None:
            name = href.partition("#")[0].strip(_C0_OR_SPACE).translate(_TAB_OR_NEWLINE)
            answer = self._find(name) if name else "fragment" if "#" in href else "empty"
            if len(href) <= self.max_chars and not _OF_ONE_PAGE.match(name):
                self._remember(known, href, answer)
        return answer

    def _remember(self, known: dict[str, Answer], name: str, answer: Answer) -> None:
        known[name] = answer
        self._cache.size += 1 + (len(name) + sum(map(len, answer))) // _ENTRY_CHARS

    def _find(self, name: str) -> Answer:
        if len(name) > self.max_chars:
            scheme = _SCHEME.match(name)
            return "too_long" if scheme is None or scheme[1].lower() in SCHEMES else "scheme"
        joined = self._join(name)
        if not joined:
            return self._answer(self._join_by_the_rules(name))
        answer = self._absolute.get(joined)
        if answer is None:
            answer = self._answer(joined)
            if len(joined) <= self.max_chars:
                self._remember(self._absolute, joined, answer)
        return answer

    def _join(self, name: str) -> str:
        """Return the absolute URL, empty if it takes more than concatenation."""
        if name.startswith(_ABSOLUTE):
            return "" if ";" in name else name
        if _CAREFUL.match(name):
            return ""
        if name[0] == "/":
            return self.origin + name
        folder = self.folder
        while name[:2] == ".." and name[2:3] == "/" and self.is_even:
            folder = folder if folder == f"{self.origin}/" else f"{folder[:-1].rpartition('/')[0]}/"
            name = name[3:]
        if name[:2] == "./":
            name = name[2:]
        return "" if not self.is_even or _UNEVEN.match(name) else folder + name

    def _join_by_the_rules(self, name: str) -> str:
        # urljoin drops an empty query and empty parameters: a blank before would stand last, and be stripped.
        if name.endswith((";", "?")) and not _SCHEME.match(name) and not name.startswith("//"):
            name = name.replace(" ", "%20")
        try:
            return urljoin(self.base_url, name)
        except ValueError:
            return "http://[invalid"

    def _answer(self, url: str) -> Answer:
        key = plain_identity(url) if len(url) <= self.max_chars else None
        if key is None and not url.isascii():
            escaped = _escaped(url, self.charset)
            key = plain_identity(escaped) if len(escaped) <= self.max_chars else None
            url = escaped if key else url
        if key is None:
            try:
                url = with_ascii_host(url)
                url = str(safe_url_string(url, encoding=self.charset, path_encoding="utf-8"))
                parts = urlsplit(url)
                if parts.scheme not in SCHEMES:
                    return "scheme"
                if not parts.hostname:
                    return "invalid"
                url = parts._replace(fragment="").geturl()
            except (ValueError, LookupError):
                return "invalid"
        return (url, key or identity(url)) if len(url) <= self.max_chars else "too_long"


def _escaped(url: str, charset: str) -> str:
    """Return a URL with all escaped that is not ASCII, the query in `charset`; empty if that is not possible.

    What is plain then is what ``safe_url_string`` gives, at a fifth of the cost.
    """
    path, mark, query = url.partition("?")
    if charset.startswith("utf-16"):
        return ""  # its encoder says the byte order first, also of no query
    try:
        raw = f"{path}{mark}".encode() + query.encode(charset)
    except (UnicodeError, LookupError):
        return ""
    return quote(raw, safe=_ASCII)
