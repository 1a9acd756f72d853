"""Pages read in turn: those that take long in a process beside, before it is the turn of their call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from linkscore.v1 import common_pb2
from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.events import PageFetched
from linkscore_scoring.features.types import PageFeatures, Words
from linkscore_server.grpc.convert.pages import PageParser
from linkscore_server.grpc.errors import without_frames
from linkscore_server.turns import require_caller

PreparsedPage = PageFeatures | Exception | None
"""What is known of a page before its turn: features or failure of one that was read elsewhere; None of any
other."""


class ParseOptions(NamedTuple):
    """What an event depends on beside its page, see `PageParser.event`."""

    layout: bool
    words: Words
    title: bool
    facts: tuple[str, ...]

    @classmethod
    def of(cls, config: CrawlConfig) -> ParseOptions:
        """Return how pages of a crawl are read."""
        facts = (*sorted(config.limits), *(["revisit"] if config.revisit is not None else []))
        return cls(config.reads_layout, config.words, config.keep_titles, facts)


class PageReader:
    """Reads pages; one instance per server."""

    def __init__(self, parser: PageParser) -> None:
        self._parser = parser

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

    def event(
        self,
        page: common_pb2.Page,
        options: ParseOptions,
        site_of: Callable[[str], str],
        preparsed: PreparsedPage,
    ) -> PageFetched:
        """Return the event of a page; errors as of `PageParser.event`."""
        if isinstance(preparsed, Exception):
            raise preparsed
        return self._parser.event(
            page,
            site_of,
            layout=options.layout,
            words=options.words,
            title=options.title,
            facts=options.facts,
            own=preparsed,
        )
