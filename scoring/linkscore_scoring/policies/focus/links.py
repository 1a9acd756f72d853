"""Where links stand: on pages of which URL pattern, at which Apath, leading to which URL pattern."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from linkscore_scoring.urls.identity import identity

SAMPLES = 24
"""URLs kept of each pattern, to learn expressions from and to ask for."""

Way = tuple[int, int]
"""URL pattern of the target, folded Apath of the link."""


class LinkPlaces:
    """Links of fetched pages, pooled over the pages of one URL pattern; and some URLs of every pattern.

    Parameters
    ----------
    max_patterns
        Source patterns, target patterns with samples, and ways per source that are kept; what comes later is
        not learned from until others are generalised.
    """

    def __init__(self, *, max_patterns: int = 5_000) -> None:
        self.max_patterns = max_patterns
        self._ways: dict[int, dict[Way, int]] = {}
        self._samples: dict[int, dict[int, str]] = {}

    def see(self, source: int, rows: Iterable[tuple[int, int, int, str]]) -> None:
        """Take in the links of a page of pattern `source`: (pattern, Apath, key, URL) each; O(n_links)."""
        if source not in self._ways and len(self._ways) >= self.max_patterns:
            return
        ways = self._ways.setdefault(source, {})
        for pattern, apath, key, url in rows:
            if (pattern, apath) in ways or len(ways) < self.max_patterns:
                ways[pattern, apath] = ways.get((pattern, apath), 0) + 1
            self._sample(pattern, key, url)

    def _sample(self, pattern: int, key: int, url: str) -> None:
        kept = self._samples.get(pattern)
        if kept is None:
            if len(self._samples) < self.max_patterns:
                self._samples[pattern] = {key: url}
        elif len(kept) < SAMPLES and key not in kept:
            kept[key] = url

    def samples(self, pattern: int) -> dict[int, str]:
        """Return some URLs of a pattern by identity hash, those found first."""
        return self._samples.get(pattern, {})

    def ways(self, source: int) -> Sequence[Way]:
        """Return the ways that links on pages of a pattern take."""
        return list(self._ways.get(source, ()))

    def sources(self) -> Iterator[int]:
        """Yield the patterns of the pages whose links are known."""
        return iter(self._ways)

    def targets(self) -> Iterator[int]:
        """Yield the patterns that links lead to."""
        return iter(self._samples)

    def follow(self, resolve: Callable[[int], int]) -> None:
        """Move what is known of patterns that were generalised to what stands for them now."""
        for source in [source for source in self._ways if resolve(source) != source]:
            into = self._ways.setdefault(resolve(source), {})
            for way, n in self._ways.pop(source).items():
                into[way] = into.get(way, 0) + n
        for ways in self._ways.values():
            for pattern, apath in [way for way in ways if resolve(way[0]) != way[0]]:
                to = (resolve(pattern), apath)
                ways[to] = ways.get(to, 0) + ways.pop((pattern, apath))
        for pattern in [pattern for pattern in self._samples if resolve(pattern) != pattern]:
            kept = self._samples.setdefault(resolve(pattern), {})
            for key, url in self._samples.pop(pattern).items():
                if len(kept) < SAMPLES:
                    kept[key] = url

    def to_state(self) -> dict[str, Any]:
        """Return the places as plain values."""
        return {
            "ways": [[source, [[*way, n] for way, n in ways.items()]] for source, ways in self._ways.items()],
            "samples": [[pattern, list(urls.items())] for pattern, urls in self._samples.items()],
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the places of `to_state`."""
        self._ways = {
            int(source): {(int(p), int(a)): int(n) for p, a, n in ways} for source, ways in state["ways"]
        }
        self._samples = {
            int(pattern): {int(key): str(url) for key, url in urls} for pattern, urls in state["samples"]
        }


def known_identity(url: str) -> str:
    """Return the identity of a URL that was validated before; the URL itself if it has none."""
    try:
        return identity(url)
    except ValueError:
        return url
