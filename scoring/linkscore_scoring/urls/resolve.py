"""Hrefs of a page resolved by the URL Standard, those that its pages have in common once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from linkscore_scoring.urls.identity import MAX_URL_CHARS, SCHEMES, identity_of, parsed

MAX_CACHED_URLS = 100_000
"""Answers kept across pages, long ones counted for more: with `_ENTRY_CHARS` a bound of 40 M characters of
memory, chosen and not measured."""

# Characters of an href and its answer that count as one entry of the cache; usual ones have fewer.
_ENTRY_CHARS = 400

Answer = tuple[str, str] | str
"""(URL, identity), or the reason why there is none."""

_C0_OR_SPACE = "".join(map(chr, range(33)))
_ROOTED = ("/", "http://", "https://")
# What takes more from the page than its folder: a query, and "http:" without slashes; what hides it.
_OF_ONE_PAGE = re.compile(r"[\x00-\x20]*(?:[?#]|\Z|https?:(?!//))|.*[\t\n\r]", re.IGNORECASE | re.DOTALL)
# Schemes have a few letters; what follows them in a long href is not looked at.
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]{0,30}:)")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
# Bytes of an encoded query that are written as they are: printable ones out of the query percent-encode set.
_ENCODERS = {"big5hkscs": "cp950"}
"""What writes an encoding as the standard does, where the codec that reads it knows more characters."""
_PLAIN_BYTES = "!$%&()*+,-./:;=?@[\\]^_`{|}~"


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
        cache = cache or UrlCache()
        page = self._base.href.partition("?")[0]
        root, folder = "/".join(page.split("/", 3)[:3]), page.rpartition("/")[0]
        self._cache = cache
        self._rooted = cache.answers(f"{self._charset} {root}")
        self._relative = cache.answers(f"{self._charset} {folder}/")

    def resolve(self, href: str) -> Answer:
        """Return (URL without fragment, identity) of a raw href, or why it names no URL to crawl.

        Reasons: ``empty``, ``fragment``, ``scheme`` (not http or https), ``invalid``, ``too_long`` (as
        written, or absolute). An href longer than a URL may be is not resolved: what ``../`` would take off
        is not worth the time.
        """
        known = self._rooted if href.startswith(_ROOTED) else self._relative
        answer = known.get(href)
        if answer is None:
            answer = self._resolved(href.strip(_C0_OR_SPACE))
            if len(href) <= self.max_chars and not _OF_ONE_PAGE.match(href):
                known[href] = answer
                self._cache.size += 1 + (len(href) + sum(map(len, answer))) // _ENTRY_CHARS
        return answer

    def resolve_all(self, hrefs: Sequence[str], max_chars: int) -> list[Answer]:
        """Return `resolve` of each href, at the cost of two look-ups for those that are known.

        It ends early with the href by which URLs resolved anew have more than `max_chars` together.
        """
        found: list[Any] = list(map(self._rooted.get, hrefs, map(self._relative.get, hrefs)))
        for row in [row for row, answer in enumerate(found) if answer is None]:
            found[row] = answer = self.resolve(hrefs[row])
            max_chars -= 0 if isinstance(answer, str) else len(answer[0])
            if max_chars < 0:
                return found[: row + 1]
        return found

    def _resolved(self, name: str) -> Answer:
        name, mark, _ = name.partition("#")
        if not name and self._is_page:
            return "fragment" if mark else "empty"
        if len(name) > self.max_chars:
            scheme = _SCHEME.match(name)
            return "too_long" if scheme is None or scheme[1].lower() in SCHEMES else "scheme"
        try:
            # With the mark of its fragment: a blank before that is not at the end, and stays.
            url = self._base + f"{name if name.isascii() else self._with_query(name)}{mark}"
        except (ValueError, TypeError):  # TypeError: half a surrogate pair
            return "invalid"
        if url.protocol not in SCHEMES:
            return "scheme"
        found = url.href.removesuffix("#")
        return (found, identity_of(found)) if len(found) <= self.max_chars else "too_long"

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
        return "%80" if (text, charset) == ("€", "gbk") else f"%26%23{ord(text)}%3B"
    return "".join(_encoded(char, charset) for char in text)
