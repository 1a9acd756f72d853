"""Every unary call, once for both clients: its method, its request, and what of the answer is wanted."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar, Unpack

from google.protobuf import field_mask_pb2

from linkscore.errors import AlreadyExists, FieldViolation
from linkscore.messages import (
    BrowseBatch,
    Buckets,
    Budget,
    CrawlOptions,
    Link,
    Policy,
    Revisit,
    Sites,
    Wanted,
    budget_spec,
    candidate,
    copies_spec,
    crawl_name,
    in_utc,
    policy_spec,
    revisit_spec,
    rule_format,
    site_name,
    wanted_spec,
)
from linkscore.v1 import browse_log_service_pb2 as browse_pb2
from linkscore.v1 import common_pb2, policy_pb2
from linkscore.v1 import crawl_service_pb2 as crawl_pb2
from linkscore.v1 import inspection_service_pb2 as inspection_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2
from linkscore.v1 import site_model_service_pb2 as site_pb2

T = TypeVar("T")


def _whole(answer: Any) -> Any:
    return answer


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """A unary call.

    Attributes
    ----------
    method
        Service, as `Stubs` name it, and method.
    request
        Its request.
    result
        Takes from the answer what the caller wants: by default all of it.
    """

    method: str
    request: Any
    result: Callable[[Any], T] = _whole


def _crawl(*, crawl: str, **config: Unpack[CrawlOptions]) -> crawl_pb2.Crawl:
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
        wanted=wanted_spec(config.get("wanted")),
        groups=config.get("groups", 0),
        keep_titles=config.get("keep_titles", False),
        experience=config.get("experience", ()),
        budget=budget_spec(config.get("budget")),
        copies=copies_spec(config.get("copies")),
        respect=config.get("respect", ()),
        revisit=revisit_spec(config.get("revisit")),
    )


def _specs(policies: Iterable[Policy]) -> list[policy_pb2.PolicySpec]:
    return [spec for policy in policies if (spec := policy_spec(policy)) is not None]


def differences(there: crawl_pb2.Crawl, config: CrawlOptions) -> list[FieldViolation]:
    """Name what was asked for a crawl, is fixed when it is created, and differs in the one that is there."""
    wanted = _crawl(crawl="any", **config)
    asked: dict[str, tuple[Any, Any]] = {
        "scope": _names(crawl_pb2.CrawlScope, wanted.scope, there.scope),
        "learn": _names(crawl_pb2.Learn, wanted.learn, there.learn),
        "groups": (wanted.groups, max(1, there.groups)),
        "experience": (len(wanted.experience), there.experience_count),
    }
    found = {name: pair for name, pair in asked.items() if pair[0]}
    for name in ("seed", "keep_titles"):
        if name in config:
            found[name] = (getattr(wanted, name), getattr(there, name))
    for field, value in wanted.learning.ListFields():
        found[f"learning.{field.name}"] = (value, getattr(there.learning, field.name))
    return [
        FieldViolation(f"crawl.{name}", f"is {is_}, asked for {want}", "CRAWL_EXISTS")
        for name, (want, is_) in found.items()
        if want != is_
    ]


def _names(kind: Any, asked: int, there: int) -> tuple[str, str]:
    return (kind.Name(asked) if asked else "", kind.Name(there) if there in kind.values() else str(there))


def change_of(
    there: crawl_pb2.Crawl, crawl: str, config: CrawlOptions, refused: AlreadyExists
) -> Call[crawl_pb2.Crawl] | None:
    """Give the call that gives a crawl what was asked for; None if it has it.

    Raises
    ------
    AlreadyExists
        Something else was asked for, which cannot be changed; `field_violations` names each field.
    """
    if violations := differences(there, config):
        what = "; ".join(f"{each.field} {each.description}" for each in violations)
        raise AlreadyExists(
            f"crawl {crawl!r} exists with another configuration: {what}",
            code=refused.code,
            reason=refused.reason,
            field_violations=violations,
        ) from None
    asked: dict[str, Any] = {
        "policy": policy_spec(config.get("policy")),
        "wanted": wanted_spec(config.get("wanted")),
        "budget": budget_spec(config.get("budget")),
        "copies": copies_spec(config.get("copies")),
        "respect": list(config["respect"]) if "respect" in config else None,
        "revisit": revisit_spec(config.get("revisit")),
    }
    differ = {name for name, spec in asked.items() if spec is not None and spec != getattr(there, name)}
    if not differ:
        return None
    changes = {name: spec if name in differ else None for name, spec in asked.items()}
    return update_crawl(crawl=crawl, extra_policies=None, observe_only=None, examples=None, **changes)


def update_crawl(
    *,
    crawl: str,
    policy: Policy | None,
    extra_policies: Sequence[Policy] | None,
    observe_only: bool | None,
    examples: Sequence[crawl_pb2.ExamplePage] | None,
    wanted: Wanted | None,
    budget: Budget | None,
    copies: Mapping[str, float] | None,
    respect: Sequence[str] | None,
    revisit: Revisit | None,
) -> Call[crawl_pb2.Crawl]:
    given = {
        "policy": policy,
        "extra_policies": extra_policies,
        "observe_only": observe_only,
        "examples": examples,
        "wanted": wanted,
        "budget": budget,
        "copies": copies,
        "respect": respect,
        "revisit": revisit,
    }
    changed = crawl_pb2.Crawl(
        name=crawl_name(crawl),
        policy=policy_spec(policy),
        extra_policies=_specs(extra_policies or ()),
        observe_only=bool(observe_only),
        examples=examples or (),
        wanted=wanted_spec(wanted or None),
        budget=budget_spec(budget or None),
        copies=copies_spec(copies),
        respect=respect or (),
        revisit=revisit_spec(revisit),
    )
    mask = field_mask_pb2.FieldMask(paths=[name for name, value in given.items() if value is not None])
    return Call(
        "crawls.UpdateCrawl",
        crawl_pb2.UpdateCrawlRequest(crawl=changed, update_mask=mask),
        lambda got: got.crawl,
    )


def ingest_pages(
    *, crawl: str, pages: Iterable[common_pb2.Page], policy: Policy | None, encoding: int
) -> Call[scoring_pb2.IngestPagesResponse]:
    return Call(
        "links.IngestPages",
        scoring_pb2.IngestPagesRequest(
            crawl=crawl_name(crawl),
            pages=pages,
            policy=policy_spec(policy),
            encoding=encoding,  # type: ignore[arg-type]
        ),
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


def classify_pages(
    *, crawl: str, pages: Iterable[common_pb2.Page]
) -> Call[scoring_pb2.ClassifyPagesResponse]:
    return Call("links.ClassifyPages", scoring_pb2.ClassifyPagesRequest(crawl=crawl_name(crawl), pages=pages))


def score_links(
    *, crawl: str, links: Iterable[Link], policy: Policy | None, encoding: int, require_learned: bool
) -> Call[scoring_pb2.ScoreLinksResponse]:
    return Call(
        "links.ScoreLinks",
        scoring_pb2.ScoreLinksRequest(
            crawl=crawl_name(crawl),
            links=[candidate(link) for link in links],
            policy=policy_spec(policy),
            encoding=encoding,  # type: ignore[arg-type]
            require_learned=require_learned,
        ),
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
) -> Call[scoring_pb2.RankBucketsResponse]:
    under_way = (in_flight or {}).items()
    return Call(
        "links.RankBuckets",
        scoring_pb2.RankBucketsRequest(
            crawl=crawl_name(crawl),
            buckets=buckets,
            policy=policy_spec(policy),
            max_results=max_results,
            n=n,
            waiting=buckets.values() if isinstance(buckets, Mapping) else (),
            in_flight=[scoring_pb2.BucketInFlight(bucket=bucket, count=count) for bucket, count in under_way],
            fill=fill,
        ),
    )


def rank_sites(
    *, crawl: str, sites: Sites, policy: Policy | None, n: int, max_results: int
) -> Call[scoring_pb2.RankSitesResponse]:
    pairs: Iterable[tuple[str, int | None]] = (
        sites.items() if isinstance(sites, Mapping) else ((site, None) for site in sites)
    )
    return Call(
        "links.RankSites",
        scoring_pb2.RankSitesRequest(
            crawl=crawl_name(crawl),
            sites=[scoring_pb2.WaitingSite(site=site, waiting=waiting) for site, waiting in pairs],
            policy=policy_spec(policy),
            n=n,
            max_results=max_results,
        ),
    )


def report_feedback(
    *, crawl: str, feedback: Iterable[scoring_pb2.Feedback]
) -> Call[scoring_pb2.ReportFeedbackResponse]:
    return Call(
        "links.ReportFeedback", scoring_pb2.ReportFeedbackRequest(crawl=crawl_name(crawl), feedback=feedback)
    )


def explain_links(
    *, crawl: str, links: Iterable[Link], policy: Policy | None
) -> Call[scoring_pb2.ScoreLinksResponse]:
    return Call(
        "links.ScoreLinks",
        scoring_pb2.ScoreLinksRequest(
            crawl=crawl_name(crawl),
            links=[candidate(link) for link in links],
            policy=policy_spec(policy),
            explain=True,
        ),
    )


def suggest_examples(
    *, crawl: str, site: str, policy: Policy | None, max_results: int
) -> Call[scoring_pb2.SuggestExamplesResponse]:
    return Call(
        "links.SuggestExamples",
        scoring_pb2.SuggestExamplesRequest(
            crawl=crawl_name(crawl), site=site, policy=policy_spec(policy), max_results=max_results
        ),
    )


def rank_revisits(
    *, crawl: str, site: str, page_size: int, page_token: str, now: datetime | None
) -> Call[scoring_pb2.RankRevisitsResponse]:
    request = scoring_pb2.RankRevisitsRequest(
        crawl=crawl_name(crawl), site=site, page_size=page_size, page_token=page_token
    )
    if now is not None:
        request.now.FromDatetime(in_utc(now))
    return Call("links.RankRevisits", request)


def notify_changed(
    *, crawl: str, urls: Iterable[str], change_time: datetime | None
) -> Call[scoring_pb2.NotifyChangedResponse]:
    request = scoring_pb2.NotifyChangedRequest(crawl=crawl_name(crawl), urls=urls)
    if change_time is not None:
        request.change_time.FromDatetime(in_utc(change_time))
    return Call("links.NotifyChanged", request)


def list_sites(*, crawl: str, page_size: int) -> Call[Iterable[site_pb2.Site]]:
    return Call(
        "sites.ListSites",
        site_pb2.ListSitesRequest(crawl=crawl_name(crawl), page_size=page_size),
        lambda got: got.sites,
    )


def suggest_seeds(
    *, crawl: str, site: str, policy: Policy | None, max_results: int
) -> Call[site_pb2.SuggestSeedsResponse]:
    return Call(
        "sites.SuggestSeeds",
        site_pb2.SuggestSeedsRequest(
            crawl=crawl_name(crawl), site=site, policy=policy_spec(policy), max_results=max_results
        ),
    )


def export_rules(
    *, crawl: str, site: str, formats: Iterable[int | str], policy: Policy | None, min_confidence: float
) -> Call[site_pb2.ExportRulesResponse]:
    return Call(
        "sites.ExportRules",
        site_pb2.ExportRulesRequest(
            name=site_name(crawl, site),
            formats=[rule_format(wanted) for wanted in formats],  # type: ignore[misc]
            policy=policy_spec(policy),
            min_confidence=min_confidence,
        ),
    )


def export_experience(
    *, crawl: str, site: str, policy: Policy | None
) -> Call[site_pb2.ExportExperienceResponse]:
    return Call(
        "sites.ExportExperience",
        site_pb2.ExportExperienceRequest(name=site_name(crawl, site), policy=policy_spec(policy)),
    )


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
) -> Call[browse_pb2.MineSiteResponse]:
    labels = [browse_pb2.NewsLabel(url=url, is_news=is_news) for url, is_news in news_labels.items()]
    return Call(
        "browse.MineSite",
        browse_pb2.MineSiteRequest(
            name=site_name(crawl, site),
            window_days=window_days,
            news_labels=labels,
            news_threshold=news_threshold,
        ),
    )


def get_browse_stats(*, crawl: str, batch_ids: Iterable[str]) -> Call[browse_pb2.GetBrowseStatsResponse]:
    return Call(
        "browse.GetBrowseStats",
        browse_pb2.GetBrowseStatsRequest(crawl=crawl_name(crawl), batch_ids=batch_ids),
    )


def _browse_batch(crawl: str, batch: BrowseBatch) -> browse_pb2.ImportBrowseRecordsRequest:
    if isinstance(batch, browse_pb2.ImportBrowseRecordsRequest):
        batch.crawl = crawl_name(crawl)
        return batch
    batch_id, records = batch
    return browse_pb2.ImportBrowseRecordsRequest(crawl=crawl_name(crawl), batch_id=batch_id, records=records)


def create_crawl(*, crawl: str, **config: Unpack[CrawlOptions]) -> Call[crawl_pb2.Crawl]:
    request = crawl_pb2.CreateCrawlRequest(crawl=_crawl(crawl=crawl, **config))
    return Call("crawls.CreateCrawl", request, lambda got: got.crawl)


def get_crawl(*, crawl: str) -> Call[crawl_pb2.Crawl]:
    return Call("crawls.GetCrawl", crawl_pb2.GetCrawlRequest(name=crawl_name(crawl)), lambda got: got.crawl)


def get_server_version(*, crawl: str) -> Call[str]:
    request = crawl_pb2.GetCrawlRequest(name=crawl_name(crawl))
    return Call("crawls.GetCrawl", request, lambda got: got.server_version)


def list_crawls(*, page_size: int) -> Call[Iterable[crawl_pb2.Crawl]]:
    return Call("crawls.ListCrawls", crawl_pb2.ListCrawlsRequest(page_size=page_size), lambda got: got.crawls)


def list_shards(*, crawl: str, page_size: int) -> Call[Iterable[crawl_pb2.Shard]]:
    return Call(
        "crawls.ListShards",
        crawl_pb2.ListShardsRequest(crawl=crawl_name(crawl) if crawl else "", page_size=page_size),
        lambda got: got.shards,
    )


def delete_crawl(*, crawl: str) -> Call[None]:
    return Call("crawls.DeleteCrawl", crawl_pb2.DeleteCrawlRequest(name=crawl_name(crawl)), lambda got: None)


def get_site(*, crawl: str, site: str) -> Call[site_pb2.Site]:
    return Call("sites.GetSite", site_pb2.GetSiteRequest(name=site_name(crawl, site)), lambda got: got.site)


def suggest_fetches(*, crawl: str, site: str, max_results: int) -> Call[list[common_pb2.FetchSuggestion]]:
    request = site_pb2.GetSiteRequest(name=site_name(crawl, site), max_suggestions=max_results)
    return Call("sites.GetSite", request, lambda got: list(got.suggestions))


def get_site_advice(*, crawl: str, site: str, horizon: int) -> Call[site_pb2.SiteAdvice]:
    return Call(
        "sites.GetSite",
        site_pb2.GetSiteRequest(name=site_name(crawl, site), horizon=horizon),
        lambda got: got.advice,
    )


def learn_site(*, crawl: str, site: str) -> Call[site_pb2.Site]:
    return Call(
        "sites.LearnSite", site_pb2.LearnSiteRequest(name=site_name(crawl, site)), lambda got: got.site
    )


def get_activity(*, crawl: str) -> Call[crawl_pb2.Activity]:
    request = crawl_pb2.GetCrawlRequest(name=crawl_name(crawl), with_activity=True)
    return Call("crawls.GetCrawl", request, lambda got: got.activity)


def list_templates(
    *, crawl: str, site: str, page_size: int, page_token: str, max_exits: int
) -> Call[inspection_pb2.ListTemplatesResponse]:
    return Call(
        "inspection.ListTemplates",
        inspection_pb2.ListTemplatesRequest(
            name=site_name(crawl, site), page_size=page_size, page_token=page_token, max_exits=max_exits
        ),
    )


def list_template_pages(
    *, crawl: str, site: str, template: str, page_size: int, page_token: str
) -> Call[inspection_pb2.ListTemplatePagesResponse]:
    return Call(
        "inspection.ListTemplatePages",
        inspection_pb2.ListTemplatePagesRequest(
            name=site_name(crawl, site), template=template, page_size=page_size, page_token=page_token
        ),
    )


def list_buckets(
    *, crawl: str, site: str, policy: Policy | None, page_size: int, page_token: str
) -> Call[inspection_pb2.ListBucketsResponse]:
    return Call(
        "inspection.ListBuckets",
        inspection_pb2.ListBucketsRequest(
            name=site_name(crawl, site),
            policy=policy_spec(policy),
            page_size=page_size,
            page_token=page_token,
        ),
    )


def get_harvest(*, crawl: str, site: str, max_templates: int) -> Call[inspection_pb2.GetHarvestResponse]:
    return Call(
        "inspection.GetHarvest",
        inspection_pb2.GetHarvestRequest(name=site_name(crawl, site), max_templates=max_templates),
    )
