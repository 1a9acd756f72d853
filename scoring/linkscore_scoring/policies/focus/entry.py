"""The entry page of a forum, from any of its pages (Jiang 2013, section 4.4)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from linkscore_scoring.hashing import hash64
from linkscore_scoring.policies.focus.paths import LinkGroup
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.urls.identity import identity

MAX_CANDIDATES = 30
"""Candidates kept, those of the shortest paths; a bound."""

# Chosen on the stored forums, Q&A site and blog; the entry was found from 60 of 60 random pages
# (research/notebook/focus.md).
_EVERYWHERE = 0.9  # share of the pages that link to a candidate
_FIRST_PAGES = 20  # pages whose links may become candidates, and after which others are dropped
_NEAR = 0.6  # share of the best candidate's index URLs that is about as many
_MAX_FOLDERS = 4  # folders above a page that are guessed; a bound
_KEYWORD = re.compile(r"(?i)^(https?://[^/]+/(?:[^?#]*/)?(?:forums?|boards?|community|bbs|discuss)/)")
_ROOT = re.compile(r"https?://[^/]+")


@dataclass(slots=True)
class EntryCandidate:
    """A page that may be the entry."""

    url: str  # its URL
    linked: int = 0  # pages that link to it; 0 for one that was guessed
    pattern: int = -1  # its URL pattern, -1 before it came
    came: bool = False  # it was fetched
    # How many distinct targets its links have, by link group.
    groups: dict[LinkGroup, int] = field(default_factory=dict)


class EntrySearch(Stateful):
    """URLs that nearly every page links to, roots and path prefixes; the one with most index URLs wins.

    Jiang 2013, section 4.4.
    """

    pages: Stored[int]
    _found: Stored[dict[int, EntryCandidate]]

    def __init__(self) -> None:
        self.pages, self._found = 0, {}

    def see(
        self,
        keys: Iterable[int],
        url: str,
        targets: Mapping[int, str],
        groups: Mapping[LinkGroup, int],
        pattern: int,
    ) -> None:
        """Take in a page."""
        self.pages += 1
        if self.pages == 1:
            self._guess(url)
        for key, target in targets.items():
            if key in self._found:
                self._found[key].linked += 1
            elif self.pages <= _FIRST_PAGES:
                self._found[key] = EntryCandidate(target, 1)
        keep = self.pages <= _FIRST_PAGES
        for key in dict.fromkeys(keys):
            if keep:
                self._found.setdefault(key, EntryCandidate(url))
            if key in self._found:
                found = self._found[key]
                found.groups, found.pattern, found.came = dict(groups), pattern, True
        if self.pages % _FIRST_PAGES == 0:
            self._prune()

    def _guess(self, url: str) -> None:
        for guess in guesses(url):
            self._found.setdefault(hash64(identity(guess)), EntryCandidate(guess, 0))

    def _prune(self) -> None:
        kept = {key: c for key, c in self._found.items() if self._is_candidate(c)}
        best = sorted(kept, key=lambda key: shortness(kept[key].url))[:MAX_CANDIDATES]
        self._found = {key: kept[key] for key in kept if key in set(best)}

    def _is_candidate(self, candidate: EntryCandidate) -> bool:
        """Say whether nearly all pages, but perhaps the page itself, link here, or it was guessed."""
        return candidate.linked >= _EVERYWHERE * self.pages - 1.0 or not candidate.linked

    def candidates(self) -> list[EntryCandidate]:
        """Return the candidates, shortest path first; none before the second page."""
        if self.pages < 2:
            return []
        found = [c for c in self._found.values() if self._is_candidate(c)]
        return sorted(found, key=lambda c: shortness(c.url))[:MAX_CANDIDATES]

    def entry(
        self, n_index: Callable[[Mapping[LinkGroup, int]], int], is_listed: Callable[[int], bool]
    ) -> EntryCandidate | None:
        """Return the entry, None while no candidate that came shows an index URL."""
        came = [c for c in self.candidates() if c.came and not is_listed(c.pattern)]
        counts = [n_index(c.groups) for c in came]
        most = max(counts, default=0)
        if not most:
            return None
        near = [c for c, n in zip(came, counts, strict=True) if n >= _NEAR * most]
        return min(near, key=lambda c: shortness(c.url))

    def named(self, url: str) -> EntryCandidate | None:
        """Return the candidate of a URL."""
        return next((c for c in self._found.values() if c.url == url), None)


def guesses(url: str) -> list[str]:
    """Return what may be the entry judging from one URL: up to a keyword, the root, the folders above."""
    keyword = _KEYWORD.match(url)
    root = _ROOT.match(url)
    path = urlsplit(url).path.split("/")[1:-1]
    base = root.group() if root else ""
    folders = [f"{base}/{'/'.join(path[: n + 1])}/" for n in range(min(len(path), _MAX_FOLDERS))]
    whole = [keyword.group(1)] if keyword else []
    return list(dict.fromkeys([*whole, *([f"{base}/"] if base else []), *folders]))


def shortness(url: str) -> tuple[int, int, str]:
    """Return the order of entries of equal rank: fewer folders, then a shorter URL."""
    parts = urlsplit(url)
    return len([part for part in parts.path.split("/") if part]) + bool(parts.query), len(url), url
