"""The entry page of a forum, from any of its pages (Jiang 2013, section 4.4)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from linkscore_scoring.hashing import hash64
from linkscore_scoring.policies.focus.links import Way
from linkscore_scoring.urls.identity import identity

MAX_CANDIDATES = 30
_EVERYWHERE = 0.9
_FIRST_PAGES = 20
_NEAR = 0.6
_KEYWORD = re.compile(r"(?i)^(https?://[^/]+/(?:[^?#]*/)?(?:forums?|boards?|community|bbs|discuss)/)")
_ROOT = re.compile(r"https?://[^/]+")


@dataclass(slots=True)
class Candidate:
    """A page that may be the entry: its URL, pages that link to it, and its links by way once it came."""

    url: str
    linked: int = 0
    ways: dict[Way, int] | None = None
    own: int = -1


class EntrySearch:
    """URLs that nearly every page links to, roots and path prefixes; the one with most index URLs wins.

    Candidates: URLs on 90 % of the pages and more, the root of the host, the folders above the first page,
    and the URL up to a word like ``forum/``. The entry is, of the candidates whose page shows at least 60 %
    as many distinct index URLs as the best, the one with the shortest path; a page of a pattern of indexes
    with several URLs is none.

    Notes
    -----
    Source: Jiang 2013, section 4.4. Differences: every page of the crawl is a sample, and no page is fetched
    for it; 60 % of the best and the shortest path instead of the best alone, because lists of labels and
    dates beside the content vary from page to page; keywords as in the paper's baseline. Cost: O(links) a
    page.
    """

    def __init__(self) -> None:
        self.pages = 0
        self._found: dict[int, Candidate] = {}

    def see(
        self, keys: Iterable[int], url: str, rows: Mapping[int, str], ways: Mapping[Way, int], own: int
    ) -> None:
        """Take in a page.

        Parameters
        ----------
        keys, url
            Identity hashes it goes by, and its URL.
        rows
            URL of each of its targets by identity hash.
        ways
            How many distinct targets it has by way.
        own
            Its URL pattern.
        """
        self.pages += 1
        if self.pages == 1:
            self._guess(url)
        for key, target in rows.items():
            if key in self._found:
                self._found[key].linked += 1
            elif self.pages <= _FIRST_PAGES:
                self._found[key] = Candidate(target, 1)
        keep = self.pages <= _FIRST_PAGES
        for key in dict.fromkeys(keys):
            if keep:
                self._found.setdefault(key, Candidate(url))
            if key in self._found:
                self._found[key].ways, self._found[key].own = dict(ways), own
        if self.pages % _FIRST_PAGES == 0:
            self._prune()

    def _guess(self, url: str) -> None:
        for guess in guesses(url):
            self._found.setdefault(hash64(identity(guess)), Candidate(guess, 0))

    def _prune(self) -> None:
        kept = {key: c for key, c in self._found.items() if self._is_candidate(c)}
        best = sorted(kept, key=lambda key: shortness(kept[key].url))[:MAX_CANDIDATES]
        self._found = {key: kept[key] for key in kept if key in set(best)}

    def _is_candidate(self, candidate: Candidate) -> bool:
        """Say whether nearly all pages, but perhaps the page itself, link here, or it was guessed."""
        return candidate.linked >= _EVERYWHERE * self.pages - 1.0 or not candidate.linked

    def candidates(self) -> list[Candidate]:
        """Return the candidates, shortest path first; none before the second page."""
        if self.pages < 2:
            return []
        found = [c for c in self._found.values() if self._is_candidate(c)]
        return sorted(found, key=lambda c: shortness(c.url))[:MAX_CANDIDATES]

    def entry(
        self, n_index: Callable[[Mapping[Way, int]], int], is_listed: Callable[[int], bool]
    ) -> Candidate | None:
        """Return the entry, None while no candidate that came shows an index URL.

        Parameters
        ----------
        n_index
            Returns how many distinct index URLs are among the links of a page.
        is_listed
            Says whether a URL pattern is one of threads, or of several indexes.
        """
        came = [c for c in self.candidates() if c.ways is not None and not is_listed(c.own)]
        counts = [n_index(c.ways or {}) for c in came]
        most = max(counts, default=0)
        if not most:
            return None
        near = [c for c, n in zip(came, counts, strict=True) if n >= _NEAR * most]
        return min(near, key=lambda c: shortness(c.url))

    def to_state(self) -> dict[str, Any]:
        """Return the candidates as plain values."""
        rows = [
            [
                key,
                c.url,
                c.linked,
                c.own,
                c.ways is not None,
                [[*way, n] for way, n in (c.ways or {}).items()],
            ]
            for key, c in self._found.items()
        ]
        return {"pages": self.pages, "found": rows}

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the candidates of `to_state`."""
        self.pages = int(state["pages"])
        self._found = {}
        for key, url, linked, own, came, ways in state["found"]:
            known = {(int(p), int(a)): int(n) for p, a, n in ways}
            self._found[int(key)] = Candidate(str(url), int(linked), known if came else None, int(own))

    def named(self, url: str) -> Candidate | None:
        """Return the candidate of a URL."""
        return next((c for c in self._found.values() if c.url == url), None)


def guesses(url: str) -> list[str]:
    """Return what may be the entry judging from one URL: up to a keyword, the root, the folders above."""
    keyword = _KEYWORD.match(url)
    root = _ROOT.match(url)
    path = urlsplit(url).path.split("/")[1:-1]
    base = root.group() if root else ""
    folders = [f"{base}/{'/'.join(path[: n + 1])}/" for n in range(min(len(path), 4))]
    whole = [keyword.group(1)] if keyword else []
    return list(dict.fromkeys([*whole, *([f"{base}/"] if base else []), *folders]))


def shortness(url: str) -> tuple[int, int, str]:
    """Return the order of entries of equal rank: fewer folders, then a shorter URL."""
    parts = urlsplit(url)
    return len([part for part in parts.path.split("/") if part]) + bool(parts.query), len(url), url
