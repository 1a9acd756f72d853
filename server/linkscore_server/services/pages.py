"""A page as sent becomes an event with features; what takes long is read before its call has its turn.

Long pages are read elsewhere than on the event loop, so that none holds up the calls of others.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import msgpack

from linkscore.v1 import common_pb2
from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.events import PageFetched
from linkscore_scoring.engine.limits import LIMITS, limit_facts
from linkscore_scoring.errors import FieldProblem, InvalidInput, InvalidPage
from linkscore_scoring.features.body import decompress, is_html, too_large
from linkscore_scoring.features.given_links import ExtractedLink, with_links
from linkscore_scoring.features.html import Extractor
from linkscore_scoring.features.types import Limits, PageFeatures
from linkscore_scoring.limits.respect import is_same_host, site_file
from linkscore_scoring.revisits.listings import listing_page
from linkscore_scoring.revisits.pages import read_facts
from linkscore_scoring.site.model import NOT_MODIFIED
from linkscore_scoring.types import SentPage
from linkscore_scoring.urls.identity import validate_url
from linkscore_server import tasks
from linkscore_server.door import require_caller
from linkscore_server.services.contract import without_frames
from linkscore_server.services.messages import check_most, enum_names, seconds_of, wrong_numbers

# Bounds of a page, as the contract says.
MAX_EVENT_ID_BYTES = 128
MAX_HEADERS = 100  # as many as Apache takes of a request (LimitRequestFields)
MAX_TICKET_BYTES = 64  # what `engine.links` writes is shorter
GZIP_MAGIC = b"\x1f\x8b"  # RFC 1952, section 2.3.1
_ERROR_CHARS = 200  # of a fetch error that the log keeps: a bound
_KINDS = enum_names(common_pb2.PageKind, "PAGE_KIND_")
_PAGES = (common_pb2.PAGE_KIND_UNSPECIFIED, common_pb2.PAGE_KIND_PAGE)

LARGE_BYTES, LARGE_TAGS = 512_000, 10_000  # decompressed, ``<`` among them: two of 480 stored pages have more

CPU_BUDGET_S = 1.4
"""CPU seconds for one page, so that its call takes less than two with a worker started for it. The largest of
24,518 stored pages takes .3; of 181 hostile families of 8 MB five are ended by it."""

ReadAhead = PageFeatures | Exception | None
"""Features or failure of a page that was read elsewhere before its turn; None of any other."""
PageBody = dict[str, Any]


class ParseOptions(NamedTuple):
    """What is read of a page: layout and words if a policy goes by them, and facts that settings go by."""

    layout: bool = False
    words: bool = False
    facts: tuple[str, ...] = ()

    @classmethod
    def of(cls, config: CrawlConfig) -> ParseOptions:
        """Return how pages of a crawl are read."""
        facts = (*sorted(config.limits), *(["revisit"] if config.revisit is not None else []))
        return cls(config.reads_layout, config.words, facts)

    def body_of(self, page: common_pb2.Page) -> PageBody:
        """Return a page as `Extractor.extract` takes it."""
        return {
            "body": page.body,
            "url": came_from(page),
            "content_type": page.content_type,
            "content_encoding": page.content_encoding,
            "layout": self.layout,
            "words": self.words,
        }


def is_large(body: bytes, content_type: str, encoding: str) -> bool:
    """Say whether a page takes long; an encoded one is decoded for it, as far as `LARGE_BYTES`."""
    if encoding or body[:2] == GZIP_MAGIC:
        try:
            body = decompress(body, encoding, max_bytes=LARGE_BYTES)
        except InvalidPage as exc:
            return exc.reason == "BODY_TOO_LARGE"
    return (len(body) > LARGE_BYTES or body.count(b"<") > LARGE_TAGS) and is_html(body, content_type)


class PageParser:
    """Parses pages; keeps nothing but caches. `on_left` hears why the compiled reader leaves a page."""

    def __init__(
        self,
        limits: Limits,
        clock: Callable[[], float],
        on_left: Callable[[str], None] = lambda reason: None,
    ) -> None:
        self.limits = limits
        self._clock = clock
        self._extractor = Extractor(limits, on_left=on_left)
        self._large = LargePages(limits)

    async def read_ahead(
        self, pages: Sequence[common_pb2.Page], options: ParseOptions, context: Any
    ) -> list[ReadAhead]:
        """Return what is known of pages before it is the turn of their call: calls with none that takes long
        do not wait for those."""
        found: list[ReadAhead] = []
        for page in pages:
            try:
                features = await self._read_elsewhere(page, options)
            except Exception as exc:  # raised again when it is the turn of the page
                found.append(without_frames(exc))
                continue
            found.append(features)
            if features is not None:
                require_caller(context)
        return found

    async def _read_elsewhere(self, page: common_pb2.Page, options: ParseOptions) -> PageFeatures | None:
        """Return the features of the body of a page that takes long; None of any other page."""
        body = page.body  # a copy, as each time
        is_packed = bool(page.content_encoding) or body[:2] == GZIP_MAGIC
        if (len(body) <= LARGE_TAGS and not is_packed) or not has_page(page):
            return None
        if _kind_of(page):  # a sitemap or feed is read in a thread
            self._checked(page)
            return await asyncio.to_thread(self._listed, options.body_of(page))
        if not is_packed and len(body) > self.limits.body_bytes:
            self._checked(page)
            raise too_large(self.limits.body_bytes)  # before it is looked at
        if not is_large(body, page.content_type, page.content_encoding):
            return None
        self._checked(page)
        del body  # while others are read: copied again when it is its turn
        return await self._large.read(partial(options.body_of, page))

    def _listed(self, body: PageBody) -> PageFeatures:
        return listing_page(
            body["body"], url=body["url"], content_encoding=body["content_encoding"], limits=self.limits
        )

    def close(self) -> None:
        """Let the process that reads pages go."""
        self._large.close()

    def event(
        self,
        page: common_pb2.Page,
        site_of: Callable[[str], str],
        options: ParseOptions,
        ahead: ReadAhead = None,
    ) -> PageFetched:
        """Return the event of a page, `site_of` names the site of a URL; raises `InvalidPage`."""
        if isinstance(ahead, Exception):
            raise ahead
        requested = self._checked(page)
        final = came_from(page)
        features = self._features(page, options, ahead) if has_page(page) else None
        if features is not None and options.facts:
            features = replace(features, facts=features.facts | _facts(options.facts, sent_page(page)))
        try:  # what cannot be written down would cost the pages written with it
            msgpack.packb(features.facts if features is not None else {})
        except (TypeError, ValueError, OverflowError) as exc:
            raise InvalidPage(f"must hold nothing that cannot be kept: {exc}", field="body") from None
        return PageFetched(
            event_id=page.event_id,
            site=site_of(final if features is not None else page.url),
            url=final,
            requested_key=requested,
            status_code=NOT_MODIFIED if page.not_modified and features is None else page.status_code,
            fetch_error=page.fetch_error[:_ERROR_CHARS],
            ticket=page.ticket,
            now_s=seconds_of(page.fetch_time, self._clock) if page.HasField("fetch_time") else self._clock(),
            features=features,
        )

    def _checked(self, page: common_pb2.Page) -> str:
        """Return the identity of the URL that was requested."""
        requested = validate_url(page.url, "url", max_chars=self.limits.url_chars, error=InvalidPage)
        if page.final_url:
            validate_url(page.final_url, "final_url", max_chars=self.limits.url_chars, error=InvalidPage)
        check_most("event_id", len(page.event_id.encode()), MAX_EVENT_ID_BYTES, " bytes")
        check_most("ticket", len(page.ticket), MAX_TICKET_BYTES, " bytes")
        if not 0 <= page.status_code <= 999:
            raise InvalidPage(f"must be 0 or an HTTP status, got {page.status_code}", field="status_code")
        if wrong := list(wrong_numbers(page)):
            raise InvalidPage(wrong)
        return requested

    def _features(
        self, page: common_pb2.Page, options: ParseOptions, own: PageFeatures | None
    ) -> PageFeatures:
        if own is not None:
            features = own
        elif _kind_of(page):
            features = self._listed(options.body_of(page))
        else:
            features = self._extractor.extract(**options.body_of(page))
        if page.outlinks:
            sent = page.outlinks[: self.limits.links + 1]  # one more, so that it shows that they are cut
            given = [ExtractedLink(link.url, link.anchor_text, link.tag_path, link.rel) for link in sent]
            features = replace(features, facts={})  # a reader's facts are of the links that it found
            features = with_links(features, given, limits=self.limits)
        return features


def _facts(names: Sequence[str], page: SentPage) -> dict[str, Any]:
    """Return the facts of a page that some settings of a crawl go by."""
    found: dict[str, Any] = {}
    for name in names:
        found |= limit_facts(name, page) if name in LIMITS else read_facts(page)
    return found


def sent_page(page: common_pb2.Page) -> SentPage:
    """Return a page for settings of the crawl to read their facts."""
    headers = [(header.name, header.value) for header in page.headers[:MAX_HEADERS]]
    size = page.fetched_bytes or len(page.body)
    return SentPage(size, page.url, headers, page.body, page.content_encoding, _kind_of(page))


def came_from(page: common_pb2.Page) -> str:
    """Return the URL that a page came from; of a site file from another host, where it was asked."""
    if page.final_url and (site_file(page.url) is None or is_same_host(page.url, page.final_url)):
        return page.final_url
    return page.url


def has_page(page: common_pb2.Page) -> bool:
    """Say whether the fetch brought a page: content or links, no error, and no status that says otherwise."""
    content = page.WhichOneof("content")
    if (page.not_modified or page.status_code == NOT_MODIFIED) and content == "body" and not page.body:
        content = None  # HTTP libraries give an empty body where there is none
    came = content is not None or bool(page.outlinks)
    return came and not page.fetch_error and (page.status_code == 0 or 200 <= page.status_code < 400)


def _kind_of(page: common_pb2.Page) -> str:
    """Return what a page is, in lower case; empty for a page as any other; raises `InvalidPage`."""
    if page.kind in _PAGES:
        return ""
    if page.kind not in _KINDS:
        raise InvalidPage(f"is not a known value, got {page.kind}", field="kind")
    return _KINDS[page.kind]


class LargePages:
    """Reads large pages one by one in a worker, which a page that takes more than its CPU time ends."""

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

    def _given(self, body: PageBody) -> asyncio.Future[PageFeatures | Sequence[FieldProblem]]:
        pool = self._pool = self._pool or tasks.child_processes(1, _start, self._limits)
        return asyncio.get_running_loop().run_in_executor(pool, _extract, body, self._budget_s)

    async def _read(self, page: Callable[[], PageBody]) -> PageFeatures:
        try:
            try:
                reading = self._given(page())
            except BrokenProcessPool:  # it was killed while it had nothing to do
                self.close()
                reading = self._given(page())
            found = await reading
        except BrokenProcessPool:
            self.close()
            rule = f"must be read within {self._budget_s} s of CPU time"
            raise InvalidPage(rule, field="body", reason="LIMIT_EXCEEDED") from None
        finally:
            self._turn.release()
        if isinstance(found, PageFeatures):
            return found
        raise InvalidPage(found)


_extractors: list[Extractor] = []  # the one of this process, if it is a worker


def _start(limits: Limits) -> None:
    """Begin a worker."""
    _extractors[:] = [Extractor(limits)]


def _extract(page: PageBody, budget_s: float) -> PageFeatures | Sequence[FieldProblem]:
    """Read a page, or say what is wrong with it; SIGPROF ends this process if that takes more CPU time."""
    signal.setitimer(signal.ITIMER_PROF, budget_s)
    try:
        return _extractors[0].extract(**page)
    except InvalidInput as exc:
        return exc.problems
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
