"""Pages read in turn: for a crawl of this process, or ahead for another process that has their sites."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import astuple, dataclass
from typing import Any

from linkscore.v1 import common_pb2
from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.events import PageFetched, decode, encode
from linkscore_scoring.errors import CorruptState, LinkscoreError
from linkscore_scoring.features.types import PageFeatures, Words
from linkscore_server.grpc.convert.pages import PageParser
from linkscore_server.grpc.errors import without_frames
from linkscore_server.observability.metrics import Metrics
from linkscore_server.store.schema import FORMAT
from linkscore_server.turns import Queue, Turns, require_caller

PreparsedPage = PageFeatures | bytes | Exception | None
"""What is known of a page before its turn: features or failure of one that was read elsewhere, its event if
another process read it; None of any other."""


class ReadOtherwise(LinkscoreError):
    """Another process read pages in a way that is not, or no longer, that of this one: it shall pass them."""


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """What an event depends on beside its page: two processes that agree in it read a page alike.

    Attributes
    ----------
    format
        Number of the format of events.
    scope
        Of the crawl: which URLs are one site.
    layout, words, title
        What to read, as of `PageParser.event`.
    facts
        Settings of the crawl that go by facts of pages.
    limits
        Bounds of extraction, in the order of `Limits`.
    """

    format: int
    scope: str
    layout: bool
    words: Words
    title: bool
    limits: tuple[int, ...]
    facts: tuple[str, ...] = ()

    @classmethod
    def of(cls, config: CrawlConfig, limits: tuple[int, ...]) -> ParseOptions:
        """Return how pages of a crawl are read within such limits."""
        return cls(
            FORMAT,
            config.scope,
            config.reads_layout,
            config.words,
            config.keep_titles,
            limits,
            (*sorted(config.limits), *(["revisit"] if config.revisit is not None else [])),
        )

    def plain(self) -> list[Any]:
        """Return what `of_plain` takes."""
        how = [self.format, self.scope, self.layout, int(self.words), self.title]
        return [*how, list(self.limits), list(self.facts)]

    @classmethod
    def of_plain(cls, plain: Sequence[Any]) -> ParseOptions:
        """Return a way to read as another process tells it."""
        number, scope, layout, words, title, limits, facts = plain
        return cls(number, scope, layout, Words(words), title, tuple(limits), tuple(facts))


@dataclass(frozen=True, slots=True)
class ReadPages:
    """Pages of a request that another process has read, and how.

    Attributes
    ----------
    options
        As whoever read them was told.
    events
        Bytes of each page's event, as for the log; None of a page that is in the request as it was sent.
    """

    options: ParseOptions
    events: Sequence[bytes | None]


class PageReader:
    """Reads pages, one in each round of the event loop; one instance per server.

    Parameters
    ----------
    parser
        Makes events of pages.
    turns
        Of all calls whose pages are read here.
    metrics
        Where pages are counted that are passed on.
    """

    def __init__(self, parser: PageParser, turns: Turns, metrics: Metrics) -> None:
        self.turns = turns
        self._parser = parser
        self._limits = astuple(parser.limits)
        self._metrics = metrics

    def parse_options(self, config: CrawlConfig) -> ParseOptions:
        """Return how pages of a crawl are read."""
        return ParseOptions.of(config, self._limits)

    def can(self, options: ParseOptions) -> bool:
        """Say whether pages can be read like this: by these bounds, and without the model of a plug-in."""
        is_known = options.format == FORMAT and options.limits == self._limits
        return is_known and options.words < Words.EXCERPT  # nor what a newer version reads

    async def parse_remote(
        self, pages: Sequence[common_pb2.Page], options: ParseOptions, context: Any
    ) -> list[PreparsedPage]:
        """Return the features of pages that take long, which are read before it is the turn of the call:
        calls with none do not wait for them.

        Raises
        ------
        CallerGone
            If nobody waits for the answer any more.
        """
        found: list[PreparsedPage] = []
        for page in pages:
            try:
                preparsed = await self._parser.parse_remote(
                    page, layout=options.layout, words=options.words, title=options.title
                )
            except Exception as exc:  # raised again when it is the turn of the page
                found.append(without_frames(exc))
                continue
            found.append(preparsed)
            if preparsed is not None:
                require_caller(context)
        return found

    async def known(
        self, pages: Sequence[common_pb2.Page], options: ParseOptions, read: ReadPages | None, context: Any
    ) -> list[PreparsedPage]:
        """Return what is known of pages before their turn: events given, and what `parse_remote` finds.

        Raises
        ------
        ReadOtherwise
            If they were read in another way than pages of this crawl are.
        """
        if read is None:
            return await self.parse_remote(pages, options, context)
        if read.options != options:
            raise ReadOtherwise(f"pages of this crawl are read by {options}, not by {read.options}")
        unread = [page for page, event in zip(pages, read.events, strict=True) if event is None]
        preparsed = iter(await self.parse_remote(unread, options, context))
        return [next(preparsed) if event is None else event for event in read.events]

    def event(
        self,
        page: common_pb2.Page,
        options: ParseOptions,
        site_of: Callable[[str], str],
        preparsed: PreparsedPage,
    ) -> PageFetched:
        """Return the event of a page.

        Raises
        ------
        InvalidPage
            See `PageParser.event`.
        """
        if isinstance(preparsed, Exception):
            raise preparsed
        if isinstance(preparsed, bytes):
            return _fetched(preparsed)
        return self._parser.event(
            page,
            site_of,
            layout=options.layout,
            words=options.words,
            title=options.title,
            facts=options.facts,
            own=preparsed,
        )

    async def ahead(
        self,
        pages: Sequence[common_pb2.Page],
        options: ParseOptions,
        site_of: Callable[[str], str],
        context: Any,
        turn: AbstractAsyncContextManager[Queue],
        room: int,
    ) -> ReadPages:
        """Read pages for another process; what cannot be read is left to it, which says what is wrong.

        Parameters
        ----------
        pages, options, site_of, context
            As of `event` and `parse_remote`.
        turn
            Of the call.
        room
            Bytes by which events may be larger than their pages, all together: those of packed pages are.
        """
        events: list[bytes | None] = []
        known = await self.parse_remote(pages, options, context)
        async with turn as queue:
            for page, preparsed in zip(pages, known, strict=True):
                async with self.turns.of_page(queue, context):
                    event = self._encoded(page, options, site_of, preparsed)
                    more = len(event or b"") - len(page.body)
                    if more > room:
                        event, more = None, 0
                    room -= max(0, more)
                    events.append(event)
        self._metrics.count_passed_on(read=len(events) - events.count(None), unread=events.count(None))
        return ReadPages(options, events)

    def _encoded(
        self,
        page: common_pb2.Page,
        options: ParseOptions,
        site_of: Callable[[str], str],
        preparsed: PreparsedPage,
    ) -> bytes | None:
        try:
            return encode(self.event(page, options, site_of, preparsed))
        except Exception as exc:  # the same there, where it is answered and counted
            without_frames(exc)
            return None


def _fetched(raw: bytes) -> PageFetched:
    event = decode(raw)
    if not isinstance(event, PageFetched):
        raise CorruptState(f"want the event of a page, got {type(event).__name__}")
    return event
