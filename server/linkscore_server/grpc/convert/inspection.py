"""What people look at as messages of InspectionService."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from linkscore.v1 import crawl_service_pb2, link_scoring_service_pb2, site_model_service_pb2
from linkscore.v1 import inspection_service_pb2 as pb
from linkscore_scoring.engine.reports.inspection import (
    Activity,
    BucketRecord,
    HarvestPoint,
    SampledUrl,
    TemplateRecord,
)
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.policies.answers import PolicyQuality
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import UNKNOWN_CLUSTER
from linkscore_server.grpc.convert.names import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE
from linkscore_server.grpc.convert.results import cluster_name

_OUTLIER = "outlier"


def page_start(page_size: int, page_token: str) -> tuple[int, int]:
    """Return the first place and the number of places of a page of a list in order of merit.

    Such an order moves while the crawl goes on, so a token is a place, not a name.

    Raises
    ------
    InvalidInput
        If the size is over 1,000 or the token is none of ours.
    """
    if page_size > MAX_PAGE_SIZE:
        raise InvalidInput(f"must be at most {MAX_PAGE_SIZE}, got {page_size}", field="page_size")
    if page_token and not (page_token.isascii() and page_token.isdigit() and len(page_token) < 10):
        raise InvalidInput("must be a token of the call before", field="page_token")
    return int(page_token or 0), page_size or DEFAULT_PAGE_SIZE


def parse_template(name: str) -> int:
    """Return the id of a template by its name.

    Raises
    ------
    InvalidInput
        If it is missing or of another form.
    """
    if not name:
        raise InvalidInput("is required", field="template", reason="REQUIRED")
    digits = name.removeprefix("c")
    if name == _OUTLIER:
        return -1
    if name[0] != "c" or not (digits.isascii() and digits.isdigit() and len(digits) < 10):
        raise InvalidInput(f"must be `c<number>` or `outlier`, got {name[:100]!r}", field="template")
    return int(digits)


def reward_source(site: SiteModel) -> site_model_service_pb2.RewardSource:
    """Return what a reward is on a site."""
    if site.history.by_reward:
        return site_model_service_pb2.REWARD_SOURCE_FEEDBACK
    return site_model_service_pb2.REWARD_SOURCE_NOVELTY


def activity_message(found: Activity) -> crawl_service_pb2.Activity:
    """Return what became of a crawl."""
    tally = found.tally
    return crawl_service_pb2.Activity(
        site_count=found.sites,
        learned_site_count=found.learned,
        learning_site_count=found.learning,
        page_count=found.pages,
        failed_count=found.failed,
        duplicate_count=found.duplicates,
        fetch_count=round(tally.fetched),
        text_reward=tally.worth(by_reward=False),
        reported_count=round(tally.reported),
        reward=tally.worth(by_reward=True),
    )


def template_message(found: TemplateRecord, site: SiteModel) -> pb.Template:
    """Return a template with its exits."""
    exits = []
    for row, page_links in found.exits:
        destination, share = max(
            row.destinations.items(), key=lambda pair: pair[1], default=(UNKNOWN_CLUSTER, 0)
        )
        exits.append(
            pb.TemplateExit(
                tag_path=site.link_paths.get(row.link_path).raw,
                link_count=row.links,
                followed_count=round(row.followed),
                destination=cluster_name(destination),
                destination_prob=share,
                page_links=page_links,
            )
        )
    return pb.Template(
        name=cluster_name(found.id),
        sample_pages=found.size,
        crawled_pages=found.crawled,
        example_url=found.example,
        tag_paths=found.top_paths,
        dissimilarity=found.dsim,
        balance=found.balance,
        min_depth=found.min_depth,
        judged_count=found.judged,
        reward=found.reward,
        exits=exits,
        hub=found.hub,
        authority=found.authority,
    )


def page_message(page: SampledUrl) -> pb.TemplatePage:
    """Return a page of a template."""
    return pb.TemplatePage(
        url=page.url,
        depth=page.depth,
        reward=page.reward,
        in_links=[pb.InLink(source=cluster_name(source), tag_path=path) for source, path in page.in_links],
        title=page.title,
    )


def bucket_message(found: BucketRecord) -> pb.BucketStats:
    """Return a group of waiting links."""
    return pb.BucketStats(
        name=found.bucket,
        value=found.value,
        url_pattern=found.url_pattern,
        tag_path=found.tag_path,
        waiting_count=found.waiting,
        fetched_count=found.fetched,
        reported_count=found.reported,
        early_reward=found.early,
        late_reward=found.late,
        summary=found.why.summary,
        terms=[
            link_scoring_service_pb2.ScoreTerm(name=term.name, value=term.value, description=term.description)
            for term in found.why.terms
        ],
    )


def points(found: Sequence[HarvestPoint]) -> list[pb.HarvestPoint]:
    """Return stretches of fetches."""
    return [
        pb.HarvestPoint(
            first_fetch=point.at,
            fetch_count=round(point.tally.fetched),
            text_reward=point.tally.worth(by_reward=False),
            reported_count=round(point.tally.reported),
            reward=point.tally.worth(by_reward=True),
            copy_count=round(point.tally.copies),
        )
        for point in found
    ]


def lookback_message(policy: PolicyQuality, judged: int, means: Sequence[float]) -> pb.PolicyLookback:
    """Return what a policy would have made of the latest fetched links."""
    return pb.PolicyLookback(
        policy=policy.policy,
        role=cast("site_model_service_pb2.PolicyRole", policy.role),
        judged_count=judged,
        mean_rewards=means,
    )
