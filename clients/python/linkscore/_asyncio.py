"""What the asyncio client does besides the hot path: the connection, crawls and site models."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Self

import grpc

from linkscore import _channel, _requests
from linkscore.errors import AlreadyExists, from_rpc_error
from linkscore.messages import Policy, crawl_name, policy_spec, site_name
from linkscore.v1 import common_pb2, crawl_service_pb2
from linkscore.v1 import site_model_service_pb2 as site_pb2


class AsyncBase:
    """Connection, crawls and site models; see `AsyncClient`."""

    def __init__(
        self,
        target: str = _channel.DEFAULT_TARGET,
        *,
        tls: bool | grpc.ChannelCredentials = False,
        token: str | None = None,
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
        self._metadata = _channel.metadata(token)
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
            return await method(request, timeout=timeout_s or self._timeout_s, metadata=self._metadata)
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
        self, *, crawl: str, timeout_s: float | None = None, **config: Any
    ) -> crawl_service_pb2.Crawl:
        """Create a crawl; `config` takes the fields of `Crawl`: policy, scope, examples, seed, ..."""
        request = crawl_service_pb2.CreateCrawlRequest(crawl=_requests.crawl(crawl=crawl, **config))
        made: crawl_service_pb2.CreateCrawlResponse = await self._call(
            self._stubs.crawls.CreateCrawl, request, timeout_s
        )
        return made.crawl

    async def ensure_crawl(
        self, *, crawl: str, timeout_s: float | None = None, **config: Any
    ) -> crawl_service_pb2.Crawl:
        """Create a crawl, or take the one there is; it then serves the policy given here, if one is."""
        try:
            return await self.create_crawl(crawl=crawl, timeout_s=timeout_s, **config)
        except AlreadyExists:
            there = await self.get_crawl(crawl=crawl, timeout_s=timeout_s)
            wanted = policy_spec(config.get("policy"))
            if wanted is None or wanted == there.policy:
                return there
            return await self.update_crawl(crawl=crawl, policy=wanted, timeout_s=timeout_s)

    async def get_crawl(self, *, crawl: str, timeout_s: float | None = None) -> crawl_service_pb2.Crawl:
        """Read a crawl."""
        request = crawl_service_pb2.GetCrawlRequest(name=crawl_name(crawl))
        got: crawl_service_pb2.GetCrawlResponse = await self._call(
            self._stubs.crawls.GetCrawl, request, timeout_s
        )
        return got.crawl

    def list_crawls(
        self, *, page_size: int = 0, timeout_s: float | None = None
    ) -> AsyncIterator[crawl_service_pb2.Crawl]:
        """List all crawls by name, page by page as they are consumed."""
        request = crawl_service_pb2.ListCrawlsRequest(page_size=page_size)
        return self._pages(self._stubs.crawls.ListCrawls, request, "crawls", timeout_s)

    async def update_crawl(
        self,
        *,
        crawl: str,
        policy: Policy | None = None,
        extra_policies: Sequence[Policy] | None = None,
        observe_only: bool | None = None,
        examples: Sequence[crawl_service_pb2.ExamplePage] | None = None,
        timeout_s: float | None = None,
    ) -> crawl_service_pb2.Crawl:
        """Change what is given, and add examples; a new policy serves from the next call on."""
        request = _requests.update_crawl(
            crawl=crawl,
            policy=policy,
            extra_policies=extra_policies,
            observe_only=observe_only,
            examples=examples,
        )
        got: crawl_service_pb2.UpdateCrawlResponse = await self._call(
            self._stubs.crawls.UpdateCrawl, request, timeout_s
        )
        return got.crawl

    async def delete_crawl(self, *, crawl: str, timeout_s: float | None = None) -> None:
        """Delete a crawl, its models and its log."""
        request = crawl_service_pb2.DeleteCrawlRequest(name=crawl_name(crawl))
        await self._call(self._stubs.crawls.DeleteCrawl, request, timeout_s)

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
