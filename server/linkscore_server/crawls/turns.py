"""Who goes first: locks by name, crawls that are asked for before others, and how long a caller waits."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from weakref import WeakValueDictionary

from linkscore_scoring.errors import LinkscoreError

_LONGEST_WAIT_S = 20.0
"""Seconds that a caller without a deadline waits for a crawl to be opened. Chosen, not measured."""
_SHARE = 0.75
"""Share of the time a caller has left that it waits: the answer shall reach it. Chosen, not measured."""

_wait_s: ContextVar[float] = ContextVar("wait_s", default=_LONGEST_WAIT_S)


class CrawlOpening(LinkscoreError):
    """The crawl is being opened, its log is replayed; try again."""


def set_wait(remaining_s: float | None) -> None:
    """Note the seconds until the caller of the running task gives up; None for never."""
    _wait_s.set(_LONGEST_WAIT_S if remaining_s is None else min(_LONGEST_WAIT_S, _SHARE * remaining_s))


def wait_s() -> float:
    """Return the seconds that the caller of the running task waits for a crawl to be opened."""
    return _wait_s.get()


class Locks:
    """A lock a name, forgotten when nobody holds it or waits for it."""

    def __init__(self) -> None:
        self._known: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def __getitem__(self, name: str) -> asyncio.Lock:
        """Return the lock of a name."""
        lock = self._known.get(name)
        if lock is None:
            lock = self._known[name] = asyncio.Lock()
        return lock


class OpeningOrder:
    """Lets some crawls be opened at a time: those asked for, in the order of asking; else the others.

    The event loop says what is asked for; the threads that replay logs ask `go_on` between events, and stop
    there while it is the turn of others.

    Parameters
    ----------
    at_once
        Crawls that are opened at a time.
    """

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._asked: dict[str, None] = {}
        self._opening: dict[str, tuple[int, int]] = {}
        self._go_on: frozenset[str] = frozenset()
        self._is_closed = False
        self._changed = threading.Condition()

    def ask(self, name: str) -> None:
        """Let a crawl go before those that nobody asked for, until it is `done`."""
        with self._changed:
            self._asked.setdefault(name)
            self._arrange()

    def done(self, name: str) -> None:
        """Say that a crawl was opened, or could not be."""
        with self._changed:
            self._asked.pop(name, None)
            self._arrange()

    @contextmanager
    def opening(self, name: str) -> Iterator[None]:
        """Open a crawl in this thread; begins when it is its turn.

        Raises
        ------
        CrawlOpening
            If the server stops meanwhile.
        """
        with self._changed:
            self._opening[name] = (0, 0)
            self._arrange()
        try:
            self.go_on(name, 0, 0)
            yield
        finally:
            with self._changed:
                del self._opening[name]
                self._arrange()

    def go_on(self, name: str, seq: int, last: int) -> None:
        """Note how far an opening is, event `seq` of `last`, and wait for its turn.

        Raises
        ------
        CrawlOpening
            If the server stops: the opening comes to nothing.
        """
        self._opening[name] = (seq, last)
        if name not in self._go_on or self._is_closed:
            with self._changed:
                self._changed.wait_for(lambda: self._is_closed or name in self._go_on)
            if self._is_closed:
                raise CrawlOpening(f"crawl {name!r}: the server stops")

    def progress(self, name: str) -> CrawlOpening:
        """Return what to tell who does not wait for the end of an opening."""
        seq, last = self._opening.get(name, (0, 0))
        how_far = f", event {seq:,} of {last:,} of its log is replayed" if last else ""
        return CrawlOpening(f"crawl {name!r} is being opened{how_far}; try again")

    def close(self) -> None:
        """Let openings under way end at their next event."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _arrange(self) -> None:
        asked = [name for name in self._asked if name in self._opening]
        self._go_on = frozenset((asked or list(self._opening))[: self._at_once])
        self._changed.notify_all()
