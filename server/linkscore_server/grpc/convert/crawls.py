"""Crawls: messages to configurations and back, with their policies and example pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeVar

from linkscore.v1 import crawl_service_pb2
from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice, Scope
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.groups import Shard
from linkscore_scoring.errors import FieldProblem, InvalidInput, InvalidPage
from linkscore_scoring.features.html import extract
from linkscore_scoring.site.learning import MAX_SAMPLE, LearningConfig
from linkscore_scoring.types import ExamplePage
from linkscore_scoring.urls.identity import validate_url
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.grpc.convert.limits import add_limits, decision_of, limits_of
from linkscore_server.grpc.convert.names import crawl_name, parse_crawl
from linkscore_server.grpc.convert.policies import choice_of, spec_of
from linkscore_server.grpc.convert.revisits import revisit_message, revisit_of
from linkscore_server.grpc.convert.wanted import wanted_message, wanted_of

MAX_EXTRA_POLICIES = 8
"""Policies beside the served one: each scores every page, so each costs what the served one costs."""

MAX_PAGE_TYPE_BYTES = 100  # as the contract says
_NO_URL = (
    "http://example.invalid/"  # links of an example without a URL are resolved against this, and not read
)
_T = TypeVar("_T")
_SCOPE_ENUMS: dict[Scope, crawl_service_pb2.CrawlScope] = {
    "host": crawl_service_pb2.CRAWL_SCOPE_HOST,
    "domain": crawl_service_pb2.CRAWL_SCOPE_DOMAIN,
    "any": crawl_service_pb2.CRAWL_SCOPE_ANY,
}
_SCOPES: dict[int, Scope] = {0: "host", **{number: name for name, number in _SCOPE_ENUMS.items()}}
_LEARNS_ON_DEMAND: dict[int, bool] = {
    crawl_service_pb2.LEARN_UNSPECIFIED: False,
    crawl_service_pb2.LEARN_ALWAYS: False,
    crawl_service_pb2.LEARN_ON_DEMAND: True,
}


def config_of(crawl: crawl_service_pb2.Crawl, *, now_s: float) -> CrawlConfig:
    """Return the configuration a message describes.

    Raises
    ------
    InvalidInput
        With the path of every bad field.
    """
    fields: dict[str, Callable[[], Any]] = {
        "name": lambda: parse_crawl(crawl.name, "crawl.name"),
        "policy": lambda: choice_of(crawl.policy, "crawl.policy") or default_policy(crawl),
        "extra_policies": lambda: extra_policies(crawl),
        "scope": lambda: _known(_SCOPES, crawl.scope, "crawl.scope"),
        "learning": lambda: replace(_learning(crawl.learning), on_demand=_learns_on_demand(crawl.learn)),
        "examples": lambda: examples_of(crawl.examples),
        "wanted": lambda: wanted_of(crawl),
        "groups": lambda: crawl.groups or 1,
        "limits": lambda: limits_of(crawl),
        "revisit": lambda: revisit_of(crawl),
    }
    values = _all_of(fields)
    return CrawlConfig(
        observe_only=crawl.observe_only,
        seed=crawl.seed,
        keep_titles=crawl.keep_titles,
        experience=tuple(crawl.experience),
        create_time_s=now_s,
        **values,
    )


def default_policy(crawl: crawl_service_pb2.Crawl) -> PolicyChoice:
    """Return the policy of a crawl that names none."""
    return PolicyChoice("topic") if crawl.HasField("wanted") else PolicyChoice()


def extra_policies(crawl: crawl_service_pb2.Crawl) -> tuple[PolicyChoice, ...]:
    """Return the policies kept learning beside the served one.

    Raises
    ------
    InvalidInput
        If there are too many, or one is empty or has bad parameters.
    """
    if len(crawl.extra_policies) > MAX_EXTRA_POLICIES:
        rule = f"must have at most {MAX_EXTRA_POLICIES} entries, got {len(crawl.extra_policies)}"
        raise InvalidInput(rule, field="crawl.extra_policies", reason="TOO_MANY_ITEMS")
    chosen = [choice_of(spec, f"crawl.extra_policies[{i}]") for i, spec in enumerate(crawl.extra_policies)]
    for i, choice in enumerate(chosen):
        if choice is None:
            raise InvalidInput("must name a policy", field=f"crawl.extra_policies[{i}]", reason="REQUIRED")
    return tuple(choice for choice in chosen if choice is not None)


def examples_of(messages: Iterable[crawl_service_pb2.ExamplePage]) -> tuple[ExamplePage, ...]:
    """Return the example pages of a message; cost: a parse for each body.

    Raises
    ------
    InvalidInput
        With the path of every bad field, such as ``crawl.examples[3].url``.
    """
    examples, problems = [], list[FieldProblem]()
    for i, message in enumerate(messages):
        try:
            examples.append(_example(message))
        except InvalidInput as exc:
            problems += exc.under(f"crawl.examples[{i}]").problems
    if problems:
        raise InvalidInput(problems)
    return tuple(examples)


def crawl_message(model: CrawlModel) -> crawl_service_pb2.Crawl:
    """Return a crawl as a message."""
    config = model.config
    message = crawl_service_pb2.Crawl(
        name=crawl_name(config.name),
        policy=spec_of(config.policy),
        extra_policies=[spec_of(choice) for choice in config.extra_policies],
        scope=_SCOPE_ENUMS[config.scope],
        learning=crawl_service_pb2.LearningConfig(
            sample_pages=config.learning.sample_pages,
            max_sample_pages=config.learning.max_sample_pages,
        ),
        learn=crawl_service_pb2.LEARN_ON_DEMAND
        if config.learning.on_demand
        else crawl_service_pb2.LEARN_ALWAYS,
        observe_only=config.observe_only,
        seed=config.seed,
        keep_titles=config.keep_titles,
        experience_count=len(config.experience),
        examples=_example_messages(config.examples),
        wanted=wanted_message(config.wanted) if config.wanted is not None else None,
        groups=config.groups,
        revisit=revisit_message(config.revisit),
        page_count=model.pages,
        feedback_count=model.feedbacks,
        site_count=len(model.sites),
        event_seq=model.seq,
    )
    add_limits(message, config.limits)
    if model.limits:
        stop = model.standing().crawl
        message.decision, message.decision_reason = decision_of(stop), stop.reason if stop else ""
    message.create_time.FromNanoseconds(int(config.create_time_s * 1e9))
    return message


def _example_messages(examples: Iterable[ExamplePage]) -> list[crawl_service_pb2.ExamplePage]:
    """Return example pages as messages, without their bodies."""
    return [crawl_service_pb2.ExamplePage(url=page.url, page_type=page.page_type) for page in examples]


def _example(message: crawl_service_pb2.ExamplePage) -> ExamplePage:
    if len(message.page_type.encode()) > MAX_PAGE_TYPE_BYTES:
        got = len(message.page_type.encode())
        raise InvalidInput(f"must be at most {MAX_PAGE_TYPE_BYTES} bytes, got {got}", field="page_type")
    if not message.url and not message.body:
        raise InvalidInput("must be given, or else the body", field="url", reason="REQUIRED")
    key = validate_url(message.url, "url", error=InvalidPage) if message.url else ""
    if not message.body:
        return ExamplePage(message.url, key, message.page_type)
    page = extract(message.body, url=message.url or _NO_URL, content_type=message.content_type)
    if not page.paths.tags:
        raise InvalidPage("must be a page in HTML", field="body")
    return ExamplePage(message.url, key, message.page_type, page.paths)


def _learning(message: crawl_service_pb2.LearningConfig) -> LearningConfig:
    sample = message.sample_pages if message.HasField("sample_pages") else 200
    learning = LearningConfig(
        sample_pages=sample,
        max_sample_pages=message.max_sample_pages if message.HasField("max_sample_pages") else MAX_SAMPLE,
    )
    if problems := learning.problems("crawl.learning"):
        raise InvalidInput(problems)
    return learning


def _learns_on_demand(number: int) -> bool:
    return _known(_LEARNS_ON_DEMAND, number, "crawl.learn")


def _all_of(fields: dict[str, Callable[[], Any]]) -> dict[str, Any]:
    """Return the value of each field, or raise one error that has the problems of all."""
    values, problems = {}, list[FieldProblem]()
    for name, value in fields.items():
        try:
            values[name] = value()
        except InvalidInput as exc:
            problems += exc.problems
    if problems:
        raise InvalidInput(problems)
    return values


def _known(table: dict[int, _T], number: int, field: str) -> _T:
    if number not in table:
        raise InvalidInput(f"is not a known value, got {number}", field=field)
    return table[number]


def shard_message(
    shard: Shard, actor: CrawlActor | None, *, disk_bytes: int, trouble: str
) -> crawl_service_pb2.Shard:
    """Return what a shard takes; of one without an actor, which is closed or damaged, little is known."""
    state = crawl_service_pb2.SHARD_STATE_DAMAGED if trouble else crawl_service_pb2.SHARD_STATE_PUT_AWAY
    row = crawl_service_pb2.Shard(
        crawl=crawl_name(shard.crawl),
        group=shard.group,
        group_count=shard.groups,
        state=state if actor is None else crawl_service_pb2.SHARD_STATE_OPEN,
        disk_bytes=disk_bytes,
        trouble=trouble,
    )
    if actor is not None:
        sites = actor.model.sites
        row.event_seq, row.replay_count = actor.model.seq, actor.replay_count
        row.waiting_count, row.memory_bytes = actor.waiting_count, sites.memory_bytes
        pace = actor.pace
        row.events_per_s, row.bytes_per_s, row.delay_s = pace.events_per_s, pace.bytes_per_s, pace.delay_s
        row.site_count, row.live_site_count = len(sites), len(sites.in_memory)
    return row
