"""What `robots.txt` and `tdmrep.json` of a site reserve, as rules on paths.

Of `robots.txt` only `Content-Signal` is read: that pages are not to be fetched is a matter of the crawler.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from linkscore_scoring.respect.signals import RESERVED_TDM, first_bytes, signals

ROBOTS, TDMREP = "/robots.txt", "/.well-known/tdmrep.json"
FILES = (ROBOTS, TDMREP)
"""Paths of what is read."""

MAX_BYTES = 500 * 1024
"""Bytes read of a file: a parser of `robots.txt` reads so many at least (RFC 9309, section 2.5)."""
MAX_RULES, MAX_STARS, MAX_CHARS = 25, 50, 10_000
"""Rules of a file, and ``*`` and characters of their patterns. Beyond, what any reserves is reserved
everywhere, as each link is held against each rule: 35 us of a URL of 100 characters at worst, as measured."""

_LINE = re.compile(
    r"^[ \t]*(user-agent|content-signal|allow|disallow)[ \t]*:[ \t]*([^\n#]*)", re.IGNORECASE | re.MULTILINE
)


Row = list[Any]
"""A rule as plain values: a pattern of paths, the uses that are reserved there, and those allowed."""


def read_rules(path: str, body: bytes, content_encoding: str) -> list[Row]:
    """Return the rules of a site file, the first that names a use decides; none of a file that is broken."""
    text = first_bytes(body, content_encoding, MAX_BYTES).decode("utf-8-sig", "replace")
    return _bounded(_of_robots(text) if path == ROBOTS else _of_tdmrep(text))


def _bounded(rules: list[Row]) -> list[Row]:
    patterns = [pattern for pattern, _, _ in rules]
    fits = len(rules) <= MAX_RULES and "".join(patterns).count("*") <= MAX_STARS
    return rules if fits and sum(map(len, patterns)) <= MAX_CHARS else [everywhere(rules)]


def everywhere(rules: Sequence[Row]) -> Row:
    """Return the one rule that reserves everywhere what some rules reserve anywhere."""
    return ["/", sorted({use for _, no, _ in rules for use in no}), []]


def _of_robots(text: str) -> list[Row]:
    """Return what is said to all crawlers; the longest pattern decides, as of RFC 9309, section 2.2.2."""
    said: dict[str, dict[str, bool]] = {}
    is_named, is_all, in_head = False, True, True  # until the first name what is said is said to all
    for key, value in _LINE.findall(text.replace("\r\n", "\n").replace("\r", "\n")):
        if key.lower() == "user-agent":
            is_all = (in_head and is_named and is_all) or value.strip() == "*"
            in_head = is_named = True
            continue
        in_head = False
        if key.lower() == "content-signal" and is_all:
            pattern, _, rest = value.strip().partition(" ") if value.startswith("/") else ("/", "", value)
            known = said.setdefault(pattern, {})
            for use, allowed in signals(rest).items():
                known[use] = known.get(use, True) and allowed
    rules = [_rule(pattern, known) for pattern, known in said.items()]
    return sorted(rules, key=lambda rule: (-len(rule[0]), rule[0]))


def _rule(pattern: str, said: dict[str, bool]) -> Row:
    no = sorted(use for use, allowed in said.items() if not allowed)
    return [pattern, no, sorted(said.keys() - set(no))]


def _of_tdmrep(text: str) -> list[Row]:
    """Return the rules in their order: the first that matches decides."""
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError):
        return []
    found = []
    for entry in entries if isinstance(entries, list) else [entries]:
        location, reserved = _field(entry, "location"), _field(entry, "tdm-reservation")
        if location is not None and reserved in {"0", "1"}:
            uses = sorted(RESERVED_TDM)
            found.append([location, uses, []] if reserved == "1" else [location, [], uses])
    return found


def _field(entry: Any, name: str) -> str | None:
    value = entry.get(name) if isinstance(entry, dict) else None
    if not isinstance(value, str | int) or isinstance(value, bool):
        return None
    return str(value).encode("utf-8", "replace").decode()  # JSON may hold halves of surrogate pairs


def reserved_at(rules: Sequence[Row], path: str) -> set[str]:
    """Return the uses that rules reserve of a page; `path` with its query.

    Examples
    --------
    >>> rules = [["/open/*", [], ["ai-train"]], ["/", ["ai-train"], []]]
    >>> reserved_at(rules, "/open/a"), reserved_at(rules, "/b")
    (set(), {'ai-train'})
    """
    reserved, decided = set[str](), set[str]()
    for pattern, no, yes in rules:
        if not decided.issuperset((*no, *yes)) and matches(pattern, path):
            reserved |= set(no) - decided
            decided.update(no, yes)
    return reserved


def matches(pattern: str, path: str) -> bool:
    """Say whether a path begins as a pattern has it: ``*`` is anything, ``$`` at the end is the end.

    Cost O(path) for each ``*``: the parts between are found from left to right.

    Examples
    --------
    >>> matches("/a", "/ab"), matches("/a$", "/ab"), matches("/*.pdf$", "/x/y.pdf"), matches("/%7Ea", "/~a/")
    (True, False, True, True)
    """
    first, middle, last, is_whole = _parts(pattern)
    path = unquote(path) if "%" in path else path
    if not path.startswith(first):
        return False
    if last is None:
        return len(path) == len(first) or not is_whole
    at = len(first)
    for part in middle:
        at = path.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return path.endswith(last) and len(path) - len(last) >= at if is_whole else path.find(last, at) >= 0


@lru_cache(maxsize=1_000)
def _parts(pattern: str) -> tuple[str, list[str], str | None, bool]:
    """Return what is before the first ``*``, between others, behind the last, and whether the end is one."""
    first, *more = [unquote(part) for part in pattern.removesuffix("$").split("*")]
    return first, more[:-1], more[-1] if more else None, pattern.endswith("$")
