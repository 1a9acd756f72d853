"""Session ids in URLs, learned from the links of a crawl, so that one page has one URL (Jiang 2013)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, pairwise
from operator import itemgetter

from linkscore_scoring.columns import Remembered, drop_oldest
from linkscore_scoring.hashing import hash64
from linkscore_scoring.state import Stateful, Stored

LEAST_CHARS = 16
"""Shortest value that may look drawn; shorter ids are not found (docs/reference/recognition.md). Chosen."""

_SURE = """
phpsessid jsessionid sessionid session_id sessid oscsid xtcsid zenid mscssid aspsessionid sessionkey
plsessionid wosid cfid cftoken
"""
SURE_NAMES = frozenset(_SURE.split())
"""Names that are those of session ids on most sites: a value that looks drawn is one at once."""

_COLDFUSION = frozenset({"cfid", "cftoken"})
"""ColdFusion writes both, and short numbers: together they are a session, alone anything."""

_PARTS, _LEAST_PART = re.compile("[-_.,!]"), 8
_LETTERS = re.compile("[A-Z]{20,}")
"""What IIS draws: ids of capital letters alone."""

LIKELY_NAMES = frozenset({"s", "sid", "sess", "session", "ssid", "sessionhash", "hash_session"})
"""Names that are also those of searches and stories: their values must look random."""

# Changes between letters and digits from which a text is taken for drawn: slugs with a year or a number have
# two. A random hexadecimal text of 16 characters has seven in the mean. Chosen, not measured.
_LEAST_TURNS = 4


def looks_random(value: str) -> bool:
    """Say whether a text looks drawn: 16 letters and digits or more, changing between them 4 times or more.

    Hyphens are passed over (UUIDs have them); slugs such as ``ten-cars-of-2016`` change too rarely.
    """
    if len(value) < LEAST_CHARS or len(value) > 128:
        return False
    plain = value.replace("-", "").replace("_", "")
    if len(plain) < LEAST_CHARS or not (plain.isascii() and plain.isalnum()):
        return False
    return _turns(plain) >= _LEAST_TURNS


def _turns(text: str) -> int:
    """Count the changes between digits and others."""
    return sum(a.isdigit() != b.isdigit() for a, b in pairwise(text))


def looks_drawn(value: str) -> bool:
    """Say whether a value of a sure name is drawn, and not a number or a name that tells pages apart.

    Words with numbers (``day2-talk3-hall5-east``) are none: no part of them is long and mixed.
    """
    parts = _PARTS.split(value)  # of servers, of PHP, of WebLogic
    is_mixed = any(len(part) >= _LEAST_PART and _turns(part) > 1 for part in parts)
    return (is_mixed and looks_random("".join(parts))) or _LETTERS.fullmatch(value) is not None


MAX_KEYS = 200
"""Names told apart on a site, a bound of memory."""

MAX_RESTS = 300
"""Links remembered of each name, a bound of memory."""

_MAX_RANDOM = 8
"""Random values of a URL that are looked at: each costs the whole URL, and 2,083 characters hold 120. Links
of sessions have one or two; chosen, not measured."""

_REMEMBERED = 8_192
"""URLs of which it is remembered what may be random in them, a bound of memory: 17 MB of the longest. Chosen,
not measured: the links that pages of a site have in common are some hundreds."""

# Links seen again with another value before a name is believed, and before a likely one is: on phpBB
# (``sid``) two pages suffice so (docs/reference/recognition.md). Chosen, not measured.
_LEAST_CHANGED, _LEAST_CHANGED_LIKELY = 3, 1
_MAY_BE_SURE = re.compile("sess|sid|zenid|cfid|cftoken").search
_MAY_BE_RANDOM = re.compile(r"[0-9][-_]*[A-Za-z][A-Za-z_-]*[0-9][0-9_-]*[A-Za-z]").search
_IN_PATH = re.compile(
    r"(?i);(jsessionid|phpsessid|sid|sessionid)=([^/?#;]*)|/\([a-z]\([a-z0-9]{16,}\)\)(?=/)"
)


@dataclass(slots=True)
class _Name:
    """What was seen of the random values of one query key, or of one place in paths.

    `one`, `many`: fetches in which all its links had one value, and in which they had several. `changed`,
    `kept`: links seen again, else equal, with another value and with the same. `values`: hash of the rest of
    a link -> hash of its value; bounded, oldest first.
    """

    one: int = 0
    many: int = 0
    changed: int = 0
    kept: int = 0
    values: dict[int, int] = field(default_factory=dict)


class SessionIds(Stateful):
    """Tells session ids from content in the URLs of a site, and takes them out.

    A name is a query key in lower case, or the place of a path segment (``/2``). Only values that look random
    are looked at: at least 16 letters and digits, mixed. A name is one of session ids if

    - it is a usual one (``phpsessid``); or
    - at least half of a page's links carry one value of it, and links seen again, equal in all else, came
      with another, in most of the cases and three at least; one is enough for likely names (``s``, ``sid``);

    unless fetches showed several values of it as often as one: those tell pages apart. So ``s=garden+chair``
    and ``sid=1234`` stay, and ``session_id=20190001`` of a conference, and so does a key that is the hash of
    an article, also where the article's own links to reply and to print carry it. Links that repeat the value
    of the URL they stand under say nothing.

    `observe` costs O(characters), `strip` too; memory O(`MAX_KEYS` x `MAX_RESTS`).

    Differences from the paper, which requests a page several times: links seen from several pages are the
    evidence, and a page fetched again adds to it. Nothing is fetched for it.
    """

    _names: Stored[dict[str, _Name]]

    def __init__(self) -> None:
        self._learned: set[str] = set()
        self._places: set[int] = set()

    def observe(self, page_url: str, urls: Sequence[str]) -> None:
        """Learn from the links of one fetch that belong to the site, and the URL it was fetched by.

        Links that repeat a value of the page's own URL say nothing: it may be what the page is about.
        """
        own = {(name, value) for name, value, _ in _seen(page_url)[1]}
        found: dict[str, list[tuple[int, int]]] = {}
        distinct = dict.fromkeys(urls)
        for name, value, rest in chain.from_iterable(map(itemgetter(1), _seen.of_all(distinct))):
            found.setdefault(name, []).append((rest, value))
        for name, links in found.items():
            if {(name, value) for _, value in links} <= own:
                continue
            if name in self._names or len(self._names) < MAX_KEYS:
                known = self._names.setdefault(name, _Name())
                _count(known, links, is_common=2 * len(links) >= len(distinct))
                self._decide(name)

    def is_session_id(self, name: str, value: str) -> bool:
        """Say whether a value of a name is a session id, as far as is known."""
        lower = name.lower()
        if lower in SURE_NAMES:
            known = self._names.get(lower)
            return looks_drawn(value) and (known is None or known.many <= known.one)
        return lower in self._learned and looks_random(value)

    def strip(self, url: str) -> str:
        """Return a URL without session ids; all else stays as it is.

        The answer may change while the site is learned. Cost O(characters).
        """
        address, mark, query = url.partition("?")
        if ";" in address or "/(" in address:
            address = _IN_PATH.sub(_without_id, address)
        if self._places:
            address = self._strip_path(address)
        if not mark:
            return address
        if not self._learned and not _MAY_BE_SURE(query.lower()):
            return f"{address}?{query}"
        pairs = [pair.partition("=") for pair in query.split("&")]
        if len(_COLDFUSION.intersection(name.lower() for name, _, _ in pairs)) == len(_COLDFUSION):
            pairs = [pair for pair in pairs if pair[0].lower() not in _COLDFUSION]
        kept = ["".join(pair) for pair in pairs if not self.is_session_id(pair[0], pair[2])]
        return f"{address}?{'&'.join(kept)}" if kept else address

    def strip_all(self, urls: list[str]) -> list[str]:
        """Return `strip` of each URL, the same list if there is nothing to look at, as in most."""
        if self._learned or not all(map(itemgetter(0), _seen.of_all(urls))):
            return list(map(self.strip, urls))
        return urls

    def names(self) -> list[str]:
        """Return the names that were learned to be of session ids, without those known from the start."""
        return sorted(self._learned)

    def _decide(self, name: str) -> None:
        known, least = self._names[name], _LEAST_CHANGED_LIKELY if name in LIKELY_NAMES else _LEAST_CHANGED
        changes = known.changed >= least and known.changed > known.kept and known.many < known.one
        is_session = name not in SURE_NAMES and changes
        (self._learned.add if is_session else self._learned.discard)(name)
        self._places = {int(known[1:]) for known in self._learned if known.startswith("/")}

    def _strip_path(self, address: str) -> str:
        segments = address.split("/")
        kept = [
            segment
            for at, segment in enumerate(segments)
            if at - _FIRST_SEGMENT not in self._places or not looks_random(segment)
        ]
        return "/".join(kept) if len(kept) > _FIRST_SEGMENT else "/".join([*kept, ""])

    def after_load(self) -> None:
        """Decide which names are of session ids."""
        for name in self._names:
            self._decide(name)


_FIRST_SEGMENT = 3
"""Where paths begin in a URL split at slashes."""


def _count(known: _Name, links: Sequence[tuple[int, int]], *, is_common: bool) -> None:
    """Count one fetch: rest and value of its links with a name, and whether they are half of its links."""
    if len({value for _, value in links}) > 1:
        known.many += 1
        return
    if not is_common:
        return
    known.one += len(links) > 1
    for rest, value in links:
        before = known.values.pop(rest, None)
        known.changed += before is not None and before != value
        known.kept += before == value
        known.values[rest] = value
    drop_oldest(known.values, MAX_RESTS)


def _without_id(found: re.Match[str]) -> str:
    """Return what stays of a path parameter: ``;sid=1234`` may be content, ``;jsessionid=`` never is."""
    is_sure = found[1] is None or found[1].lower() == "jsessionid"
    return "" if is_sure or looks_drawn(found[2]) else found[0]


def _look(url: str) -> tuple[bool, tuple[tuple[str, int, int], ...]]:
    """Return whether nothing in a URL may be a session id as long as no name was learned; and name, value and
    rest, both as hashes, of its first random values.
    """
    address, _, query = url.partition("?")
    is_plain = ";" not in address and "/(" not in address and not _MAY_BE_SURE(query.lower())
    return is_plain, tuple(islice(_random_values(url), _MAX_RANDOM)) if _MAY_BE_RANDOM(url) else ()


_seen = Remembered(_look, _REMEMBERED)


def _random_values(url: str) -> Iterator[tuple[str, int, int]]:
    address, _, query = url.partition("?")
    pairs = query.split("&") if query else []
    for at, pair in enumerate(pairs):
        name, _, value = pair.partition("=")
        if looks_random(value):
            rest = f"{address}?{'&'.join(pairs[:at] + pairs[at + 1 :])}"
            yield name.lower(), hash64(value), hash64(rest)
    segments = address.split("/")
    for at, segment in enumerate(segments[_FIRST_SEGMENT:], start=_FIRST_SEGMENT):
        if looks_random(segment):
            rest = "/".join(segments[:at] + segments[at + 1 :])
            yield f"/{at - _FIRST_SEGMENT}", hash64(segment), hash64(f"{rest}?{query}")
