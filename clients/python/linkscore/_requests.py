"""Builds the request of every call, once for both clients."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from google.protobuf import field_mask_pb2

from linkscore.messages import Policy, candidate, crawl_name, policy_spec, rule_format, site_name
from linkscore.v1 import common_pb2, crawl_service_pb2, site_model_service_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2

Link = str | tuple[str, bytes] | scoring_pb2.CandidateLink
Sites = Iterable[str] | Mapping[str, int | None]


def crawl(
    *,
    crawl: str,
    policy: Policy | None = None,
    extra_policies: Sequence[Policy] = (),
    scope: int = crawl_service_pb2.CRAWL_SCOPE_UNSPECIFIED,
    learning: crawl_service_pb2.LearningConfig | None = None,
    observe_only: bool = False,
    seed: int = 0,
    examples: Sequence[crawl_service_pb2.ExamplePage] = (),
) -> crawl_service_pb2.Crawl:
    return crawl_service_pb2.Crawl(
        name=crawl_name(crawl),
        policy=policy_spec(policy),
        extra_policies=[spec for p in extra_policies if (spec := policy_spec(p)) is not None],
        scope=scope,  # type: ignore[arg-type]
        learning=learning,
        observe_only=observe_only,
        seed=seed,
        examples=examples,
    )


def update_crawl(
    *,
    crawl: str,
    policy: Policy | None,
    extra_policies: Sequence[Policy] | None,
    observe_only: bool | None,
    examples: Sequence[crawl_service_pb2.ExamplePage] | None,
) -> crawl_service_pb2.UpdateCrawlRequest:
    wanted = {
        "policy": policy,
        "extra_policies": extra_policies,
        "observe_only": observe_only,
        "examples": examples,
    }
    changed = crawl_service_pb2.Crawl(
        name=crawl_name(crawl),
        policy=policy_spec(policy),
        extra_policies=[spec for p in extra_policies or () if (spec := policy_spec(p)) is not None],
        observe_only=bool(observe_only),
        examples=examples or (),
    )
    mask = field_mask_pb2.FieldMask(paths=[name for name, value in wanted.items() if value is not None])
    return crawl_service_pb2.UpdateCrawlRequest(crawl=changed, update_mask=mask)


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
    *, crawl: str, buckets: Iterable[str], policy: Policy | None, max_results: int
) -> scoring_pb2.RankBucketsRequest:
    return scoring_pb2.RankBucketsRequest(
        crawl=crawl_name(crawl), buckets=buckets, policy=policy_spec(policy), max_results=max_results
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


def list_sites(*, crawl: str, page_size: int) -> site_model_service_pb2.ListSitesRequest:
    return site_model_service_pb2.ListSitesRequest(crawl=crawl_name(crawl), page_size=page_size)


def list_navigation_entries(
    *, crawl: str, site: str, page_size: int
) -> site_model_service_pb2.ListNavigationEntriesRequest:
    return site_model_service_pb2.ListNavigationEntriesRequest(
        name=site_name(crawl, site), page_size=page_size
    )


def suggest_seeds(
    *, crawl: str, site: str, policy: Policy | None, max_results: int
) -> site_model_service_pb2.SuggestSeedsRequest:
    return site_model_service_pb2.SuggestSeedsRequest(
        crawl=crawl_name(crawl), site=site, policy=policy_spec(policy), max_results=max_results
    )


def export_rules(
    *, crawl: str, site: str, formats: Iterable[int | str], policy: Policy | None, min_confidence: float
) -> site_model_service_pb2.ExportRulesRequest:
    return site_model_service_pb2.ExportRulesRequest(
        name=site_name(crawl, site),
        formats=[rule_format(wanted) for wanted in formats],  # type: ignore[misc]
        policy=policy_spec(policy),
        min_confidence=min_confidence,
    )


def sample_plan(*, crawl: str, site: str, max_results: int) -> site_model_service_pb2.GetSamplePlanRequest:
    return site_model_service_pb2.GetSamplePlanRequest(name=site_name(crawl, site), max_results=max_results)
