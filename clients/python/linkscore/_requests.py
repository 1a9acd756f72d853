"""Builds the request of every call, once for both clients."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import Unpack

from google.protobuf import field_mask_pb2

from linkscore.messages import (
    BrowseBatch,
    Buckets,
    CrawlOptions,
    Link,
    Policy,
    Sites,
    candidate,
    crawl_name,
    policy_spec,
    rule_format,
    site_name,
)
from linkscore.v1 import browse_log_service_pb2 as browse_pb2
from linkscore.v1 import common_pb2, policy_pb2
from linkscore.v1 import crawl_service_pb2 as crawl_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2
from linkscore.v1 import site_model_service_pb2 as site_pb2


def crawl(*, crawl: str, **config: Unpack[CrawlOptions]) -> crawl_pb2.Crawl:
    return crawl_pb2.Crawl(
        name=crawl_name(crawl),
        policy=policy_spec(config.get("policy")),
        extra_policies=_specs(config.get("extra_policies", ())),
        scope=config.get("scope", crawl_pb2.CRAWL_SCOPE_UNSPECIFIED),  # type: ignore[arg-type]
        learning=config.get("learning"),
        learn=config.get("learn", crawl_pb2.LEARN_UNSPECIFIED),  # type: ignore[arg-type]
        observe_only=config.get("observe_only", False),
        seed=config.get("seed", 0),
        examples=config.get("examples", ()),
    )


def _specs(policies: Iterable[Policy]) -> list[policy_pb2.PolicySpec]:
    return [spec for policy in policies if (spec := policy_spec(policy)) is not None]


def update_crawl(
    *,
    crawl: str,
    policy: Policy | None,
    extra_policies: Sequence[Policy] | None,
    observe_only: bool | None,
    examples: Sequence[crawl_pb2.ExamplePage] | None,
) -> crawl_pb2.UpdateCrawlRequest:
    wanted = {
        "policy": policy,
        "extra_policies": extra_policies,
        "observe_only": observe_only,
        "examples": examples,
    }
    changed = crawl_pb2.Crawl(
        name=crawl_name(crawl),
        policy=policy_spec(policy),
        extra_policies=_specs(extra_policies or ()),
        observe_only=bool(observe_only),
        examples=examples or (),
    )
    mask = field_mask_pb2.FieldMask(paths=[name for name, value in wanted.items() if value is not None])
    return crawl_pb2.UpdateCrawlRequest(crawl=changed, update_mask=mask)


def ingest_pages(
    *, crawl: str, pages: Iterable[common_pb2.Page], policy: Policy | None, encoding: int
) -> scoring_pb2.IngestPagesRequest:
    return scoring_pb2.IngestPagesRequest(
        crawl=crawl_name(crawl),
        pages=pages,
        policy=policy_spec(policy),
        encoding=encoding,  # type: ignore[arg-type]
    )


def stream_page(
    *, request_id: int, crawl: str, page: common_pb2.Page, policy: Policy | None, encoding: int
) -> scoring_pb2.StreamPagesRequest:
    """Build message `request_id` of a stream; only the first one says crawl, policy and encoding."""
    if request_id > 1:
        return scoring_pb2.StreamPagesRequest(request_id=request_id, page=page)
    return scoring_pb2.StreamPagesRequest(
        crawl=crawl_name(crawl),
        request_id=request_id,
        page=page,
        encoding=encoding,  # type: ignore[arg-type]
        policy=policy_spec(policy),
    )


def classify_pages(*, crawl: str, pages: Iterable[common_pb2.Page]) -> scoring_pb2.ClassifyPagesRequest:
    return scoring_pb2.ClassifyPagesRequest(crawl=crawl_name(crawl), pages=pages)


def score_links(
    *, crawl: str, links: Iterable[Link], policy: Policy | None, encoding: int, require_learned: bool
) -> scoring_pb2.ScoreLinksRequest:
    return scoring_pb2.ScoreLinksRequest(
        crawl=crawl_name(crawl),
        links=[candidate(link) for link in links],
        policy=policy_spec(policy),
        encoding=encoding,  # type: ignore[arg-type]
        require_learned=require_learned,
    )


def rank_buckets(
    *,
    crawl: str,
    buckets: Buckets,
    policy: Policy | None,
    max_results: int,
    n: int,
    in_flight: Mapping[str, int] | None,
    fill: bool,
) -> scoring_pb2.RankBucketsRequest:
    under_way = (in_flight or {}).items()
    return scoring_pb2.RankBucketsRequest(
        crawl=crawl_name(crawl),
        buckets=buckets,
        policy=policy_spec(policy),
        max_results=max_results,
        n=n,
        waiting=buckets.values() if isinstance(buckets, Mapping) else (),
        in_flight=[scoring_pb2.BucketInFlight(bucket=bucket, count=count) for bucket, count in under_way],
        fill=fill,
    )


def rank_sites(
    *, crawl: str, sites: Sites, policy: Policy | None, n: int, max_results: int
) -> scoring_pb2.RankSitesRequest:
    pairs: Iterable[tuple[str, int | None]] = (
        sites.items() if isinstance(sites, Mapping) else ((site, None) for site in sites)
    )
    return scoring_pb2.RankSitesRequest(
        crawl=crawl_name(crawl),
        sites=[scoring_pb2.WaitingSite(site=site, waiting=waiting) for site, waiting in pairs],
        policy=policy_spec(policy),
        n=n,
        max_results=max_results,
    )


def report_feedback(
    *, crawl: str, feedback: Iterable[scoring_pb2.Feedback]
) -> scoring_pb2.ReportFeedbackRequest:
    return scoring_pb2.ReportFeedbackRequest(crawl=crawl_name(crawl), feedback=feedback)


def explain_links(
    *, crawl: str, links: Iterable[Link], policy: Policy | None
) -> scoring_pb2.ExplainLinksRequest:
    return scoring_pb2.ExplainLinksRequest(
        crawl=crawl_name(crawl), links=[candidate(link) for link in links], policy=policy_spec(policy)
    )


def suggest_examples(
    *, crawl: str, site: str, policy: Policy | None, max_results: int
) -> scoring_pb2.SuggestExamplesRequest:
    return scoring_pb2.SuggestExamplesRequest(
        crawl=crawl_name(crawl), site=site, policy=policy_spec(policy), max_results=max_results
    )


def list_sites(*, crawl: str, page_size: int) -> site_pb2.ListSitesRequest:
    return site_pb2.ListSitesRequest(crawl=crawl_name(crawl), page_size=page_size)


def list_navigation_entries(
    *, crawl: str, site: str, page_size: int
) -> site_pb2.ListNavigationEntriesRequest:
    return site_pb2.ListNavigationEntriesRequest(name=site_name(crawl, site), page_size=page_size)


def suggest_seeds(
    *, crawl: str, site: str, policy: Policy | None, max_results: int
) -> site_pb2.SuggestSeedsRequest:
    return site_pb2.SuggestSeedsRequest(
        crawl=crawl_name(crawl), site=site, policy=policy_spec(policy), max_results=max_results
    )


def export_rules(
    *, crawl: str, site: str, formats: Iterable[int | str], policy: Policy | None, min_confidence: float
) -> site_pb2.ExportRulesRequest:
    return site_pb2.ExportRulesRequest(
        name=site_name(crawl, site),
        formats=[rule_format(wanted) for wanted in formats],  # type: ignore[misc]
        policy=policy_spec(policy),
        min_confidence=min_confidence,
    )


def sample_plan(*, crawl: str, site: str, max_results: int) -> site_pb2.GetSamplePlanRequest:
    return site_pb2.GetSamplePlanRequest(name=site_name(crawl, site), max_results=max_results)


def browse_batches(
    crawl: str, given: Iterable[BrowseBatch]
) -> Iterator[browse_pb2.ImportBrowseRecordsRequest]:
    return (_browse_batch(crawl, batch) for batch in given)


async def async_browse_batches(
    crawl: str, given: AsyncIterable[BrowseBatch] | Iterable[BrowseBatch]
) -> AsyncIterator[browse_pb2.ImportBrowseRecordsRequest]:
    if isinstance(given, AsyncIterable):
        async for batch in given:
            yield _browse_batch(crawl, batch)
    else:
        for batch in given:
            yield _browse_batch(crawl, batch)


def mine_site(
    *, crawl: str, site: str, window_days: int, news_labels: Mapping[str, bool], news_threshold: float
) -> browse_pb2.MineSiteRequest:
    labels = [browse_pb2.NewsLabel(url=url, is_news=is_news) for url, is_news in news_labels.items()]
    return browse_pb2.MineSiteRequest(
        name=site_name(crawl, site),
        window_days=window_days,
        news_labels=labels,
        news_threshold=news_threshold,
    )


def browse_stats(*, crawl: str, batch_ids: Iterable[str]) -> browse_pb2.GetBrowseStatsRequest:
    return browse_pb2.GetBrowseStatsRequest(crawl=crawl_name(crawl), batch_ids=batch_ids)


def _browse_batch(crawl: str, batch: BrowseBatch) -> browse_pb2.ImportBrowseRecordsRequest:
    if isinstance(batch, browse_pb2.ImportBrowseRecordsRequest):
        batch.crawl = crawl_name(crawl)
        return batch
    batch_id, records = batch
    return browse_pb2.ImportBrowseRecordsRequest(crawl=crawl_name(crawl), batch_id=batch_id, records=records)
