"""Session ids in URLs, learned from the links of a crawl, so that one page has one URL (Jiang 2013)."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from linkscore_scoring.errors import reading_state
from linkscore_scoring.features.hashing import hash64
from linkscore_scoring.site.session_shapes import LIKELY_NAMES, SURE_NAMES, looks_random

MAX_KEYS = 200
MAX_RESTS = 300
"""Names told apart, and links remembered of each."""

_LEAST_CHANGED = 3
_IN_PATH = re.compile(r"(?i);(?:jsessionid|phpsessid|sid|sessionid)=[^/?#]*|/\([a-z]\([a-z0-9]{16,}\)\)(?=/)")


@dataclass(slots=True)
class _Name:
    """What was seen of the random values of one query key, or of one place in paths.

    Attributes
    ----------
    one, many
        Fetches in which all its links had one value, and in which they had several.
    changed, kept
        Links seen again, else equal, with another value and with the same.
    values
        Hash of the rest of a link -> hash of its value; bounded, oldest first.
    page
        URL of the first page it was seen on.
    """

    one: int = 0
    many: int = 0
    changed: int = 0
    kept: int = 0
    values: OrderedDict[int, int] = field(default_factory=OrderedDict)
    page: str = ""


class SessionIds:
    """Tells session ids from content in the URLs of a site, and takes them out.

    A name is a query key in lower case, or the place of a path segment (``/2``). Only values that look random
    are looked at: at least 16 letters and digits, mixed. A name is one of session ids if

    - it is a usual one (``phpsessid``), or a likely one (``s``, ``sid``) with a random value; or
    - links seen again, equal in all else, came with another value, in most of the cases and three at least;

    unless fetches showed several values of it more often than one: those tell pages apart. So
    ``s=garden+chair`` and ``sid=1234`` stay, and so does a key that is the hash of an article.

    Notes
    -----
    `see` costs O(characters), `strip` too; memory O(`MAX_KEYS` x `MAX_RESTS`).

    Differences from the paper, which requests a page several times: links seen from several pages are the
    evidence, and a page fetched again adds to it; `refetch_wanted` names one that would settle a doubt.
    """

    def __init__(self) -> None:
        self._names: dict[str, _Name] = {}

    def see(self, page_url: str, urls: Sequence[str]) -> None:
        """Learn from the links of one fetch.

        Parameters
        ----------
        page_url
            URL of the page.
        urls
            URLs of its links, as found.
        """
        found: dict[str, list[tuple[int, int]]] = {}
        for url in dict.fromkeys(urls):
            for name, value, rest in _candidates(url):
                found.setdefault(name, []).append((rest, value))
        for name, links in found.items():
            if name in self._names or len(self._names) < MAX_KEYS:
                self._count(self._names.setdefault(name, _Name(page=page_url)), links)

    def is_session_id(self, name: str, value: str) -> bool:
        """Say whether a value of a query key is a session id, as far as is known."""
        known, lower = self._names.get(name.lower()), name.lower()
        if known is not None and known.many > known.one:
            return False
        if lower in SURE_NAMES:
            return SURE_NAMES[lower].fullmatch(value) is not None
        if not looks_random(value):
            return False
        return lower in LIKELY_NAMES or (known is not None and _changes(known))

    def strip(self, url: str) -> str:
        """Return a URL without session ids; all else stays as it is.

        The answer may change while the site is learned. Cost O(characters).
        """
        address, mark, query = url.partition("?")
        if ";" in address or "/(" in address:
            address = _IN_PATH.sub("", address)
        address = self._strip_path(address)
        if not mark:
            return address
        kept = [pair for pair in query.split("&") if not self._is_session_pair(pair)]
        return f"{address}?{'&'.join(kept)}" if kept else address

    def names(self) -> list[str]:
        """Return the names that were learned to be of session ids, without those known from the start."""
        return [name for name, known in self._names.items() if _changes(known) and known.many <= known.one]

    def refetch_wanted(self) -> str:
        """Return the URL of a page that should be fetched again to settle a doubt; empty if there is none.

        A doubt is a name that came with one random value on a page, and was not seen with other links since.
        """
        for name, known in self._names.items():
            usual = name in SURE_NAMES or name in LIKELY_NAMES
            if (
                known.one
                and not known.many
                and not known.changed
                and known.kept < _LEAST_CHANGED
                and not usual
            ):
                return known.page
        return ""

    def _count(self, known: _Name, links: list[tuple[int, int]]) -> None:
        if len({value for _, value in links}) > 1:
            known.many += 1
            return
        known.one += len(links) > 1
        for rest, value in links:
            before = known.values.pop(rest, None)
            known.changed += before is not None and before != value
            known.kept += before == value
            known.values[rest] = value
        while len(known.values) > MAX_RESTS:
            known.values.popitem(last=False)

    def _is_session_pair(self, pair: str) -> bool:
        name, _, value = pair.partition("=")
        return self.is_session_id(name, value)

    def _strip_path(self, address: str) -> str:
        if not any(name.startswith("/") for name in self._names):
            return address
        segments = address.split("/")
        return "/".join(
            segment
            for at, segment in enumerate(segments)
            if at < _FIRST_SEGMENT or not self.is_session_id(f"/{at - _FIRST_SEGMENT}", segment)
        )

    def to_state(self) -> list[Any]:
        """Return what is known as plain values."""
        return [
            [name, known.one, known.many, known.changed, known.kept, known.page, list(known.values.items())]
            for name, known in self._names.items()
        ]

    def load_state(self, state: list[Any]) -> None:
        """Take over what `to_state` gave.

        Raises
        ------
        CorruptState
            If a row is malformed.
        """
        with reading_state("session ids"):
            self._names = {
                str(name): _Name(int(one), int(many), int(changed), int(kept), OrderedDict(values), str(page))
                for name, one, many, changed, kept, page, values in state
            }


_FIRST_SEGMENT = 3
"""Where paths begin in a URL split at slashes."""


def _changes(known: _Name) -> bool:
    return known.changed >= _LEAST_CHANGED and known.changed > known.kept


def _candidates(url: str) -> list[tuple[str, int, int]]:
    """Return name, value and rest, both as hashes, of each random value in a URL."""
    address, _, query = url.partition("?")
    found: list[tuple[str, int, int]] = []
    pairs = query.split("&") if query else []
    for at, pair in enumerate(pairs):
        name, _, value = pair.partition("=")
        if looks_random(value):
            rest = f"{address}?{'&'.join(pairs[:at] + pairs[at + 1 :])}"
            found.append((name.lower(), hash64(value), hash64(rest)))
    segments = address.split("/")
    for at, segment in enumerate(segments[_FIRST_SEGMENT:], start=_FIRST_SEGMENT):
        if looks_random(segment):
            rest = "/".join(segments[:at] + segments[at + 1 :])
            found.append((f"/{at - _FIRST_SEGMENT}", hash64(segment), hash64(f"{rest}?{query}")))
    return found
