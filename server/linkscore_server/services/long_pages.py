"""Pages that take long, read elsewhere than on the event loop, so that none holds up the calls of others."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

from linkscore_scoring.errors import FieldProblem, InvalidInput, InvalidPage
from linkscore_scoring.features.body import decompress, is_html
from linkscore_scoring.features.html import Extractor
from linkscore_scoring.features.types import Limits, PageFeatures, Words
from linkscore_server import tasks
from linkscore_server.child_processes import child_processes

LARGE_BYTES, LARGE_TAGS = 512_000, 10_000
"""Bytes, decompressed, and ``<`` among them above which a page is large. Of 480 stored pages two are, and the
others take 64 ms at most in 99 of 100 cases; the densest page that is not large takes some 0.3 s."""

CPU_BUDGET_S = 1.4
"""CPU seconds for one page, so that its whole call takes less than two: some 0.5 for a worker that has to be
started first, and 0.1 to take it in. The largest of 24,518 stored pages takes 0.3; of 181 hostile families of
8 MB five are ended by it."""


@dataclass(frozen=True, slots=True)
class PageBody:
    """What `Extractor.extract` is given."""

    body: bytes
    url: str
    content_type: str
    content_encoding: str
    layout: bool
    words: Words = Words.NONE
    title: bool = False

    @property
    def is_packed(self) -> bool:
        """Whether it is encoded, as far as is said or seen."""
        return bool(self.content_encoding) or self.body[:2] == b"\x1f\x8b"

    def read_by(self, extractor: Extractor) -> PageFeatures:
        """Return the features of the page."""
        return extractor.extract(
            self.body,
            url=self.url,
            content_type=self.content_type,
            content_encoding=self.content_encoding,
            layout=self.layout,
            words=self.words,
            title=self.title,
        )


def is_large(page: PageBody) -> bool:
    """Say whether a page takes long; an encoded one is decoded for it, as far as `LARGE_BYTES`."""
    body = page.body
    if page.is_packed:
        try:
            body = decompress(body, page.content_encoding, max_bytes=LARGE_BYTES)
        except InvalidPage as exc:
            return exc.reason == "BODY_TOO_LARGE"
    return (len(body) > LARGE_BYTES or body.count(b"<") > LARGE_TAGS) and is_html(body, page.content_type)


class LargePages:
    """Reads large pages one after another in a worker that comes with the first of them.

    A page that takes more than its CPU time costs the worker its life; the next page starts another one.
    """

    def __init__(self, limits: Limits, *, budget_s: float = CPU_BUDGET_S) -> None:
        self._limits = limits
        self._budget_s = budget_s
        self._pool: ProcessPoolExecutor | None = None
        self._turn = asyncio.Lock()

    async def read(self, page: Callable[[], PageBody]) -> PageFeatures:
        """Return the features of a page, which is asked for when it is its turn."""
        await self._turn.acquire()
        reading = tasks.awaited(self._read(page))
        return await asyncio.shield(reading)  # who gives up leaves the worker to the next page, not to two

    def close(self) -> None:
        """Let the worker go."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None

    async def _read(self, page: Callable[[], PageBody]) -> PageFeatures:
        try:
            pool = self._pool = self._pool or child_processes(1, _start, self._limits)
            found = await asyncio.get_running_loop().run_in_executor(pool, _extract, page(), self._budget_s)
        except BrokenProcessPool:
            self.close()
            rule = f"must be read within {self._budget_s} s of CPU time"
            raise InvalidPage(rule, field="body", reason="LIMIT_EXCEEDED") from None
        finally:
            self._turn.release()
        if isinstance(found, PageFeatures):
            return found
        raise InvalidPage(found)


_extractors: list[Extractor] = []
"""The one of this process, if it is a worker."""


def _start(limits: Limits) -> None:
    """Begin a worker."""
    _extractors[:] = [Extractor(limits)]


def _extract(page: PageBody, budget_s: float) -> PageFeatures | Sequence[FieldProblem]:
    """Read a page, or say what is wrong with it; the kernel ends this process if that takes too long."""
    _die_after(budget_s)
    try:
        return page.read_by(_extractors[0])
    except InvalidInput as exc:
        return exc.problems
    finally:
        _die_after(0)


def _die_after(cpu_s: float) -> None:
    """Have SIGPROF end this process once it has used so much CPU time more; 0: never."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_PROF, cpu_s)
