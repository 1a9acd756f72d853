"""Pages to fetch first to learn a site: one link per anchor path of every page (Xu 2018, section 4.1)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

import numpy as np

from linkscore_scoring.state import Stateful, Stored

Reason = Literal["one_per_apath", "unused_link"]


@dataclass(frozen=True, slots=True)
class Planned:
    """A URL worth fetching for the sample.

    `url`: identity hash of the URL. `link_path`: link path it was seen under. `reason`: ``one_per_apath``:
    drawn as the one link of a link path of a page; ``unused_link``: those have run out, so links that were
    not drawn are taken in turn.
    """

    url: int
    link_path: int
    reason: Reason


class SamplingPlan(Stateful):
    """Incremental sampling plan: report every fetched page with its in-site links, ask which URLs are next.

    Of the URLs a page shows under one link path, one that was never seen is drawn at random and queued
    (FIFO); the others wait and are listed, one of each (page, link path) in turn, once the queue is empty. A
    URL leaves the plan when it is fetched (`mark_fetched`, `add_page`), whoever chose it.

    `max_urls`: bound of the drawn URLs, and again of the waiting ones; further ones are not planned.
    `max_seen`: URLs remembered as seen; when full, pages stop adding to the plan.

    `add_page` costs O(links), `plan(n)` O(n + fetched since). Source: Xu 2018, section 4.1. Differences from
    the paper: URLs listed twice under one (page, link path) count once; when every URL is seen nothing is
    queued; after the queue is empty the unused URLs are drained round-robin, so the sample fills even on a
    small site.
    """

    _queue: Stored[deque[tuple[int, int]]]
    _waiting: Stored[list[tuple[int, list[int]]]]
    _seen: Stored[dict[int, None]]
    _fetched: Stored[dict[int, None]]
    _drawn: Stored[set[int]]
    _held: Stored[int]

    def __init__(self, *, max_urls: int = 50_000, max_seen: int = 200_000) -> None:
        self.max_urls = max_urls
        self.max_seen = max_seen
        self._queue = deque()
        self._waiting = []
        self._seen = {}
        self._fetched = {}
        self._drawn = set()
        self._held = 0

    def is_drawn(self, url: int) -> bool:
        """Say whether a URL was drawn as the one link of a link path of a page, and is not fetched yet."""
        return url in self._drawn and url not in self._fetched

    def add_page(self, url: int, links: Mapping[int, Sequence[int]], rng: np.random.Generator) -> None:
        """Take note of a fetched page and its links.

        `url`: identity hash of the page (the final URL after redirects; report the requested one by
        `mark_fetched`). `links`: link path id -> identity hashes of the in-site URLs under it, in document
        order. `rng`: source of the draws; the same pages in the same order with the same generator give the
        same plan.
        """
        self.mark_fetched([url])
        for link_path, urls in links.items():
            fresh = [key for key in dict.fromkeys(urls) if key not in self._seen]
            if fresh and len(self._queue) < self.max_urls and len(self._seen) < self.max_seen:
                self._take(link_path, fresh, int(rng.integers(len(fresh))))

    def _take(self, link_path: int, fresh: list[int], drawn: int) -> None:
        chosen = fresh.pop(drawn)
        self._seen[chosen] = None
        self._drawn.add(chosen)
        self._queue.append((chosen, link_path))
        room = self.max_urls - self._held
        if fresh and room > 0:
            self._waiting.append((link_path, fresh[:room]))
            self._held += len(fresh[:room])

    def mark_fetched(self, urls: Iterable[int]) -> None:
        """Take URLs out of the plan: fetched, failed, or not wanted."""
        for url in urls:
            if len(self._fetched) < self.max_seen:
                self._fetched[url] = None
                self._seen[url] = None
        self._drop_fetched()

    def _drop_fetched(self) -> None:
        while self._queue and self._queue[0][0] in self._fetched:
            self._queue.popleft()

    def plan(self, n: int) -> list[Planned]:
        """Return the next `n` URLs to fetch, best first; asking does not change the plan."""
        return list(islice(self._listing(), n))

    def held(self) -> list[int]:
        """Return every URL the plan may still name, at most 2 `max_urls`."""
        waiting = (url for _, urls in self._waiting for url in urls)
        return [
            url
            for url in dict.fromkeys([*(url for url, _ in self._queue), *waiting])
            if url not in self._fetched
        ]

    def _listing(self) -> Iterator[Planned]:
        listed: set[int] = set()
        for url, link_path in self._queue:
            if url not in self._fetched:
                listed.add(url)
                yield Planned(url, link_path, "one_per_apath")
        for url, link_path in self._drained():
            if url not in self._fetched and url not in listed:
                listed.add(url)
                yield Planned(url, link_path, "unused_link")

    def _drained(self) -> Iterator[tuple[int, int]]:
        """Yield the unused URLs round-robin over the (page, link path) lists, oldest list first."""
        cursors = [(link_path, iter(urls)) for link_path, urls in self._waiting]
        while cursors:
            alive = []
            for link_path, urls in cursors:
                url = next(urls, None)
                if url is not None:
                    alive.append((link_path, urls))
                    yield url, link_path
            cursors = alive
