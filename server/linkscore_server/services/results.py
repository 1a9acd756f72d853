"""What the engine found as messages of LinkScoringService, and what its queries ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from linkscore.v1 import common_pb2, site_model_service_pb2
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_scoring.engine.queries import FetchPlan
from linkscore_scoring.engine.results import (
    LinkExplained,
    PageOutcome,
    ScoredLinks,
    Standing,
    Stop,
)
from linkscore_scoring.errors import FieldProblem, InvalidInput
from linkscore_scoring.features.types import Links
from linkscore_scoring.policies.answers import SitesRanked
from linkscore_scoring.policies.base import Explanation
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import ExampleWanted, Revisit, cluster_name
from linkscore_server.services.messages import (
    check_most,
    invalid,
    same_fields,
    site_name,
    site_of,
    status,
)

_T = TypeVar("_T")

# Bounds of requests, as the contract says.
MAX_URLS = 10_000  # that one RankSites or RankBuckets call hands out
_MAX_IN_FLIGHT_BUCKETS, _MAX_IN_FLIGHT = 10_000, 1_000_000  # with fetches under way, and of one of them
MAX_EXAMPLES, _DEFAULT_EXAMPLES = 100, 5

_OPTIONAL = {
    "verdicts": "verdicts",
    "skip_reasons": "skip_reasons",
    "duplicate_probabilities": "duplicates",
    "in_scope": "in_scope",
    "url_types": "url_types",
}
"""Columns of `LinkScores` that are there if policy or crawl have something to say, and their names here."""


def skip_reason_name(reason: int) -> str:
    """Return the name of a reason to skip a link, in lower case: the label of metrics."""
    return common_pb2.SkipReason.Name(cast("Any", reason)).removeprefix("SKIP_REASON_").lower()


def reward_source(site: SiteModel) -> site_model_service_pb2.RewardSource:
    if site.history.by_reward:
        return site_model_service_pb2.REWARD_SOURCE_FEEDBACK
    return site_model_service_pb2.REWARD_SOURCE_NOVELTY


def add_link_scores(message: common_pb2.LinkScores, scored: ScoredLinks, links: Links | None = None) -> None:
    """Write scores as columns into an empty message, in its place in the answer.

    One that is made apart and then set is copied, by way of its bytes.
    """
    message.scores.extend(scored.scores.tolist())
    message.buckets.extend(scored.buckets)
    message.bucket_names.extend(scored.bucket_names)
    message.bucket_values.extend(scored.bucket_values)
    message.tickets.extend(scored.tickets)
    message.ticket_values.extend(scored.ticket_values)
    for column, name in _OPTIONAL.items():
        if values := getattr(scored, name):
            getattr(message, column).extend(values)
    if scored.priorities is not None:
        message.encoded_priorities.extend(scored.priorities.tolist())
    if links is not None:
        message.urls.extend(links.urls)
        if "" in links.urls:
            for row in (row for row, url in enumerate(links.urls) if not url):
                message.statuses[row].CopyFrom(_unusable_link(row))


def add_page_result(
    result: pb.PageResult, crawl: str, outcome: PageOutcome, links: Links | None, notes: list[str]
) -> None:
    """Write the result of one page into an empty message, where it stands in the answer."""
    seen = outcome.observation
    said = common_pb2.ITEM_CODE_PARTIAL if notes else common_pb2.ITEM_CODE_OK
    result.status.code = common_pb2.ITEM_CODE_DUPLICATE if outcome.duplicate else said
    result.status.notes.extend(notes)
    result.site = site_name(crawl, outcome.site)
    result.stage = cast("Any", outcome.stage)
    if seen is not None:
        result.cluster = cluster_name(seen.cluster)
        result.novel_chars = seen.novel_chars
    result.links.SetInParent()
    add_link_scores(result.links, outcome.links, links)
    for planned in outcome.suggestions:
        result.suggestions.append(same_fields(common_pb2.FetchSuggestion, planned))
    result.event_seq = 0 if outcome.duplicate else outcome.seq
    result.model_revision = outcome.revision
    result.learning = outcome.learning
    result.thread_id = outcome.note.thread_id
    result.page_type = cast("Any", outcome.note.page_type)
    if outcome.note.relevance is not None:
        result.relevance = outcome.note.relevance
    if outcome.standing is not None:
        result.standing.CopyFrom(standing_message(outcome.standing))
    if outcome.revisit is not None:
        _add_revisit(result, outcome.revisit)
    result.reserved_uses.extend(outcome.reserved)


def _add_revisit(result: pb.PageResult, revisit: Revisit) -> None:
    result.change_rate = revisit.rate
    if revisit.share is not None:
        result.changed_share = revisit.share
    if revisit.next_s is not None:
        result.next_fetch_time.seconds = int(revisit.next_s)


def explanations(
    links: Sequence[pb.CandidateLink],
    rows: Sequence[int],
    found: Sequence[LinkExplained],
    bad: Mapping[int, common_pb2.ItemStatus],
) -> list[pb.LinkExplanation]:
    """Return why each link has its score; of a link that is refused, what is wrong with it."""
    told = [pb.LinkExplanation(url=link.url) for link in links]
    for row, status_of_link in bad.items():
        told[row].status.CopyFrom(status_of_link)
    for row, why in zip(rows, found, strict=True):
        told[row] = explanation(links[row].url, why)
    return told


def explanation(url: str, found: LinkExplained) -> pb.LinkExplanation:
    """Return why a link has its score."""
    return pb.LinkExplanation(
        status=status(common_pb2.ITEM_CODE_OK),
        url=url,
        score=found.score,
        bucket=found.bucket,
        summary=found.explanation.summary,
        terms=score_terms(found.explanation),
        source_cluster=cluster_name(found.source),
        tag_path=found.tag_path,
        stage=cast("Any", found.stage),
        skip_reason=cast("Any", found.skip_reason),
        duplicate_probability=found.duplicate_probability,
    )


def score_terms(found: Explanation) -> list[pb.ScoreTerm]:
    """Return what a score or a value is made of."""
    return [same_fields(pb.ScoreTerm, term) for term in found.terms]


def fetches_in_flight(request: pb.RankBucketsRequest) -> dict[str, int]:
    """Return the fetches under way by bucket, of a question whose counts are in range."""
    problems = []
    if request.n > MAX_URLS:
        problems.append(FieldProblem("n", f"must be at most {MAX_URLS}, got {request.n}"))
    if request.waiting and len(request.waiting) != len(request.buckets):
        rule = f"must be empty or have one entry for each of {len(request.buckets)} buckets"
        problems.append(FieldProblem("waiting", f"{rule}, got {len(request.waiting)}"))
    if len(request.in_flight) > _MAX_IN_FLIGHT_BUCKETS:
        rule = f"must have at most {_MAX_IN_FLIGHT_BUCKETS} entries, got {len(request.in_flight)}"
        raise InvalidInput([*problems, FieldProblem("in_flight", rule)])
    found: dict[str, int] = {}
    for row, entry in enumerate(request.in_flight):
        count = entry.count if entry.HasField("count") else 1
        if not entry.bucket:
            problems.append(FieldProblem(f"in_flight[{row}].bucket", "is required"))
        elif entry.bucket in found:
            problems.append(FieldProblem(f"in_flight[{row}].bucket", "must be there once"))
        if count > _MAX_IN_FLIGHT:
            rule = f"must be at most {_MAX_IN_FLIGHT}, got {count}"
            problems.append(FieldProblem(f"in_flight[{row}].count", rule))
        found[entry.bucket] = count
    if problems:
        raise InvalidInput(problems)
    return found


def planned_fetches(
    plan: FetchPlan, request: pb.RankBucketsRequest, *, policy: str, event_seq: int
) -> pb.RankBucketsResponse:
    """Return what was asked for of a plan: buckets best first, and the links each is given."""
    order = plan.order(request.max_results)
    return pb.RankBucketsResponse(
        policy=policy,
        event_seq=event_seq,
        order=order.tolist(),
        values=plan.values[order].tolist(),
        urls=plan.takes[order].tolist() if request.n else (),
    )


def site_ranking_query(request: pb.RankSitesRequest, crawl: str) -> tuple[list[str], list[int | None], int]:
    """Return the sites, how many URLs of each wait (None: enough), and how many to hand out."""
    n = request.n if request.HasField("n") else 1
    problems = [] if n <= MAX_URLS else [FieldProblem("n", f"must be at most {MAX_URLS}, got {n}")]
    names: dict[str, int] = {}
    for row, entry in enumerate(request.sites):
        field = f"sites[{row}].site"
        try:
            name = site_of(entry.site, crawl, field)
            if names.setdefault(name, row) != row:
                problems.append(FieldProblem(field, f"must be there once, is sites[{names[name]}] too"))
        except InvalidInput as exc:
            problems += exc.problems
    if problems:
        raise InvalidInput(problems)
    waiting = [entry.waiting if entry.HasField("waiting") else None for entry in request.sites]
    return list(names), waiting, n


def ranked_sites(
    found: SitesRanked, max_results: int, *, policy: str, event_seq: int
) -> pb.RankSitesResponse:
    """Return the columns of the answer, best site first."""
    order = found.order(max_results)
    return pb.RankSitesResponse(
        order=order.tolist(),
        values=found.values[order].tolist(),
        urls=found.urls[order].tolist(),
        draw_probs=[] if found.probs is None else found.probs[order].tolist(),
        policy=policy,
        event_seq=event_seq,
    )


def example_query(request: pb.SuggestExamplesRequest, crawl: str) -> tuple[int, str]:
    """Return how many pages are asked for, and of which site (empty: all)."""
    check_most("max_results", request.max_results, MAX_EXAMPLES)
    site = site_of(request.site, crawl, "site") if request.site else ""
    return request.max_results or _DEFAULT_EXAMPLES, site


def suggested_examples(
    crawl: str,
    found: Sequence[tuple[str, ExampleWanted]],
    title_of: Callable[[str, str], str],
    *,
    policy: str,
    event_seq: int,
) -> pb.SuggestExamplesResponse:
    """Return the answer, in the order given; `title_of` gives the title of a page of a site."""
    examples = [
        pb.SuggestedExample(
            url=wanted.url,
            site=site_name(crawl, site),
            reason=wanted.reason,
            likeness=wanted.label,
            pages_alike=wanted.pages,
            title=title_of(site, wanted.url),
        )
        for site, wanted in found
    ]
    return pb.SuggestExamplesResponse(examples=examples, policy=policy, event_seq=event_seq)


def _unusable_link(row: int) -> common_pb2.ItemStatus:
    rule = "names no http or https URL, also not relative to the page"
    return invalid(InvalidInput(rule, field=f"outlinks[{row}].url", reason="MALFORMED_URL"))


def decision_of(stop: Stop | None) -> common_pb2.Decision:
    return cast("Any", stop.decision) if stop else common_pb2.DECISION_CONTINUE


def decision_name(stop: Stop | None) -> str:
    """Return the name of a decision, for example ``STOP_YIELD``."""
    return common_pb2.Decision.Name(decision_of(stop)).removeprefix("DECISION_")


def standing_message(standing: Standing) -> pb.Standing:
    """Return whether a crawl and a site of it go on."""
    return pb.Standing(
        decision=decision_of(standing.crawl),
        reason=standing.crawl.reason if standing.crawl else "",
        site_decision=decision_of(standing.site),
        site_reason=standing.site.reason if standing.site else "",
        fetches_left=standing.fetches_left,
        spent=standing.spent,
    )
