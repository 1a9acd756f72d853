"""Query keys that change nothing: sessions, orders, print views. Judged by pages that differ in one key."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from linkscore_scoring.bounded import drop_oldest
from linkscore_scoring.copies.evidence import Evidence, lower_bound
from linkscore_scoring.engine.link_batches import hash_of
from linkscore_scoring.pagination.paged_urls import PAGE_KEYS
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.urls.identity import host_of

_MAX_KEYS = 4
"""Keys of a URL that are tried, the first by name; a bound."""
_MAX_HYPOTHESES, _MAX_BASES = 500, 20_000
"""Hypotheses, and URLs without a key, that are remembered: bounds."""
_LEAST_OWN = 3
"""Tries below a path from which what holds of the key elsewhere on its host holds there too. Chosen."""

Hypothesis = tuple[int, str]
"""URL pattern of a path, and name of a query key that changes nothing below it."""


class VoidKeys(Stateful):
    """Query keys by the URL pattern of the path they are used below, with what speaks for their being void.

    Two pages whose URLs differ in the value of one key, or of which one is without it, are a try: they show
    the same content or they do not. Below a path without tries nothing is believed; a key that was never
    refuted on a host needs few below each path of it. Keys that usually name a page or an offset are none.
    """

    _evidence: Stored[dict[Hypothesis, Evidence]]
    _hosts: Stored[dict[int, str]]
    _bases: Stored[dict[int, dict[str, int]]]
    _firsts: Stored[dict[int, int]]

    def __init__(self) -> None:
        self._evidence = {}
        self._hosts = {}
        self._bases = {}
        self._firsts = {}
        self._pooled: dict[tuple[str, str], float] = {}

    def after_load(self) -> None:
        """Put together again what is known of each key."""
        self._pool()

    def __bool__(self) -> bool:
        return bool(self._evidence)

    def hypotheses(self) -> Iterator[tuple[Hypothesis, Evidence, float]]:
        """Yield each hypothesis, what speaks for it, and how probable a link by it leads to a copy."""
        for hypothesis, evidence in self._evidence.items():
            yield hypothesis, evidence, self.probability(*hypothesis)

    def probability(self, path: int, key: str) -> float:
        """Return how probable a key below a path changes nothing: a lower bound, 0 if nothing is known."""
        own = self._evidence.get((path, key))
        if own is None:
            return 0.0
        if own.agreed == own.tries >= _LEAST_OWN:
            return max(own.probability, self._pooled[self._hosts[path], key])
        return own.probability

    def observe(
        self, path: int, url: str, page: int, content: int, content_of: Callable[[int], int | None]
    ) -> None:
        """Learn from a page.

        Parameters
        ----------
        path
            URL pattern of the path of its URL.
        url, page
            The identity it was asked for by, and the hash of that.
        content
            Its content.
        content_of
            Returns the content of a page by identity hash, None if it has none.
        """
        self._hosts[path] = host_of(url)
        for key, shown in self._bases.get(page, {}).items():
            self._try((path, key), content, shown)
        for key in _keys(url):
            base = hash_of(without(url, {key}))
            known, plain = self._bases.setdefault(base, {}), content_of(base)
            other = known.get(key) if plain is None else plain
            known.setdefault(key, content)
            if other is not None:
                self._try((path, key), content, other)
        drop_oldest(self._bases, _MAX_BASES)

    def near(self, url: str, page: int, content_of: Callable[[int], int | None]) -> set[int]:
        """Return the contents of pages whose URL differs from that of a page in one key; see `observe`."""
        found = set(self._bases.get(page, {}).values())
        for key in _keys(url):
            base = hash_of(without(url, {key}))
            found.update(filter(None, (self._bases.get(base, {}).get(key), content_of(base))))
        return found

    def is_base(self, page: int) -> bool:
        """Say whether a page was fetched whose URL without one key is that of a page, by identity hash."""
        return page in self._bases

    def has_base(self, url: str, content: int, content_of: Callable[[int], int | None]) -> bool:
        """Say whether a page without one query key of a URL shows its content."""
        return any(content_of(hash_of(without(url, {key}))) == content for key in _keys(url))

    def void(self, path: int, url: str, least: float) -> dict[str, float]:
        """Return the query keys of a URL that are void with a probability of `least`, with that."""
        return {key: p for key in _keys(url) if (p := self.probability(path, key)) >= least}

    def evidence(self, path: int, key: str) -> Evidence | None:
        """Return what speaks for a hypothesis; None if there are no tries."""
        return self._evidence.get((path, key))

    def is_first(self, base: int, link: int) -> bool:
        """Say whether a link is the first that was seen of those that differ in void keys alone."""
        return self._firsts.get(base, link) == link and not self._bases.get(base)

    def enter(self, base: int, link: int) -> None:
        """Remember a link as the first of those that differ in void keys alone, if there is none."""
        self._firsts.setdefault(base, link)
        drop_oldest(self._firsts, _MAX_BASES)

    def forget(self, link: int) -> None:
        """Forget a link that could not be fetched as the first of its kind."""
        for base in [base for base, first in self._firsts.items() if first == link]:
            del self._firsts[base]

    def settle(self, resolve: Callable[[int], int]) -> None:
        """Let hypotheses about URL patterns that have become one become one too."""
        for path, key in [known for known in self._evidence if resolve(known[0]) != known[0]]:
            moved = self._evidence.pop((path, key))
            self._evidence.setdefault((resolve(path), key), Evidence()).absorb(moved)
            self._hosts.setdefault(resolve(path), self._hosts[path])
        paths = {path for path, _ in self._evidence}
        self._hosts = {path: host for path, host in self._hosts.items() if path in paths}
        self._pool()

    def fetched(self, link: int) -> None:
        """Take note that a link was fetched."""
        for evidence in self._evidence.values():
            evidence.fetched(link)

    def _try(self, hypothesis: Hypothesis, content: int, other: int) -> None:
        """Count a try; a content that agrees speaks once, and once more where it does not."""
        if hypothesis not in self._evidence and len(self._evidence) >= _MAX_HYPOTHESES:
            return
        evidence = self._evidence.setdefault(hypothesis, Evidence())
        agrees = content == other
        if evidence.speak(content if agrees else -content, agrees=agrees):
            self._pool()

    def _pool(self) -> None:
        """Put together what is known of each key on each host, whatever path it stands below."""
        by_key: dict[tuple[str, str], list[Evidence]] = defaultdict(list)
        for (path, key), evidence in self._evidence.items():
            by_key[self._hosts[path], key].append(evidence)
        self._pooled = {
            key: lower_bound(sum(part.tries for part in parts), sum(part.agreed for part in parts))
            for key, parts in by_key.items()
        }


def without(url: str, keys: set[str]) -> str:
    """Return a URL identity without some query keys, in lower case; still an identity.

    Examples
    --------
    >>> without("http://a.org/x?SID=1&y=2", {"sid"}), without("http://a.org/x?sid=1", {"sid"})
    ('http://a.org/x?y=2', 'http://a.org/x')
    """
    address, _, query = url.partition("?")
    kept = "&".join(pair for pair in query.split("&") if pair.partition("=")[0].lower() not in keys)
    return f"{address}?{kept}" if kept else address


def _keys(url: str) -> list[str]:
    """Return the first query keys of a URL that may be void, in lower case."""
    query = url.partition("?")[2]
    if not query:
        return []
    names = dict.fromkeys(pair.partition("=")[0].lower() for pair in query.split("&"))
    return [name for name in names if name and name not in PAGE_KEYS][:_MAX_KEYS]
