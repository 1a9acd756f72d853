"""The client for asyncio."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Self, Unpack

import grpc

from linkscore import _channel
from linkscore.errors import AlreadyExists, InternalError, from_rpc_error, raise_if_invalid
from linkscore.messages import (
    Buckets,
    CrawlOptions,
    Link,
    Sites,
    candidate,
    crawl_name,
    crawl_spec,
    failed_page,
    feedback,
    problem_of,
    rule_format,
    site_name,
    update_request,
)
from linkscore.v1 import browse_log_service_pb2 as browse_pb2
from linkscore.v1 import common_pb2
from linkscore.v1 import crawl_service_pb2 as crawl_pb2
from linkscore.v1 import inspection_service_pb2 as inspection_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2
from linkscore.v1 import site_model_service_pb2 as site_pb2


class AsyncClient:
    """Asyncio client of a linkscore server; belongs to the loop it was made in. For threads see `Client`.

    It has the methods of `Client` with the same parameters: calls are awaited, lists are
    asynchronous iterators. Examples are as at the prompt of ``python -m asyncio``; a program has them in a
    coroutine, below ``async with AsyncClient() as client:``.

    Parameters
    ----------
    target
        `host:port` of the server.
    tls
        True for the system's roots, the path of a PEM file with the authority to trust, or channel
        credentials (a client certificate, say); False for plain text.
    token
        Bearer token sent with every call.
    token_file
        File that holds the token instead; read at every call, so that it may be rotated.
    timeout_s
        Deadline of a call in seconds, > 0; every method takes its own.
    channel_options
        gRPC channel options that win over ours.

    Raises
    ------
    ValueError
        `target` has no form of an address.
    OSError
        The PEM file cannot be read.

    Notes
    -----
    Every method raises an error of `linkscore.errors`, for an answer that cannot be read too. UNAVAILABLE is
    retried three times first. Crawls go by id (`news`) or resource name (`crawls/news`), sites by host or
    resource name.

    Examples
    --------
    Send what was fetched, and fetch what scores highest next:

    >>> from linkscore import AsyncClient, page, rows
    >>> client = AsyncClient("localhost:7411")
    >>> made = await client.ensure_crawl(crawl="news", policy="harvest")
    >>> html = b'<a href="/thread/1">A thread</a> <a href="/tag/x">A tag</a>'
    >>> fetched = page(url="http://example.org/", body=html)
    >>> answer = await client.ingest_pages(crawl="news", pages=[fetched])
    >>> best = max(rows(answer.results[0].links), key=lambda row: row.score)
    >>> best.url
    'http://example.org/thread/1'

    A link that waits is scored again by its URL and ticket, or by the place of its bucket among the others:

    >>> again = await client.score_links(crawl="news", links=[(best.url, best.ticket)])
    >>> [round(score, 2) for score in again.links.scores]
    [0.9]
    >>> buckets = ["tag", "thread"]
    >>> ranked = await client.rank_buckets(crawl="news", buckets=buckets)
    >>> [buckets[i] for i in ranked.order]
    ['thread', 'tag']
    >>> await client.close()
    """

    def __init__(
        self,
        target: str = _channel.DEFAULT_TARGET,
        *,
        tls: _channel.Tls = False,
        token: str | None = None,
        token_file: str | os.PathLike[str] | None = None,
        timeout_s: float = _channel.DEFAULT_TIMEOUT_S,
        channel_options: Sequence[tuple[str, Any]] = (),
    ) -> None:
        if problem := _channel.target_problem(target):
            raise ValueError(f"target: {problem}")
        if problem := _channel.timeout_problem(timeout_s):
            raise ValueError(f"timeout_s: {problem}")
        credentials = _channel.credentials(tls)
        options = _channel.options(channel_options)
        self._channel = (
            grpc.aio.secure_channel(target, credentials, options)
            if credentials
            else grpc.aio.insecure_channel(target, options)
        )
        self._calls = _channel.calls(self._channel)
        self._metadata = _channel.metadata(token, token_file)
        self._timeout_s = timeout_s

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection; calls under way are cancelled."""
        await self._channel.close()

    async def _call(self, request: Any, timeout_s: float | None) -> Any:
        try:
            answer = await self._calls[type(request)](
                request, timeout=timeout_s or self._timeout_s, metadata=self._metadata()
            )
        except grpc.RpcError as e:
            raise from_rpc_error(e) from e
        if problem := problem_of(request, answer):
            raise InternalError(
                f"the server's answer cannot be read: {problem}", code=grpc.StatusCode.INTERNAL
            )
        return answer

    async def _ask(self, kind: Any, timeout_s: float | None, **fields: Any) -> Any:
        """Make the call of this kind of request: crawls go by id or name."""
        if "crawl" in fields:
            fields["crawl"] = crawl_name(fields["crawl"])
        return await self._call(kind(**fields), timeout_s)

    async def _list(self, request: Any, name: str, timeout_s: float | None) -> AsyncIterator[Any]:
        while True:
            answer = await self._call(request, timeout_s)
            for entry in getattr(answer, name):
                yield entry
            if not answer.next_page_token:
                return
            request.page_token = answer.next_page_token

    async def _get_crawl(self, crawl: str, timeout_s: float | None, **wanted: Any) -> Any:
        return await self._ask(crawl_pb2.GetCrawlRequest, timeout_s, name=crawl_name(crawl), **wanted)

    async def _get_site(self, crawl: str, site: str, timeout_s: float | None, **wanted: Any) -> Any:
        return await self._ask(site_pb2.GetSiteRequest, timeout_s, name=site_name(crawl, site), **wanted)

    # Crawls

    async def create_crawl(
        self, *, crawl: str, timeout_s: float | None = None, **config: Unpack[CrawlOptions]
    ) -> crawl_pb2.Crawl:
        """Create a crawl; `config` takes the fields of `Crawl`: policy, scope, examples, seed, ..."""
        request = crawl_pb2.CreateCrawlRequest(crawl=crawl_spec(crawl, config))
        return (await self._call(request, timeout_s)).crawl

    async def ensure_crawl(
        self, *, crawl: str, timeout_s: float | None = None, **config: Unpack[CrawlOptions]
    ) -> crawl_pb2.Crawl:
        """Create a crawl, or give the one there is what is asked for here: policy, wants, limits, examples.

        For the start of a program. What is not given stays; `update_crawl(observe_only=False)` ends watching.

        Raises
        ------
        InvalidArgument
            The one there is differs in what was asked for and cannot be changed, for example in `scope`,
            `seed` or `groups`; `field_violations` names each field.

        Examples
        --------
        >>> client = AsyncClient("localhost:7411")
        >>> crawl = await client.ensure_crawl(crawl="books", policy=("harvest", {"curiosity": 0.1}))
        >>> crawl.policy.harvest.curiosity
        0.1
        """
        try:
            return await self.create_crawl(crawl=crawl, timeout_s=timeout_s, **config)
        except AlreadyExists:  # without a mask all that is given is meant
            request = crawl_pb2.UpdateCrawlRequest(crawl=crawl_spec(crawl, config))
            return (await self._call(request, timeout_s)).crawl

    async def get_crawl(self, *, crawl: str, timeout_s: float | None = None) -> crawl_pb2.Crawl:
        """Read a crawl."""
        return (await self._get_crawl(crawl, timeout_s)).crawl

    async def get_server_version(self, *, crawl: str, timeout_s: float | None = None) -> str:
        """Say which version the server of a crawl has."""
        return (await self._get_crawl(crawl, timeout_s)).server_version

    def list_crawls(
        self, *, page_size: int = 0, timeout_s: float | None = None
    ) -> AsyncIterator[crawl_pb2.Crawl]:
        """List all crawls by name, page by page as they are consumed.

        Examples
        --------
        >>> client = AsyncClient("localhost:7411")
        >>> "crawls/books" in [crawl.name async for crawl in client.list_crawls()]
        True
        """
        request = crawl_pb2.ListCrawlsRequest(page_size=page_size)
        return self._list(request, "crawls", timeout_s)

    async def list_shards(
        self, *, crawl: str = "", timeout_s: float | None = None
    ) -> Sequence[crawl_pb2.Shard]:
        """List the shards of a crawl, or of all, by crawl and group: who has each, and what it takes.

        A process of the server that does not answer has a row of its own, with `SHARD_STATE_SILENT`.
        """
        return (await self._ask(crawl_pb2.ListShardsRequest, timeout_s, crawl=crawl)).shards

    async def get_server_info(self, *, timeout_s: float | None = None) -> crawl_pb2.GetServerInfoResponse:
        """Say version and settings in force of the server that answers; needs a token of an admin."""
        return await self._call(crawl_pb2.GetServerInfoRequest(), timeout_s)

    async def update_crawl(
        self, *, crawl: str, timeout_s: float | None = None, **config: Unpack[CrawlOptions]
    ) -> crawl_pb2.Crawl:
        """Change what is given, and add examples; a new policy serves from the next call on.

        `wanted` takes the place of what was wanted before; an empty one (``{}``) takes it away. So do
        `budget` and `respect`, which hold from the next call on. ``examples=[]`` takes all examples back.
        """
        request = update_request(crawl, config)
        return (await self._call(request, timeout_s)).crawl

    async def delete_crawl(self, *, crawl: str, timeout_s: float | None = None) -> None:
        """Delete a crawl, its models and its log."""
        await self._ask(crawl_pb2.DeleteCrawlRequest, timeout_s, name=crawl_name(crawl))

    # Pages and links

    async def ingest_pages(
        self,
        *,
        crawl: str,
        pages: Iterable[common_pb2.Page],
        timeout_s: float | None = None,
    ) -> scoring_pb2.IngestPagesResponse:
        """Send fetched pages, failed fetches too; the answer scores every link of them.

        Parameters
        ----------
        crawl
            Id or resource name.
        pages
            Messages made by `linkscore.page`; at most 500.
        timeout_s
            Deadline, seconds; the client's if None.

        Returns
        -------
        IngestPagesResponse
            `results` has one entry for each page, in order; `linkscore.rows` reads its links. A page that
            cannot be used has a status that says why, and the others count.

        Raises
        ------
        NotFound
            There is no such crawl.
        ResourceExhausted
            The server is at its bounds; `retry_after_s` says when to come back.

        Examples
        --------
        >>> from linkscore import page, rows
        >>> client = AsyncClient("localhost:7411")
        >>> made = await client.ensure_crawl(crawl="books")
        >>> pages = [
        ...     page(url="http://a.org/", body=b'<a href="/thread/1">'),
        ...     page(url="http://a.org/gone", status_code=404),
        ... ]
        >>> answer = await client.ingest_pages(crawl="books", pages=pages)
        >>> first, second = answer.results
        >>> [(row.url, row.score, row.bucket) for row in rows(first.links)]
        [('http://a.org/thread/1', 0.9, 'thread')]
        """
        return await self._ask(
            scoring_pb2.IngestPagesRequest,
            timeout_s,
            crawl=crawl,
            pages=pages,
        )

    async def score_links(
        self,
        *,
        crawl: str,
        links: Iterable[Link],
        timeout_s: float | None = None,
    ) -> scoring_pb2.ScoreLinksResponse:
        """Score links again: URLs, or (URL, ticket) pairs.

        With the ticket it came with, a link is scored as where it was found; without, by its URL alone.

        Examples
        --------
        >>> client = AsyncClient("localhost:7411")
        >>> links = ["http://a.org/tag/x", ("http://a.org/b", b"t")]
        >>> got = await client.score_links(crawl="books", links=links)
        >>> list(got.links.scores)
        [0.1, 0.5]
        """
        return await self._ask(
            scoring_pb2.ScoreLinksRequest,
            timeout_s,
            crawl=crawl,
            links=map(candidate, links),
        )

    async def rank_buckets(
        self,
        *,
        crawl: str,
        buckets: Buckets,
        n: int = 0,
        in_flight: Mapping[str, int] | None = None,
        fill: bool = False,
        timeout_s: float | None = None,
    ) -> scoring_pb2.RankBucketsResponse:
        """Order the buckets that are not empty, best first, and hand out `n` of their links.

        How a frontier of any size stays in order: one queue for each bucket, one call whenever a place is
        free. Say what is under way (`in_flight`, by the bucket its link was taken from, until the page was
        ingested) and how many links of each bucket wait: what little is known of is spread, and `urls` of
        the answer, parallel to `order`, says how many of each to take. They may be fewer than `n`, unless
        you `fill`: then leave a place empty until the next page was ingested. See docs/reference/clients.md.

        Examples
        --------
        >>> client = AsyncClient("localhost:7411")
        >>> queues = {"tag": ["http://a.org/tag/x"], "thread": ["http://a.org/thread/1"]}
        >>> names = list(queues)
        >>> ranked = await client.rank_buckets(crawl="books", buckets=names)
        >>> queues[names[ranked.order[0]]]
        ['http://a.org/thread/1']

        Two places are free, and four threads under way:

        >>> waiting = {"tag": 3, "thread": 1}
        >>> ranked = await client.rank_buckets(crawl="books", buckets=waiting, n=2, in_flight={"thread": 4})
        >>> {names[row]: n for row, n in zip(ranked.order, ranked.urls)}
        {'thread': 1, 'tag': 1}
        """
        under_way = (in_flight or {}).items()
        return await self._ask(
            scoring_pb2.RankBucketsRequest,
            timeout_s,
            crawl=crawl,
            buckets=buckets,
            n=n,
            waiting=buckets.values() if isinstance(buckets, Mapping) else (),
            in_flight=[scoring_pb2.BucketInFlight(bucket=bucket, count=count) for bucket, count in under_way],
            fill=fill,
        )

    async def rank_sites(
        self,
        *,
        crawl: str,
        sites: Sites,
        n: int = 1,
        timeout_s: float | None = None,
    ) -> scoring_pb2.RankSitesResponse:
        """Say which sites to fetch n URLs from: hosts, or how many URLs of each host wait (None: enough)."""
        waiting = sites.items() if isinstance(sites, Mapping) else [(site, None) for site in sites]
        return await self._ask(
            scoring_pb2.RankSitesRequest,
            timeout_s,
            crawl=crawl,
            sites=[scoring_pb2.WaitingSite(site=site, waiting=count) for site, count in waiting],
            n=n,
        )

    async def report_feedback(
        self, *, crawl: str, feedback: Iterable[scoring_pb2.Feedback], timeout_s: float | None = None
    ) -> scoring_pb2.ReportFeedbackResponse:
        """Report what extraction found on fetched pages.

        Examples
        --------
        >>> from linkscore.v1.link_scoring_service_pb2 import Feedback
        >>> client = AsyncClient("localhost:7411")
        >>> found = Feedback(event_id="1", url="http://a.org/thread/1", item_count=3)
        >>> answer = await client.report_feedback(crawl="books", feedback=[found])
        >>> len(answer.statuses)
        1
        """
        return await self._ask(scoring_pb2.ReportFeedbackRequest, timeout_s, crawl=crawl, feedback=feedback)

    async def report_failure(
        self,
        *,
        crawl: str,
        url: str,
        status_code: int = 0,
        fetch_error: str = "",
        ticket: bytes = b"",
        event_id: str | None = None,
        timeout_s: float | None = None,
    ) -> None:
        """Report a fetch that brought no page: its HTTP status, or why there was no answer.

        Every failed fetch should be reported, with the ticket the URL was queued with: links of its kind then
        lose what they seemed to be worth. In a batch with others: `ingest_pages` of `page(...)`.

        Raises
        ------
        ValueError
            Neither `status_code` (400 and more) nor `fetch_error` says that it failed.
        InvalidArgument
            The URL or the ticket breaks a rule.

        Examples
        --------
        >>> client = AsyncClient("localhost:7411")
        >>> made = await client.ensure_crawl(crawl="books")
        >>> await client.report_failure(crawl="books", url="http://a.org/gone", status_code=404)
        """
        failed = failed_page(
            url=url, status_code=status_code, fetch_error=fetch_error, ticket=ticket, event_id=event_id
        )
        answer = await self.ingest_pages(crawl=crawl, pages=[failed], timeout_s=timeout_s)
        raise_if_invalid(answer.results[0].status)

    async def reward(
        self,
        *,
        crawl: str,
        url: str,
        reward: float,
        ticket: bytes = b"",
        event_id: str | None = None,
        timeout_s: float | None = None,
    ) -> None:
        """Report what one fetched page was worth, in [0, 1]; many at once: `report_feedback`.

        Raises
        ------
        InvalidArgument
            The URL or the reward breaks a rule.

        Examples
        --------
        >>> client = AsyncClient("localhost:7411")
        >>> made = await client.ensure_crawl(crawl="books")
        >>> await client.reward(crawl="books", url="http://a.org/thread/1", reward=1.0)
        """
        event = feedback(url=url, reward=reward, ticket=ticket, event_id=event_id)
        answer = await self.report_feedback(crawl=crawl, feedback=[event], timeout_s=timeout_s)
        raise_if_invalid(answer.statuses[0])

    async def explain_links(
        self,
        *,
        crawl: str,
        links: Iterable[Link],
        timeout_s: float | None = None,
    ) -> scoring_pb2.ScoreLinksResponse:
        """Say why links have their scores."""
        return await self._ask(
            scoring_pb2.ScoreLinksRequest,
            timeout_s,
            crawl=crawl,
            links=map(candidate, links),
            explain=True,
        )

    async def suggest_examples(
        self,
        *,
        crawl: str,
        site: str = "",
        max_results: int = 0,
        timeout_s: float | None = None,
    ) -> scoring_pb2.SuggestExamplesResponse:
        """Say which 5 (or so many) fetched pages of a site, empty for all, a user should be asked about."""
        return await self._ask(
            scoring_pb2.SuggestExamplesRequest,
            timeout_s,
            crawl=crawl,
            site=site,
            max_results=max_results,
        )

    async def rank_revisits(
        self,
        *,
        crawl: str,
        site: str = "",
        max_results: int = 0,
        now: datetime | None = None,
        timeout_s: float | None = None,
    ) -> scoring_pb2.RankRevisitsResponse:
        """Say which 100 (or so many) known pages of a site, empty for all, to fetch again, best first."""
        return await self._ask(
            scoring_pb2.RankRevisitsRequest,
            timeout_s,
            crawl=crawl,
            site=site,
            max_results=max_results,
            now=now,
        )

    async def notify_changed(
        self,
        *,
        crawl: str,
        urls: Iterable[str],
        change_time: datetime | None = None,
        timeout_s: float | None = None,
    ) -> scoring_pb2.NotifyChangedResponse:
        """Say that known pages have changed, at most 10,000, at a time or now; safe to repeat."""
        return await self._ask(
            scoring_pb2.NotifyChangedRequest, timeout_s, crawl=crawl, urls=urls, change_time=change_time
        )

    # Site models

    def list_sites(
        self, *, crawl: str, page_size: int = 0, timeout_s: float | None = None
    ) -> AsyncIterator[site_pb2.Site]:
        """List all sites of a crawl by name, page by page as they are consumed."""
        request = site_pb2.ListSitesRequest(crawl=crawl_name(crawl), page_size=page_size)
        return self._list(request, "sites", timeout_s)

    async def get_site(self, *, crawl: str, site: str, timeout_s: float | None = None) -> site_pb2.Site:
        """Read one site."""
        return (await self._get_site(crawl, site, timeout_s)).site

    async def get_site_advice(
        self, *, crawl: str, site: str, timeout_s: float | None = None
    ) -> site_pb2.SiteAdvice:
        """Say what the next 100 fetches of a site should bring, and what looks like a trap."""
        return (await self._get_site(crawl, site, timeout_s)).advice

    async def learn_site(self, *, crawl: str, site: str, timeout_s: float | None = None) -> site_pb2.Site:
        """Learn a site now; answers when the model is active. Large sites need a longer `timeout_s`."""
        return (await self._ask(site_pb2.LearnSiteRequest, timeout_s, name=site_name(crawl, site))).site

    async def skipped_links(
        self, *, crawl: str, site: str, max_results: int = 100, timeout_s: float | None = None
    ) -> site_pb2.GetSiteResponse:
        """Read a site with the latest links its pages were answered to skip, and counts by reason."""
        return await self._get_site(crawl, site, timeout_s, max_skipped=max_results)

    async def suggest_seeds(
        self,
        *,
        crawl: str,
        site: str = "",
        max_results: int = 0,
        timeout_s: float | None = None,
    ) -> site_pb2.SuggestSeedsResponse:
        """Give the pages to start a crawl from, best first; `site` may also be any URL of the site.

        Without a site: the pages to find news from, on all sites of the crawl's browse log.

        Examples
        --------
        >>> client = AsyncClient("localhost:7411")
        >>> answer = await client.suggest_seeds(crawl="books", site="a.org", max_results=1)
        >>> [seed.url for seed in answer.seeds]
        ['http://a.org/0']
        """
        return await self._ask(
            site_pb2.SuggestSeedsRequest,
            timeout_s,
            crawl=crawl,
            site=site,
            max_results=max_results,
        )

    async def export_rules(
        self,
        *,
        crawl: str,
        site: str,
        formats: Iterable[int | str] = (),
        timeout_s: float | None = None,
    ) -> site_pb2.ExportRulesResponse:
        """Give what was learned as files for crawlers, by name (`nutch`), empty for all, or `experience`."""
        return await self._ask(
            site_pb2.ExportRulesRequest,
            timeout_s,
            name=site_name(crawl, site),
            formats=map(rule_format, formats),
        )

    # What people look at

    async def get_activity(self, *, crawl: str, timeout_s: float | None = None) -> crawl_pb2.Activity:
        """Say what became of a crawl so far, over all of its sites."""
        return (await self._get_crawl(crawl, timeout_s, with_activity=True)).activity

    async def list_templates(
        self,
        *,
        crawl: str,
        site: str,
        timeout_s: float | None = None,
    ) -> inspection_pb2.ListTemplatesResponse:
        """Give the templates of a site, most crawled first, and how far the site is learned."""
        return await self._ask(
            inspection_pb2.ListTemplatesRequest,
            timeout_s,
            name=site_name(crawl, site),
        )

    async def list_template_pages(
        self,
        *,
        crawl: str,
        site: str,
        template: str,
        max_results: int = 0,
        timeout_s: float | None = None,
    ) -> inspection_pb2.ListTemplatePagesResponse:
        """Give some pages of a template, latest first, with the links by which they were found."""
        return await self._ask(
            inspection_pb2.ListTemplatePagesRequest,
            timeout_s,
            name=site_name(crawl, site),
            template=template,
            max_results=max_results,
        )

    async def get_harvest(
        self, *, crawl: str, site: str, timeout_s: float | None = None
    ) -> inspection_pb2.GetHarvestResponse:
        """Say what the fetches of a site brought over time."""
        return await self._ask(inspection_pb2.GetHarvestRequest, timeout_s, name=site_name(crawl, site))

    # Browse logs

    async def import_browse_records(
        self,
        *,
        crawl: str,
        batch_id: str,
        records: Iterable[browse_pb2.BrowseRecord] = (),
        left_out: Mapping[str, int] | None = None,
        timeout_s: float = 60.0,
    ) -> browse_pb2.ImportBrowseRecordsResponse:
        """Send a batch of browse log records, visits of people alone; `left_out` counts those you left out.

        A batch is taken in as a whole and once, so after an error send it again under its id.
        """
        return await self._ask(
            browse_pb2.ImportBrowseRecordsRequest,
            timeout_s,
            crawl=crawl,
            batch_id=batch_id,
            records=records,
            left_out=left_out,
        )

    async def mine_site(
        self,
        *,
        crawl: str,
        site: str,
        timeout_s: float | None = None,
    ) -> browse_pb2.MineSiteResponse:
        """Mine the browse log of a site now. Large logs need a longer `timeout_s`."""
        return await self._ask(
            browse_pb2.MineSiteRequest,
            timeout_s,
            name=site_name(crawl, site),
        )

    async def get_browse_stats(
        self, *, crawl: str, timeout_s: float | None = None
    ) -> browse_pb2.GetBrowseStatsResponse:
        """Say what a crawl holds of browse logs."""
        return await self._ask(browse_pb2.GetBrowseStatsRequest, timeout_s, crawl=crawl)
