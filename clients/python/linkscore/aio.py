"""The client for asyncio."""

from __future__ import annotations

import itertools
import os
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, Unpack

import grpc

from linkscore import _channel, _requests
from linkscore.errors import AlreadyExists, from_rpc_error, raise_if_invalid
from linkscore.messages import (
    BrowseBatch,
    Buckets,
    CrawlOptions,
    Link,
    Policy,
    Sites,
    crawl_name,
    failed_page,
    feedback,
    policy_spec,
    site_name,
)
from linkscore.v1 import browse_log_service_pb2 as browse_pb2
from linkscore.v1 import common_pb2
from linkscore.v1 import crawl_service_pb2 as crawl_pb2
from linkscore.v1 import inspection_service_pb2 as inspection_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2
from linkscore.v1 import site_model_service_pb2 as site_pb2


class AsyncClient:
    """Asyncio client of a linkscore server; belongs to the loop it was made in. For threads see `Client`.

    It has the methods of `Client` with the same parameters: calls are awaited, lists and streams are
    asynchronous iterators.

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
        Deadline of a call in seconds, > 0; every method takes its own. Streams have none unless given.
    channel_options
        gRPC channel options that win over ours.

    Raises
    ------
    OSError
        The PEM file cannot be read.

    Notes
    -----
    Every method raises an error of `linkscore.errors`. UNAVAILABLE is retried three times
    first. Crawls go by id (`news`) or resource name (`crawls/news`), sites by host or resource name.

    Examples
    --------
    >>> import asyncio
    >>> from linkscore import AsyncClient, page, rows
    >>> async def crawl() -> list[str]:
    ...     async with AsyncClient("localhost:7411") as client:
    ...         await client.ensure_crawl(crawl="news")
    ...         fetched = page(url="http://example.org/", body=b'<a href="/thread/1">A thread</a>')
    ...         answer = await client.ingest_pages(crawl="news", pages=[fetched])
    ...         return [row.url for row in rows(answer.results[0].links)]
    >>> asyncio.run(crawl())
    ['http://example.org/thread/1']
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
        credentials = _channel.credentials(tls)
        options = _channel.options(channel_options)
        self._channel = (
            grpc.aio.secure_channel(target, credentials, options)
            if credentials
            else grpc.aio.insecure_channel(target, options)
        )
        self._stubs = _channel.Stubs(self._channel)
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

    async def _call(self, method: Callable[..., Any], request: Any, timeout_s: float | None) -> Any:
        try:
            return await method(request, timeout=timeout_s or self._timeout_s, metadata=self._metadata())
        except grpc.RpcError as e:
            raise from_rpc_error(e) from e

    async def _pages(
        self, method: Callable[..., Any], request: Any, field: str, timeout_s: float | None
    ) -> AsyncIterator[Any]:
        while True:
            got = await self._call(method, request, timeout_s)
            for entry in getattr(got, field):
                yield entry
            if not got.next_page_token:
                return
            request.page_token = got.next_page_token

    # Crawls

    async def create_crawl(
        self, *, crawl: str, timeout_s: float | None = None, **config: Unpack[CrawlOptions]
    ) -> crawl_pb2.Crawl:
        """Create a crawl; `config` takes the fields of `Crawl`: policy, scope, examples, seed, ..."""
        request = crawl_pb2.CreateCrawlRequest(crawl=_requests.crawl(crawl=crawl, **config))
        made: crawl_pb2.CreateCrawlResponse = await self._call(
            self._stubs.crawls.CreateCrawl, request, timeout_s
        )
        return made.crawl

    async def ensure_crawl(
        self, *, crawl: str, timeout_s: float | None = None, **config: Unpack[CrawlOptions]
    ) -> crawl_pb2.Crawl:
        """Create a crawl, or take the one there is; it then serves the policy given here, if one is."""
        try:
            return await self.create_crawl(crawl=crawl, timeout_s=timeout_s, **config)
        except AlreadyExists:
            there = await self.get_crawl(crawl=crawl, timeout_s=timeout_s)
            wanted = policy_spec(config.get("policy"))
            if wanted is None or wanted == there.policy:
                return there
            return await self.update_crawl(crawl=crawl, policy=wanted, timeout_s=timeout_s)

    async def get_crawl(self, *, crawl: str, timeout_s: float | None = None) -> crawl_pb2.Crawl:
        """Read a crawl."""
        request = crawl_pb2.GetCrawlRequest(name=crawl_name(crawl))
        got: crawl_pb2.GetCrawlResponse = await self._call(self._stubs.crawls.GetCrawl, request, timeout_s)
        return got.crawl

    def list_crawls(
        self, *, page_size: int = 0, timeout_s: float | None = None
    ) -> AsyncIterator[crawl_pb2.Crawl]:
        """List all crawls by name, page by page as they are consumed."""
        request = crawl_pb2.ListCrawlsRequest(page_size=page_size)
        return self._pages(self._stubs.crawls.ListCrawls, request, "crawls", timeout_s)

    async def update_crawl(
        self,
        *,
        crawl: str,
        policy: Policy | None = None,
        extra_policies: Sequence[Policy] | None = None,
        observe_only: bool | None = None,
        examples: Sequence[crawl_pb2.ExamplePage] | None = None,
        timeout_s: float | None = None,
    ) -> crawl_pb2.Crawl:
        """Change what is given, and add examples; a new policy serves from the next call on."""
        request = _requests.update_crawl(
            crawl=crawl,
            policy=policy,
            extra_policies=extra_policies,
            observe_only=observe_only,
            examples=examples,
        )
        got: crawl_pb2.UpdateCrawlResponse = await self._call(
            self._stubs.crawls.UpdateCrawl, request, timeout_s
        )
        return got.crawl

    async def delete_crawl(self, *, crawl: str, timeout_s: float | None = None) -> None:
        """Delete a crawl, its models and its log."""
        request = crawl_pb2.DeleteCrawlRequest(name=crawl_name(crawl))
        await self._call(self._stubs.crawls.DeleteCrawl, request, timeout_s)

    # Pages and links

    async def ingest_pages(
        self,
        *,
        crawl: str,
        pages: Iterable[common_pb2.Page],
        policy: Policy | None = None,
        encoding: int = common_pb2.PRIORITY_ENCODING_UNSPECIFIED,
        timeout_s: float | None = None,
    ) -> scoring_pb2.IngestPagesResponse:
        """Send fetched pages, failed fetches too; the answer scores every link of them."""
        request = _requests.ingest_pages(crawl=crawl, pages=pages, policy=policy, encoding=encoding)
        got: scoring_pb2.IngestPagesResponse = await self._call(
            self._stubs.links.IngestPages, request, timeout_s
        )
        return got

    async def stream_pages(
        self,
        *,
        crawl: str,
        pages: AsyncIterable[common_pb2.Page],
        policy: Policy | None = None,
        encoding: int = common_pb2.PRIORITY_ENCODING_UNSPECIFIED,
        timeout_s: float | None = None,
    ) -> AsyncIterator[scoring_pb2.StreamPagesResponse]:
        """Send pages as they come and give their answers in order; leaving the loop ends the stream."""
        count = itertools.count(1)
        messages = (
            _requests.stream_page(
                request_id=next(count), crawl=crawl, page=page, policy=policy, encoding=encoding
            )
            async for page in pages
        )
        call = self._stubs.links.StreamPages(messages, timeout=timeout_s, metadata=self._metadata())
        try:
            async for answer in call:
                yield answer
        except grpc.RpcError as e:
            raise from_rpc_error(e) from e
        finally:
            call.cancel()

    async def classify_pages(
        self, *, crawl: str, pages: Iterable[common_pb2.Page], timeout_s: float | None = None
    ) -> scoring_pb2.ClassifyPagesResponse:
        """Say which template cluster pages belong to; learns nothing."""
        request = _requests.classify_pages(crawl=crawl, pages=pages)
        got: scoring_pb2.ClassifyPagesResponse = await self._call(
            self._stubs.links.ClassifyPages, request, timeout_s
        )
        return got

    async def score_links(
        self,
        *,
        crawl: str,
        links: Iterable[Link],
        policy: Policy | None = None,
        encoding: int = common_pb2.PRIORITY_ENCODING_UNSPECIFIED,
        require_learned: bool = False,
        timeout_s: float | None = None,
    ) -> scoring_pb2.ScoreLinksResponse:
        """Score links again: URLs, or (URL, ticket) pairs."""
        request = _requests.score_links(
            crawl=crawl, links=links, policy=policy, encoding=encoding, require_learned=require_learned
        )
        got: scoring_pb2.ScoreLinksResponse = await self._call(
            self._stubs.links.ScoreLinks, request, timeout_s
        )
        return got

    async def rank_buckets(
        self,
        *,
        crawl: str,
        buckets: Buckets,
        policy: Policy | None = None,
        max_results: int = 0,
        n: int = 0,
        in_flight: Mapping[str, int] | None = None,
        fill: bool = False,
        timeout_s: float | None = None,
    ) -> scoring_pb2.RankBucketsResponse:
        """Order the buckets that are not empty, best first, and hand out `n` of their links."""
        request = _requests.rank_buckets(
            crawl=crawl,
            buckets=buckets,
            policy=policy,
            max_results=max_results,
            n=n,
            in_flight=in_flight,
            fill=fill,
        )
        got: scoring_pb2.RankBucketsResponse = await self._call(
            self._stubs.links.RankBuckets, request, timeout_s
        )
        return got

    async def rank_sites(
        self,
        *,
        crawl: str,
        sites: Sites,
        n: int = 1,
        policy: Policy | None = None,
        max_results: int = 0,
        timeout_s: float | None = None,
    ) -> scoring_pb2.RankSitesResponse:
        """Say which sites to fetch n URLs from: hosts, or how many URLs of each host wait (None: enough)."""
        request = _requests.rank_sites(crawl=crawl, sites=sites, policy=policy, n=n, max_results=max_results)
        got: scoring_pb2.RankSitesResponse = await self._call(self._stubs.links.RankSites, request, timeout_s)
        return got

    async def report_feedback(
        self, *, crawl: str, feedback: Iterable[scoring_pb2.Feedback], timeout_s: float | None = None
    ) -> scoring_pb2.ReportFeedbackResponse:
        """Report what extraction found on fetched pages."""
        request = _requests.report_feedback(crawl=crawl, feedback=feedback)
        got: scoring_pb2.ReportFeedbackResponse = await self._call(
            self._stubs.links.ReportFeedback, request, timeout_s
        )
        return got

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
        """
        event = feedback(url=url, reward=reward, ticket=ticket, event_id=event_id)
        answer = await self.report_feedback(crawl=crawl, feedback=[event], timeout_s=timeout_s)
        raise_if_invalid(answer.statuses[0])

    async def explain_links(
        self,
        *,
        crawl: str,
        links: Iterable[Link],
        policy: Policy | None = None,
        timeout_s: float | None = None,
    ) -> scoring_pb2.ExplainLinksResponse:
        """Say why links have their scores."""
        request = _requests.explain_links(crawl=crawl, links=links, policy=policy)
        got: scoring_pb2.ExplainLinksResponse = await self._call(
            self._stubs.links.ExplainLinks, request, timeout_s
        )
        return got

    async def suggest_examples(
        self,
        *,
        crawl: str,
        site: str = "",
        policy: Policy | None = None,
        max_results: int = 0,
        timeout_s: float | None = None,
    ) -> scoring_pb2.SuggestExamplesResponse:
        """Say which 5 (or so many) fetched pages of a site, empty for all, a user should be asked about."""
        request = _requests.suggest_examples(crawl=crawl, site=site, policy=policy, max_results=max_results)
        got: scoring_pb2.SuggestExamplesResponse = await self._call(
            self._stubs.links.SuggestExamples, request, timeout_s
        )
        return got

    # Site models

    def list_sites(
        self, *, crawl: str, page_size: int = 0, timeout_s: float | None = None
    ) -> AsyncIterator[site_pb2.Site]:
        """List all sites of a crawl by name, page by page as they are consumed."""
        request = _requests.list_sites(crawl=crawl, page_size=page_size)
        return self._pages(self._stubs.sites.ListSites, request, "sites", timeout_s)

    async def get_site(self, *, crawl: str, site: str, timeout_s: float | None = None) -> site_pb2.Site:
        """Read one site."""
        request = site_pb2.GetSiteRequest(name=site_name(crawl, site))
        got: site_pb2.GetSiteResponse = await self._call(self._stubs.sites.GetSite, request, timeout_s)
        return got.site

    async def get_site_advice(
        self, *, crawl: str, site: str, horizon: int = 0, timeout_s: float | None = None
    ) -> site_pb2.SiteAdvice:
        """Say what the next `horizon` fetches of a site should bring, and what looks like a trap."""
        request = site_pb2.GetSiteRequest(name=site_name(crawl, site), horizon=horizon)
        got: site_pb2.GetSiteResponse = await self._call(self._stubs.sites.GetSite, request, timeout_s)
        return got.advice

    async def get_sitemap(
        self, *, crawl: str, site: str, timeout_s: float | None = None
    ) -> site_pb2.GetSitemapResponse:
        """Read the template clusters of a site and the links between them."""
        request = site_pb2.GetSitemapRequest(name=site_name(crawl, site))
        got: site_pb2.GetSitemapResponse = await self._call(self._stubs.sites.GetSitemap, request, timeout_s)
        return got

    def list_navigation_entries(
        self, *, crawl: str, site: str, page_size: int = 0, timeout_s: float | None = None
    ) -> AsyncIterator[site_pb2.NavigationEntry]:
        """List where links of each cluster and tag path lead, page by page as they are consumed."""
        request = _requests.list_navigation_entries(crawl=crawl, site=site, page_size=page_size)
        return self._pages(self._stubs.sites.ListNavigationEntries, request, "entries", timeout_s)

    async def learn_site(self, *, crawl: str, site: str, timeout_s: float | None = None) -> site_pb2.Site:
        """Learn a site now; answers when the model is active. Large sites need a longer `timeout_s`."""
        request = site_pb2.LearnSiteRequest(name=site_name(crawl, site))
        got: site_pb2.LearnSiteResponse = await self._call(self._stubs.sites.LearnSite, request, timeout_s)
        return got.site

    async def get_sample_plan(
        self, *, crawl: str, site: str, max_results: int = 0, timeout_s: float | None = None
    ) -> list[common_pb2.FetchSuggestion]:
        """Give the pages that would teach most about a site, most useful first."""
        request = _requests.sample_plan(crawl=crawl, site=site, max_results=max_results)
        got: site_pb2.GetSamplePlanResponse = await self._call(
            self._stubs.sites.GetSamplePlan, request, timeout_s
        )
        return list(got.suggestions)

    async def suggest_seeds(
        self,
        *,
        crawl: str,
        site: str,
        policy: Policy | None = None,
        max_results: int = 0,
        timeout_s: float | None = None,
    ) -> site_pb2.SuggestSeedsResponse:
        """Give the pages to start a crawl from, best first; `site` may also be any URL of the site."""
        request = _requests.suggest_seeds(crawl=crawl, site=site, policy=policy, max_results=max_results)
        got: site_pb2.SuggestSeedsResponse = await self._call(
            self._stubs.sites.SuggestSeeds, request, timeout_s
        )
        return got

    async def export_rules(
        self,
        *,
        crawl: str,
        site: str,
        formats: Iterable[int | str] = (),
        policy: Policy | None = None,
        min_confidence: float = 0.0,
        timeout_s: float | None = None,
    ) -> site_pb2.ExportRulesResponse:
        """Give what was learned about URLs as files for crawlers, by name (`nutch`), empty for all."""
        request = _requests.export_rules(
            crawl=crawl, site=site, formats=formats, policy=policy, min_confidence=min_confidence
        )
        got: site_pb2.ExportRulesResponse = await self._call(
            self._stubs.sites.ExportRules, request, timeout_s
        )
        return got

    # What people look at

    async def get_activity(
        self, *, crawl: str, timeout_s: float | None = None
    ) -> inspection_pb2.GetActivityResponse:
        """Say what became of a crawl so far, over all of its sites."""
        request = inspection_pb2.GetActivityRequest(crawl=crawl_name(crawl))
        got: inspection_pb2.GetActivityResponse = await self._call(
            self._stubs.inspection.GetActivity, request, timeout_s
        )
        return got

    async def list_templates(
        self,
        *,
        crawl: str,
        site: str,
        page_size: int = 0,
        page_token: str = "",
        max_exits: int = 0,
        timeout_s: float | None = None,
    ) -> inspection_pb2.ListTemplatesResponse:
        """Give one page of the templates of a site, most crawled first, and how far the site is learned."""
        request = inspection_pb2.ListTemplatesRequest(
            name=site_name(crawl, site), page_size=page_size, page_token=page_token, max_exits=max_exits
        )
        got: inspection_pb2.ListTemplatesResponse = await self._call(
            self._stubs.inspection.ListTemplates, request, timeout_s
        )
        return got

    async def list_template_pages(
        self,
        *,
        crawl: str,
        site: str,
        template: str,
        page_size: int = 0,
        page_token: str = "",
        timeout_s: float | None = None,
    ) -> inspection_pb2.ListTemplatePagesResponse:
        """Give some pages of a template, latest first, with the links by which they were found."""
        request = inspection_pb2.ListTemplatePagesRequest(
            name=site_name(crawl, site), template=template, page_size=page_size, page_token=page_token
        )
        got: inspection_pb2.ListTemplatePagesResponse = await self._call(
            self._stubs.inspection.ListTemplatePages, request, timeout_s
        )
        return got

    async def list_buckets(
        self,
        *,
        crawl: str,
        site: str,
        policy: Policy | None = None,
        page_size: int = 0,
        page_token: str = "",
        timeout_s: float | None = None,
    ) -> inspection_pb2.ListBucketsResponse:
        """Give one page of the groups of links that wait on a site, best first."""
        request = inspection_pb2.ListBucketsRequest(
            name=site_name(crawl, site),
            policy=policy_spec(policy),
            page_size=page_size,
            page_token=page_token,
        )
        got: inspection_pb2.ListBucketsResponse = await self._call(
            self._stubs.inspection.ListBuckets, request, timeout_s
        )
        return got

    async def get_harvest(
        self, *, crawl: str, site: str, max_templates: int = 0, timeout_s: float | None = None
    ) -> inspection_pb2.GetHarvestResponse:
        """Say what the fetches of a site brought over time, and how each policy would have ordered them."""
        request = inspection_pb2.GetHarvestRequest(name=site_name(crawl, site), max_templates=max_templates)
        got: inspection_pb2.GetHarvestResponse = await self._call(
            self._stubs.inspection.GetHarvest, request, timeout_s
        )
        return got

    # Browse logs

    async def import_browse_records(
        self,
        *,
        crawl: str,
        batches: AsyncIterable[BrowseBatch] | Iterable[BrowseBatch],
        timeout_s: float | None = None,
    ) -> browse_pb2.ImportBrowseRecordsResponse:
        """Send browse log records, (batch id, records) by (batch id, records); no deadline unless given.

        A batch is taken in as a whole and once, so after an error send the same batches under the same ids.
        """
        messages = _requests.async_browse_batches(crawl, batches)
        try:
            got: browse_pb2.ImportBrowseRecordsResponse = await self._stubs.browse.ImportBrowseRecords(
                messages, timeout=timeout_s, metadata=self._metadata()
            )
        except grpc.RpcError as e:
            raise from_rpc_error(e) from e
        return got

    async def mine_site(
        self,
        *,
        crawl: str,
        site: str,
        window_days: int = 0,
        news_labels: Mapping[str, bool] | None = None,
        news_threshold: float = 0.0,
        timeout_s: float | None = None,
    ) -> browse_pb2.MineSiteResponse:
        """Mine the browse log of a site now. Large logs need a longer `timeout_s`.

        `news_labels` says of URLs whether they are news: the threshold is fitted on them.
        """
        request = _requests.mine_site(
            crawl=crawl,
            site=site,
            window_days=window_days,
            news_labels=news_labels or {},
            news_threshold=news_threshold,
        )
        got: browse_pb2.MineSiteResponse = await self._call(self._stubs.browse.MineSite, request, timeout_s)
        return got

    async def get_browse_stats(
        self, *, crawl: str, batch_ids: Iterable[str] = (), timeout_s: float | None = None
    ) -> browse_pb2.GetBrowseStatsResponse:
        """Say what a crawl holds of browse logs, and which of some batches it took in."""
        request = _requests.browse_stats(crawl=crawl, batch_ids=batch_ids)
        got: browse_pb2.GetBrowseStatsResponse = await self._call(
            self._stubs.browse.GetBrowseStats, request, timeout_s
        )
        return got
