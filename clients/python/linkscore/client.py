"""The client for programs that block."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import grpc

from linkscore import _requests
from linkscore._blocking_browse import BlockingBrowse
from linkscore._requests import Link, Sites
from linkscore.errors import from_rpc_error
from linkscore.messages import Policy
from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2


class Client(BlockingBrowse):
    """Blocking client of a linkscore server; safe to share between threads. For asyncio see `AsyncClient`.

    Parameters
    ----------
    target
        `host:port` of the server.
    tls
        True for the system's roots, or channel credentials; False for plain text.
    token
        Bearer token sent with every call.
    timeout_s
        Deadline of a call in seconds, > 0; every method takes its own. Streams have none unless given.
    channel_options
        gRPC channel options that win over ours.

    Notes
    -----
    Every method raises an error of `linkscore.errors`. UNAVAILABLE is retried three times
    first. Crawls go by id (`news`) or resource name (`crawls/news`), sites by host or resource name.
    """

    def ingest_pages(
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
        got: scoring_pb2.IngestPagesResponse = self._call(self._stubs.links.IngestPages, request, timeout_s)
        return got

    def stream_pages(
        self,
        *,
        crawl: str,
        pages: Iterable[common_pb2.Page],
        policy: Policy | None = None,
        encoding: int = common_pb2.PRIORITY_ENCODING_UNSPECIFIED,
        timeout_s: float | None = None,
    ) -> Iterator[scoring_pb2.StreamPagesResponse]:
        """Send pages as they come and give their answers in order; leaving the loop ends the stream."""
        count = itertools.count(1)
        messages = (
            _requests.stream_page(
                request_id=next(count), crawl=crawl, page=page, policy=policy, encoding=encoding
            )
            for page in pages
        )
        call = self._stubs.links.StreamPages(messages, timeout=timeout_s, metadata=self._metadata)
        try:
            yield from call
        except grpc.RpcError as e:
            raise from_rpc_error(e) from e
        finally:
            call.cancel()

    def classify_pages(
        self, *, crawl: str, pages: Iterable[common_pb2.Page], timeout_s: float | None = None
    ) -> scoring_pb2.ClassifyPagesResponse:
        """Say which template cluster pages belong to; learns nothing."""
        request = _requests.classify_pages(crawl=crawl, pages=pages)
        got: scoring_pb2.ClassifyPagesResponse = self._call(
            self._stubs.links.ClassifyPages, request, timeout_s
        )
        return got

    def score_links(
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
        got: scoring_pb2.ScoreLinksResponse = self._call(self._stubs.links.ScoreLinks, request, timeout_s)
        return got

    def rank_buckets(
        self,
        *,
        crawl: str,
        buckets: Iterable[str],
        policy: Policy | None = None,
        max_results: int = 0,
        timeout_s: float | None = None,
    ) -> scoring_pb2.RankBucketsResponse:
        """Order the buckets that are not empty, best first."""
        request = _requests.rank_buckets(crawl=crawl, buckets=buckets, policy=policy, max_results=max_results)
        got: scoring_pb2.RankBucketsResponse = self._call(self._stubs.links.RankBuckets, request, timeout_s)
        return got

    def rank_sites(
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
        got: scoring_pb2.RankSitesResponse = self._call(self._stubs.links.RankSites, request, timeout_s)
        return got

    def report_feedback(
        self, *, crawl: str, feedback: Iterable[scoring_pb2.Feedback], timeout_s: float | None = None
    ) -> scoring_pb2.ReportFeedbackResponse:
        """Report what extraction found on fetched pages."""
        request = _requests.report_feedback(crawl=crawl, feedback=feedback)
        got: scoring_pb2.ReportFeedbackResponse = self._call(
            self._stubs.links.ReportFeedback, request, timeout_s
        )
        return got

    def explain_links(
        self,
        *,
        crawl: str,
        links: Iterable[Link],
        policy: Policy | None = None,
        timeout_s: float | None = None,
    ) -> scoring_pb2.ExplainLinksResponse:
        """Say why links have their scores."""
        request = _requests.explain_links(crawl=crawl, links=links, policy=policy)
        got: scoring_pb2.ExplainLinksResponse = self._call(self._stubs.links.ExplainLinks, request, timeout_s)
        return got

    def suggest_examples(
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
        got: scoring_pb2.SuggestExamplesResponse = self._call(
            self._stubs.links.SuggestExamples, request, timeout_s
        )
        return got
