"""`Crawl.respect`: links of what a site reserves are to skip, and a page that does says so.

Rules of a site come with its `robots.txt` and `tdmrep.json`, which the crawler sends as pages: they are no
pages to anybody else. What they and each page say is in the events, whatever the crawl respects.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from linkscore_scoring.columns import drop_oldest
from linkscore_scoring.engine.events import PageFetched
from linkscore_scoring.errors import FieldProblem
from linkscore_scoring.features.body import (
    attributes_of_tag,
    detect_xml_charset,
    first_bytes,
    tags_in,
    to_utf8,
)
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.types import LinkBatch, SentPage

AI_INPUT, AI_TRAIN, SEARCH, TDM = "ai-input", "ai-train", "search", "tdm"
USES = (AI_INPUT, AI_TRAIN, SEARCH, TDM)
"""What a page may be used for: as of draft-romm-aipref-contentsignals-00, and text and data mining (W3C, TDM
Reservation Protocol)."""

RESERVED_TDM = frozenset({AI_TRAIN, TDM})
"""What a TDM reservation reserves: models are trained by mining (Regulation (EU) 2024/1689, article 53)."""

NOFOLLOW = "nofollow"
"""Told beside uses: that the links of a page are not to be followed."""

MAX_VALUE_CHARS = 8_192
"""Characters read of a header. Servers bound all headers of a request to this as a rule."""
HEAD_BYTES = 65_536
"""First bytes of a page in which its `<meta>` is looked for. Chosen; heads of pages have some kilobytes."""

_ROBOTS = {
    "noindex": {SEARCH},
    "none": {SEARCH, NOFOLLOW},
    "nofollow": {NOFOLLOW},
    "noai": {AI_TRAIN},  # as DeviantArt asks for it
}
# A word before a colon, other than of a directive with a value, is a crawler's; no word is part of a date.
_CRAWLER = re.compile(r"\*|(?!unavailable_after$|max-)[a-z][a-z0-9_.*/-]*")
# Lengths are bounded, and names begin where no letter was: a search takes time of its text alone.
_SIGNAL = re.compile(r"(?<![a-z-])([a-z-]{1,20})\s{0,9}=\s{0,9}(yes|no|y|n)\b", re.IGNORECASE)
# What is in a template or for browsers without scripts is not the page's.
_INERT = re.compile(rb"<(template|noscript)(?=[\s>/]).*?(?:</\1|\Z)", re.IGNORECASE | re.DOTALL)
_AGENT_LINE = re.compile(r"^[ \t]*user-?[ ]?agent[ \t]*:", re.IGNORECASE | re.MULTILINE)
_ROBOTS_LINE = re.compile(
    r"^[ \t]*(?:#|(?:user-?[ ]?agent|(?:dis)?allow|sitemap|crawl-delay|host|content-signal)[ \t]*:)",
    re.IGNORECASE | re.MULTILINE,
)


def signals(value: str) -> dict[str, bool]:
    """Return what a value of `Content-Signal` says of each use that it names; of two answers no counts."""
    said: dict[str, bool] = {}
    for name, answer in _SIGNAL.findall(value):
        if (use := name.lower()) in USES:
            said[use] = said.get(use, True) and answer.lower().startswith("y")
    return said


def said_by_headers(headers: Iterable[tuple[str, str]]) -> set[str]:
    """Return the uses that the headers of a page reserve, and `NOFOLLOW`.

    Of `X-Robots-Tag` what is said to every crawler counts, not what is said to one by name.
    """
    found: set[str] = set()
    for header, text in headers:
        name, value = header.strip().lower(), text[:MAX_VALUE_CHARS]
        if name == "x-robots-tag":
            found |= _robots(value)
        elif name == "content-signal":
            found.update(use for use, allowed in signals(value).items() if not allowed)
        elif name == "tdm-reservation" and value.strip() == "1":
            found |= RESERVED_TDM
    return found


def _robots(value: str) -> set[str]:
    """Return what directives reserve but those behind the name of one crawler."""
    found: set[str] = set()
    is_all = True
    for directive in re.split("[,;]", value.lower()):
        name, colon, rest = directive.partition(":")
        if colon and _CRAWLER.fullmatch(name.strip()):
            is_all = name.strip() == "*"
        else:
            rest = directive
        for word in rest.split() if is_all else ():
            found |= _ROBOTS.get(word, set())
    return found


def said_by_head(body: bytes, content_encoding: str) -> set[str]:
    """Return the uses that `<meta>` in the first bytes of a page reserve, and `NOFOLLOW`; O(`HEAD_BYTES`).

    Nothing of a body that is encoded twice, is broken, or is in UTF-16.
    """
    found: set[str] = set()
    head = _INERT.sub(b"", first_bytes(body, content_encoding, HEAD_BYTES))
    for attributes in map(attributes_of_tag, tags_in(head, b"meta", having=b"content")):
        name, content = attributes.get("name", "").strip().lower(), attributes.get("content", "")
        if name == "robots":
            found |= _robots(content.replace(" ", ","))
        elif name == "tdm-reservation" and content.strip() == "1":
            found |= RESERVED_TDM
    return found


ROBOTS, TDMREP = "/robots.txt", "/.well-known/tdmrep.json"
FILES = (ROBOTS, TDMREP)
"""Paths of what is read."""

MAX_BYTES = 500 * 1024
"""Bytes read of a file: a parser of `robots.txt` reads so many at least (RFC 9309, section 2.5)."""
MAX_RULES, MAX_STARS, MAX_CHARS = 25, 50, 10_000
"""Rules of a file, and ``*`` and characters of their patterns. Beyond, what any reserves is reserved
everywhere, as each link is held against each rule: 35 us of a URL of 100 characters at worst, as measured."""

_LINE = re.compile(
    r"^[ \t]*(user-?[ ]?agent|content-signal|allow|disallow)[ \t]*:[ \t]*([^\n#]*)",
    re.IGNORECASE | re.MULTILINE,
)


def text_of(body: bytes, content_encoding: str, most: int) -> str:
    """Return a site file in the encoding of its mark, else UTF-8 (RFC 9309), without marks and NULs."""
    raw = first_bytes(body, content_encoding, most)
    return to_utf8(raw, detect_xml_charset(raw))[0].decode().translate({0: None, 0xFEFF: None, 13: "\n"})


Row = list[Any]
"""A rule as plain values: a pattern of paths, the uses that are reserved there, and those allowed."""


def read_rules(path: str, body: bytes, content_encoding: str) -> list[Row] | None:
    """Return the rules of a site file, the first that names a use decides; None if no such file came."""
    text = text_of(body, content_encoding, MAX_BYTES)
    lines = _AGENT_LINE if text.lstrip().startswith("<") else _ROBOTS_LINE  # a page may have the others
    if path == ROBOTS and text.strip() and not lines.search(text):
        return None  # a page in its place, or what could not be unpacked
    rules = _of_robots(text) if path == ROBOTS else _of_tdmrep(text)
    if rules is None:
        return None
    patterns = "".join(pattern for pattern, _, _ in rules)
    fits = len(rules) <= MAX_RULES and patterns.count("*") <= MAX_STARS and len(patterns) <= MAX_CHARS
    return rules if fits else [everywhere(rules)]


def everywhere(rules: Sequence[Row]) -> Row:
    """Return the one rule that reserves everywhere what some rules reserve anywhere."""
    return ["/", sorted({use for _, no, _ in rules for use in no}), []]


def _of_robots(text: str) -> list[Row]:
    """Return what is said to all crawlers; the longest pattern decides, as of RFC 9309, section 2.2.2."""
    said: dict[str, dict[str, bool]] = {}
    is_named, is_all, in_head = False, True, True  # until the first name what is said is said to all
    for key, value in _LINE.findall(text):
        if key.lower().startswith("user"):
            is_all = (in_head and is_named and is_all) or value.strip() == "*"
            in_head = is_named = True
            continue
        in_head = False
        if key.lower() == "content-signal" and is_all:
            pattern, _, rest = value.strip().partition(" ") if value.startswith("/") else ("/", "", value)
            known = said.setdefault(pattern, {})
            for use, allowed in signals(rest).items():
                known[use] = known.get(use, True) and allowed
    patterns = sorted(said, key=lambda pattern: (-len(pattern), pattern))
    return [
        [each, *(sorted(u for u in said[each] if said[each][u] is is_yes) for is_yes in (False, True))]
        for each in patterns
    ]


def _of_tdmrep(text: str) -> list[Row] | None:
    """Return the rules in their order, the first that matches decides; None of no list without rules."""
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError):
        return None
    found = []
    for entry in entries if isinstance(entries, list) else [entries]:
        location, reserved = _field(entry, "location"), _field(entry, "tdm-reservation")
        if location is not None and reserved in {"0", "1"}:
            uses = sorted(RESERVED_TDM)
            found.append([location, uses, []] if reserved == "1" else [location, [], uses])
    return found if found or isinstance(entries, list) else None


def _field(entry: Any, name: str) -> str | None:
    value = entry.get(name) if isinstance(entry, dict) else None
    if not isinstance(value, str | int) or isinstance(value, bool):
        return None
    return str(value).encode("utf-8", "replace").decode()  # JSON may hold halves of surrogate pairs


def reserved_at(rules: Sequence[Row], path: str) -> set[str]:
    """Return the uses that rules reserve of a page; `path` with its query."""
    reserved, decided = set[str](), set[str]()
    for pattern, no, yes in rules:
        if not decided.issuperset((*no, *yes)) and matches(pattern, path):
            reserved |= set(no) - decided
            decided.update(no, yes)
    return reserved


def matches(pattern: str, path: str) -> bool:
    """Say whether a path begins as a pattern has it: ``*`` is anything, ``$`` at the end is the end.

    Cost O(path) for each ``*``, and memory of the pattern's length: an expression takes 200 times as much.
    """
    first, *more = _parts(pattern)
    path = unquote(path) if "%" in path else path
    if not more:
        return path == first
    if not path.startswith(first):
        return False
    at = len(first)
    for part in more[:-1]:
        at = path.find(part, at) + len(part)
        if at < len(part):
            return False
    return path.endswith(more[-1]) and at + len(more[-1]) <= len(path)


@lru_cache(maxsize=1_000)
def _parts(pattern: str) -> list[str]:
    """Return what is between each ``*`` of a pattern that goes to the end: one without ``$`` has one last."""
    whole = pattern[:-1] if pattern.endswith("$") else f"{pattern}*"
    return [unquote(part) for part in whole.split("*")]


MAX_FILES = 5_000
"""Files kept of a site of many hosts, latest first. A bound: some 100 bytes each."""
MAX_SITE_CHARS = 200_000
"""Characters of patterns kept of a site: a bound. Beyond, what a file reserves anywhere is reserved on all of
its host."""
_RESPECT = 4  # of the wire contract: SKIP_REASON_RESPECT


def respect_problems(names: Sequence[str]) -> Iterator[FieldProblem]:
    """Yield what is wrong with the uses that a crawl gives way for."""
    for i, name in enumerate(names):
        if name in USES:
            continue
        meant = get_close_matches(name.lower(), USES, n=1)
        rule = f"did you mean {meant[0]!r}?" if meant else f"there are {', '.join(USES)}"
        yield FieldProblem(f"respect[{i}]", f"no use is named {name[:50]!r}: {rule}")


def respect_facts(page: SentPage) -> dict[str, Any]:
    """Return the rules of a site file; of other pages what they reserve."""
    if (path := site_file(page.url)) is not None:
        rules = read_rules(path, page.body, page.content_encoding)
        return {"rules": rules} if rules is not None else {}
    said = said_by_headers(page.headers)
    said |= said_by_head(page.body, page.content_encoding)
    return {"reserved": sorted(said)} if said else {}


class SiteRespect(Stateful):
    """The rules of a site, by the URL of their file; those of files that reserve nothing are not kept."""

    files: Stored[dict[str, list[Row]]]

    def __init__(self) -> None:
        self.uses: frozenset[str] = frozenset()  # that the crawl is for

    def notice(self, event: PageFetched) -> bool:
        """Take in a site file, in place of its rules before, and return True; False for any other page.

        One that fails to come, in whose place something else comes, or that is as it was changes nothing
        (RFC 9309, section 2.3.1).
        """
        url = event.requested_key
        if site_file(url) is None:
            return False
        came = event.features
        if came is not None and event.status_code // 100 != 3:  # where it leads to is not known
            rows = came.facts.get("rules")
        else:
            # Gone, and not asked for too often.
            status = event.status_code
            rows = [] if 400 <= status < 500 and status not in {408, 425, 429} else None
        if rows is None:
            return True
        for origin in dict.fromkeys(
            (_split(url)[0], _split(event.url)[0])
        ):  # http and https, where one redirects to the other
            self._keep(origin + str(site_file(url)), rows)
        return True

    def _keep(self, url: str, rows: list[Row]) -> None:
        self.files.pop(url, None)
        if any(no for _, no, _ in rows):
            kept = sum(len(pattern) for of_file in self.files.values() for pattern, _, _ in of_file)
            fits = kept + sum(len(pattern) for pattern, _, _ in rows) <= MAX_SITE_CHARS
            self.files[url] = rows if fits else [everywhere(rows)]
            drop_oldest(self.files, MAX_FILES)

    def judge(self, links: LinkBatch, page: PageFeatures | None, reasons: list[int]) -> None:
        """Write why links are to skip where there is no reason yet; all of a page that asks for it."""
        if self.files:
            for row, url in enumerate(links.urls):
                if not reasons[row] and not self.uses.isdisjoint(self._reserved_at(url)):
                    reasons[row] = _RESPECT
        if page is not None and NOFOLLOW in page.facts.get("reserved", ()):
            reasons[:] = [reason or _RESPECT for reason in reasons]

    def reserved(self, event: PageFetched) -> Collection[str]:
        """Return the uses of a page that the site reserves, of those that the crawl gives way for."""
        if event.features is None:
            return ()
        found = self._reserved_at(event.url) if self.files else set()
        return self.uses.intersection(found.union(event.features.facts.get("reserved", ())))

    def _reserved_at(self, url: str) -> set[str]:
        origin, path = _split(url)
        found = set[str]()
        for name in FILES:
            if rows := self.files.get(origin + name):
                found |= reserved_at(rows, path)
        return found


def _split(url: str) -> tuple[str, str]:
    """Return scheme and host of a URL, as in identities, and its path with its query."""
    slash = url.find("/", url.find("://") + 3)
    origin, path = (url[:slash].lower(), url[slash:]) if slash >= 0 else (url.lower(), "/")
    return origin.removesuffix(":80" if origin.startswith("http:") else ":443"), path


def is_same_host(one: str, other: str) -> bool:
    """Say whether two URLs are of the same host, whatever their schemes."""
    return _split(one)[0].partition(":")[2] == _split(other)[0].partition(":")[2]


def site_file(url: str) -> str | None:
    """Return the path of a URL if it is that of a site file."""
    path = _split(url)[1]
    return path if path in FILES else None
