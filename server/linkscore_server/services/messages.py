"""What services read and write: names, bounds, statuses, policies, finite numbers; what the engine found."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeVar, cast
from urllib.parse import quote, unquote

from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from linkscore.v1 import common_pb2, policy_pb2, site_model_service_pb2
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_scoring.engine.config import PolicyChoice
from linkscore_scoring.engine.results import LinkExplained, PageOutcome, ScoredLinks, Stop
from linkscore_scoring.errors import FieldProblem, InvalidInput, LinkscoreError
from linkscore_scoring.features.types import Links
from linkscore_scoring.policies.answers import Plan
from linkscore_scoring.policies.base import Params
from linkscore_scoring.policies.registry import policy_class
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import Revisit, cluster_name
from linkscore_scoring.urls.identity import host_of

M = TypeVar("M", bound=Message)

MAX_SITE_BYTES = 1_024
"""Longest name of a site: a bound; a host name has at most 253 characters (RFC 1035)."""
MAX_ITEMS = {
    "pages": 500,
    "links": 20_000,
    "buckets": 100_000,
    "sites": 100_000,
    "feedback": 5_000,
    "records": 100_000,
}
"""Items of one call, by their field, as the contract says: bounds of memory, and of how long others wait."""
DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE = 100, 1_000
"""Names on one page of a list, as the contract says."""
_POLICY = "crawl.policy"  # where a request has one


def same_fields(kind: type[M], found: object, **others: Any) -> M:
    """Return a message whose fields have the values of the attributes of their names, but for `others`."""
    names = (field.name for field in kind.DESCRIPTOR.fields if field.name not in others)
    return kind(**{name: getattr(found, name) for name in names}, **others)


def check_most(field: str, got: int, most: int, unit: str = "") -> None:
    """Refuse a number above its bound."""
    if got > most:
        raise InvalidInput(f"must be at most {most}{unit}, got {got}", field=field)


def check_count(field: str, count: int, most: int, *, least: int = 0) -> None:
    """Refuse a list of too many entries, or too few."""
    if count < least:
        raise InvalidInput(f"must have at least {least} entry", field=field, reason="REQUIRED")
    if count > most:
        rule = f"must have at most {most} entries, got {count}"
        raise InvalidInput(rule, field=field, reason="TOO_MANY_ITEMS")


def enum_names(enum: Any, prefix: str) -> dict[int, str]:
    """Return the names of an enum of the contract by number, in lower case, without their prefix and 0."""
    return {number: name.removeprefix(prefix).lower() for name, number in enum.items() if number}


def status(code: common_pb2.ItemCode) -> common_pb2.ItemStatus:
    return common_pb2.ItemStatus(code=code)


def field_problems(error: InvalidInput) -> list[common_pb2.FieldProblem]:
    """Return what is wrong with an item."""
    return [
        common_pb2.FieldProblem(field=p.field, description=p.rule, reason=p.reason) for p in error.problems
    ]


def invalid(error: InvalidInput) -> common_pb2.ItemStatus:
    """Return the status of an item that breaks rules."""
    return common_pb2.ItemStatus(code=common_pb2.ITEM_CODE_INVALID, problems=field_problems(error))


def seconds_of(time: Timestamp, clock: Callable[[], float]) -> float:
    """Return a timestamp as seconds since the epoch; one before 1970 counts as now."""
    return time.seconds + time.nanos / 1e9 if time.seconds >= 0 else clock()


def crawl_name(crawl: str) -> str:
    return f"crawls/{crawl}"


def site_name(crawl: str, site: str) -> str:
    """Return the resource name of a site; the site is percent-escaped."""
    return f"crawls/{crawl}/sites/{quote(site, safe='')}"


def parse_crawl(name: str, field: str = "crawl") -> str:
    """Return the crawl of a resource name."""
    if not name:
        raise InvalidInput("is required, in the form crawls/{crawl}", field=field, reason="REQUIRED")
    collection, _, crawl = name.partition("/")
    if collection != "crawls" or not crawl:
        raise InvalidInput(f"must have the form crawls/{{crawl}}, got {name!r}", field=field)
    return crawl


def parse_site(name: str, field: str = "name") -> tuple[str, str]:
    """Return crawl and site of a resource name."""
    parts = name.split("/")
    if len(parts) != 4 or parts[0] != "crawls" or parts[2] != "sites" or not parts[1] or not parts[3]:
        raise InvalidInput(f"must have the form crawls/{{crawl}}/sites/{{site}}, got {name!r}", field=field)
    return parts[1], _host(unquote(parts[3]))


def site_of(name: str, crawl: str, field: str) -> str:
    """Return the site that a host, a URL of it or a resource name stands for."""
    if not name:
        raise InvalidInput("is required", field=field, reason="REQUIRED")
    if len(name.encode()) > MAX_SITE_BYTES:
        raise InvalidInput(f"must be at most {MAX_SITE_BYTES} bytes", field=field)
    if "://" in name or "/" not in name:
        return _host(name)
    owner, site = parse_site(name, field)
    if owner != crawl:
        raise InvalidInput(f"must be a site of crawls/{crawl}, got {name!r}", field=field)
    return site


def _host(name: str) -> str:
    """Return a host, or that of a URL, as the URL Standard writes it; what is none as it is."""
    try:
        return host_of(name if "://" in name else f"http://{name}/")
    except ValueError:
        return name


def page_of(names: Sequence[str], page_size: int, page_token: str) -> tuple[Sequence[str], str]:
    """Return a page of sorted names, and the token of the next: the last name given out, empty at the end."""
    check_most("page_size", page_size, MAX_PAGE_SIZE)
    start = bisect_right(names, page_token) if page_token else 0
    page = names[start : start + (page_size or DEFAULT_PAGE_SIZE)]
    return page, page[-1] if start + len(page) < len(names) else ""


def choice_of(spec: policy_pb2.PolicySpec) -> PolicyChoice | None:
    """Return the choice that the policy of a crawl makes, checked; None if it is empty."""
    name = spec.WhichOneof("policy")
    if name is None:
        return None
    if name == "external":
        path = f"{_POLICY}.external.params"
        try:
            choice = PolicyChoice(spec.external.name, json_format.MessageToDict(spec.external.params))
        except (ValueError, json_format.Error) as exc:  # of a number that is not finite
            raise InvalidInput(f"must be values that JSON has: {exc}", field=path) from None
    else:
        choice = PolicyChoice(name, set_fields(getattr(spec, name)))
        path = f"{_POLICY}.{name}"
    params = _checked(choice, path)  # numbers of a Struct are floats
    return PolicyChoice(choice.name, {name: getattr(params, name) for name in choice.params})


def spec_of(choice: PolicyChoice) -> policy_pb2.PolicySpec:
    found: dict[str, Any] = {choice.name: dict(choice.params)}
    if choice.name not in policy_pb2.PolicySpec.DESCRIPTOR.fields_by_name:
        params = {"params": dict(choice.params)} if choice.params else {}
        found = {"external": {"name": choice.name, **params}}
    return json_format.ParseDict(found, policy_pb2.PolicySpec())


def set_fields(params: Message) -> dict[str, Any]:
    """Return the fields of a flat message that are set, by name."""
    return {field.name: value for field, value in params.ListFields()} | {
        field.name: getattr(params, field.name)
        for field in params.DESCRIPTOR.fields
        if field.has_presence and params.HasField(field.name)
    }


def _checked(choice: PolicyChoice, path: str) -> Params:
    try:
        policy_class(choice.name)
    except LinkscoreError as exc:
        raise InvalidInput(str(exc), field=_POLICY, reason="UNKNOWN_POLICY") from exc
    try:
        return choice.checked()
    except InvalidInput as exc:
        raise exc.under(path) from exc


_MOST_FLOAT = 1e12
"""Of a number without a bound of its own: sums of a billion of them are far from infinite. A bound."""
_MOST_INT = 1 << 53
"""Of a whole number of 64 bits: those above are not exact as JSON has them, nor as floats. A bound."""
_MOST = {
    "linkscore.v1.Page.fetched_bytes": 1 << 40,
    "linkscore.v1.Revisit.fetches_per_day": 1e9,
    "google.protobuf.Timestamp.seconds": 253_402_300_799,  # the year 9999
    "google.protobuf.Duration.seconds": 100 * 365 * 86_400,  # a century
    "linkscore.v1.Crawl.seed": (1 << 64) - 1,
}
"""Bounds of their own."""
_ONE_BY_ONE = frozenset({"linkscore.v1.Page", "linkscore.v1.Feedback"})
_FLOATS = (FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FLOAT)
_INTS = (
    FieldDescriptor.TYPE_INT64,
    FieldDescriptor.TYPE_UINT64,
    FieldDescriptor.TYPE_SINT64,
    FieldDescriptor.TYPE_FIXED64,
    FieldDescriptor.TYPE_SFIXED64,
)


class _Bounded(NamedTuple):
    """A field of numbers, or of messages that have some."""

    name: str
    is_repeated: bool
    most: float
    inner: Descriptor | None


def wrong_numbers(message: Message, path: str = "") -> Iterator[FieldProblem]:
    """Yield the numbers of a message that are not finite or beyond their bounds."""
    for field in _bounded(message.DESCRIPTOR):
        value = getattr(message, field.name)
        if field.inner is not None and not field.is_repeated and not message.HasField(field.name):
            continue
        for row, each in enumerate(value if field.is_repeated else [value]):
            at = f"{path}{field.name}[{row}]" if field.is_repeated else path + field.name
            if field.inner is not None:
                yield from wrong_numbers(each, f"{at}.")
            elif not (math.isfinite(each) and abs(each) <= field.most):
                yield FieldProblem(at, f"must be finite and at most {field.most:.16g}, got {each}")


@cache
def _bounded(message: Descriptor) -> Sequence[_Bounded]:
    found = []
    for field in message.fields:
        inner = field.message_type
        if field.type in _FLOATS or field.type in _INTS:
            default = _MOST_FLOAT if field.type in _FLOATS else _MOST_INT
            found.append(_Bounded(field.name, field.is_repeated, _MOST.get(field.full_name, default), None))
        elif inner is not None and not inner.has_options and _has_numbers(inner, ()):  # entries of maps have
            found.append(_Bounded(field.name, field.is_repeated, 0, inner))
    return found


def _has_numbers(message: Descriptor, seen: tuple[str, ...]) -> bool:
    """Say whether there is something to look at: asked once a type, so that links are not gone through."""
    if message.full_name in seen or message.full_name in _ONE_BY_ONE:
        return False
    seen = (*seen, message.full_name)
    return any(
        field.type in _FLOATS
        or field.type in _INTS
        or (field.message_type is not None and _has_numbers(field.message_type, seen))
        for field in message.fields
    )


_T = TypeVar("_T")

# Bounds of requests, as the contract says.
MAX_URLS = 10_000  # that one RankSites or RankBuckets call hands out
_MAX_IN_FLIGHT_BUCKETS, _MAX_IN_FLIGHT = 10_000, 1_000_000  # with fetches under way, and of one of them
MAX_EXAMPLES, _DEFAULT_EXAMPLES = 100, 5

_COLUMNS = (
    "buckets",
    "bucket_names",
    "bucket_values",
    "tickets",
    "ticket_values",
    "verdicts",
    "skip_reasons",
    "in_scope",
    "url_types",
)
"""Columns of `LinkScores` beside `scores`; those that nobody has something to say for are left empty."""


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
    for column in _COLUMNS:
        getattr(message, column).extend(getattr(scored, column) or ())
    if links is None:
        return
    message.urls.extend(links.urls)
    if "" in links.urls:
        rule = "names no http or https URL, also not relative to the page"
        for row in (row for row, url in enumerate(links.urls) if not url):
            problem = InvalidInput(rule, field=f"outlinks[{row}].url", reason="MALFORMED_URL")
            message.statuses[row].CopyFrom(invalid(problem))


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
    result.event_seq = 0 if outcome.duplicate else outcome.seq
    result.learning = outcome.learning
    result.thread_id = outcome.note.thread_id
    result.page_type = cast("Any", outcome.note.page_type)
    if outcome.note.relevance is not None:
        result.relevance = outcome.note.relevance
    if (standing := outcome.standing) is not None:
        told = pb.Standing(
            decision=decision_of(standing.crawl),
            reason=standing.crawl.reason if standing.crawl else "",
            site_decision=decision_of(standing.site),
            site_reason=standing.site.reason if standing.site else "",
            fetches_left=standing.fetches_left,
            spent=standing.spent,
        )
        result.standing.CopyFrom(told)
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
    told = [pb.LinkExplanation(url=link.url, status=bad.get(row)) for row, link in enumerate(links)]
    for row, why in zip(rows, found, strict=True):
        told[row] = pb.LinkExplanation(
            status=status(common_pb2.ITEM_CODE_OK),
            url=links[row].url,
            score=why.score,
            bucket=why.bucket,
            summary=why.explanation.summary,
            terms=[same_fields(pb.ScoreTerm, term) for term in why.explanation.terms],
            source_cluster=cluster_name(why.source),
            tag_path=why.tag_path,
            stage=cast("Any", why.stage),
            skip_reason=cast("Any", why.skip_reason),
        )
    return told


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


def ranked(kind: type[M], plan: Plan, *, policy: str, event_seq: int, fills: bool = True) -> M:
    """Return an answer of columns, the best first; `fills`: with the links that each is given."""
    order = plan.order()
    return kind(
        policy=policy,
        event_seq=event_seq,
        order=order.tolist(),
        values=plan.values[order].tolist(),
        urls=plan.takes[order].tolist() if fills else (),
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


def example_query(request: pb.SuggestExamplesRequest, crawl: str) -> tuple[int, str]:
    """Return how many pages are asked for, and of which site (empty: all)."""
    check_most("max_results", request.max_results, MAX_EXAMPLES)
    site = site_of(request.site, crawl, "site") if request.site else ""
    return request.max_results or _DEFAULT_EXAMPLES, site


def decision_of(stop: Stop | None) -> common_pb2.Decision:
    return cast("Any", stop.decision) if stop else common_pb2.DECISION_CONTINUE
