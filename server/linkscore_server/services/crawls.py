"""CrawlService: crawls read and changed; `front`, which knows all processes, makes, deletes, lists them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple
from functools import partial
from importlib.metadata import version
from typing import Any, TypeVar, cast

import numpy as np
from google.protobuf.duration_pb2 import Duration
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message import Message

from linkscore.v1 import crawl_service_pb2 as pb
from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice, Scope
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.limits import LIMITS
from linkscore_scoring.errors import FieldProblem, InvalidInput, InvalidPage, broken_fields
from linkscore_scoring.features.html import extract
from linkscore_scoring.features.types import PageWords
from linkscore_scoring.features.words import words_of_texts
from linkscore_scoring.site.crawl_history import Tally
from linkscore_scoring.site.learning import LearningConfig
from linkscore_scoring.site.model import Stage
from linkscore_scoring.types import ExamplePage
from linkscore_scoring.urls.identity import validate_url
from linkscore_scoring.wanted import Wanted, WantedSample
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.crawls.sites import StoredCrawl
from linkscore_server.groups import Shard
from linkscore_server.services.messages import (
    check_most,
    choice_of,
    crawl_name,
    decision_of,
    enum_names,
    parse_crawl,
    same_fields,
    set_fields,
    spec_of,
)

_FIXED = ("scope", "learning", "groups", "seed", "experience_count")
VERSION = version("linkscore")
_MAX_PAGE_TYPE_BYTES, _MAX_TEXT_BYTES = 100, 1_000_000  # of an example and a sample, as the contract says
_NO_URL = "http://example.invalid/"  # of an example or a sample without one; its links are not read
_T = TypeVar("_T")
_M = TypeVar("_M", bound=Message)
_SCOPES = cast("dict[int, Scope]", {0: "host"} | enum_names(pb.CrawlScope, "CRAWL_SCOPE_"))
_OBJECTIVES = enum_names(pb.RevisitObjective, "REVISIT_OBJECTIVE_")


class CrawlService:
    """Configuration of groups of crawls that are here; `front` makes and deletes whole crawls."""

    def __init__(self, registry: CrawlRegistry) -> None:
        self._registry = registry

    async def GetCrawl(self, request: pb.GetCrawlRequest, context: Any) -> pb.GetCrawlResponse:
        """Read a crawl."""
        actor = await self._registry.open(parse_crawl(request.name, "name"))
        answer = pb.GetCrawlResponse(crawl=crawl_message(actor.model), server_version=VERSION)
        if request.with_activity:
            answer.activity.CopyFrom(await actor.ask(lambda: _activity(actor.model)))
        return answer

    async def UpdateCrawl(self, request: pb.UpdateCrawlRequest, context: Any) -> pb.UpdateCrawlResponse:
        """Change a crawl."""
        crawl = request.crawl
        name = parse_crawl(crawl.name, "crawl.name")
        actor = await self._registry.open(name)
        changes: dict[str, Any] = {}
        if not request.update_mask.paths:
            _check_fixed(crawl, crawl_message(actor.model))
        for path in _paths(request):
            if path in LIMITS:
                changes.setdefault("limits", {})[path] = _limits_of(crawl).get(path)
            else:
                changes[path] = await asyncio.to_thread(_UPDATABLE[path], crawl)
        if changes:
            actor = await self._registry.change(name, **changes)
        return pb.UpdateCrawlResponse(crawl=crawl_message(actor.model))


async def shard_row(registry: CrawlRegistry, key: str) -> pb.Shard:
    """Return what a shard that is here takes; of one that is closed or damaged, little is known."""
    shard, actor, trouble = Shard.of(key), registry.opened_now(key), registry.damaged.get(key, "")
    state = pb.SHARD_STATE_DAMAGED if trouble else pb.SHARD_STATE_PUT_AWAY
    row = pb.Shard(
        crawl=crawl_name(shard.crawl),
        group=shard.group,
        group_count=shard.groups,
        state=state if actor is None else pb.SHARD_STATE_OPEN,
        disk_bytes=await registry.disk_bytes(key),
        trouble=trouble,
    )
    if actor is not None:
        sites = actor.model.sites
        row.event_seq, row.replay_count = actor.model.seq, actor.replay_count
        row.waiting_count, row.memory_bytes = actor.waiting_count, sites.memory_bytes
        row.site_count, row.live_site_count = len(sites), len(sites.in_memory)
    return row


def _paths(request: pb.UpdateCrawlRequest) -> list[str]:
    """Return the fields to change: those of the mask, or those that are set when there is no mask."""
    paths = list(request.update_mask.paths)
    unknown = [path for path in paths if path not in _UPDATABLE]
    if unknown:
        raise InvalidInput(
            f"can only be {', '.join(_UPDATABLE)}, got {', '.join(unknown)}", field="update_mask"
        )
    return paths or [field.name for field, _ in request.crawl.ListFields() if field.name in _UPDATABLE]


def _check_fixed(asked: pb.Crawl, there: pb.Crawl) -> None:
    """Refuse what cannot be changed and is asked for otherwise: without a mask all that is set is meant."""
    then = pb.Crawl()
    then.CopyFrom(there)
    then.MergeFrom(asked)
    if asked.experience:
        then.experience_count = len(asked.experience)
    has = MessageToDict(there, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)
    rule = "is {} and cannot be changed: leave it out, or name another crawl"
    problems = [
        FieldProblem(f"crawl.{name.removesuffix('_count')}", rule.format(has[name]))
        for name in _FIXED
        if getattr(then, name) != getattr(there, name)
    ]
    if problems:
        raise InvalidInput(problems)


def config_of(crawl: pb.Crawl, *, now_s: float) -> CrawlConfig:
    """Return the configuration a message describes."""
    fields: dict[str, Callable[[], Any]] = {
        "name": lambda: parse_crawl(crawl.name, "crawl.name"),
        "policy": lambda: (
            choice_of(crawl.policy) or (PolicyChoice("topic") if crawl.HasField("wanted") else PolicyChoice())
        ),
        "scope": lambda: _known(_SCOPES, crawl.scope, "crawl.scope"),
        "learning": lambda: _learning(crawl),
        "examples": lambda: _examples_of(crawl.examples),
        "wanted": lambda: wanted_of(crawl),
        "groups": lambda: crawl.groups or 1,
        "limits": lambda: _limits_of(crawl),
        "revisit": lambda: _revisit_of(crawl),
    }
    values = _all_of(fields)
    return CrawlConfig(
        observe_only=crawl.observe_only,
        seed=crawl.seed,
        experience=tuple(crawl.experience),
        create_time_s=now_s,
        **values,
    )


def _policy_of(crawl: pb.Crawl) -> PolicyChoice:
    choice = choice_of(crawl.policy)
    if choice is None:
        raise InvalidInput("must name a policy", field="crawl.policy", reason="REQUIRED")
    return choice


def _examples_of(messages: Iterable[pb.ExamplePage]) -> tuple[ExamplePage, ...]:
    """Return the example pages of a message; cost: a parse for each body."""
    return _each(messages, _example, "crawl.examples")


def _each(messages: Iterable[_M], read: Callable[[_M], _T], field: str) -> tuple[_T, ...]:
    """Return what a list says, or raise one error that has the problems of all its entries."""
    reads = {f"{field}[{i}]": partial(read, message) for i, message in enumerate(messages)}
    return tuple(_all_of(reads, is_under=True).values())


def crawl_message(model: CrawlModel) -> pb.Crawl:
    config = model.config
    message = pb.Crawl(
        name=crawl_name(config.name),
        policy=spec_of(config.policy),
        scope=f"CRAWL_SCOPE_{config.scope.upper()}",
        learning=same_fields(pb.LearningConfig, config.learning),
        observe_only=config.observe_only,
        seed=config.seed,
        experience_count=len(config.experience),
        examples=[pb.ExamplePage(url=page.url, page_type=page.page_type) for page in config.examples],
        wanted=None
        if config.wanted is None
        else same_fields(
            pb.Wanted,
            config.wanted,
            samples=[pb.WantedSample(url=one.url, unwanted=one.unwanted) for one in config.wanted.samples],
        ),
        groups=config.groups,
        revisit=_revisit_message(config.revisit),
        page_count=model.pages,
        feedback_count=model.feedbacks,
        site_count=len(model.sites),
        event_seq=model.seq,
    )
    ParseDict(dict(config.limits), message)
    if model.budget is not None:
        stop = model.standing().crawl
        message.decision, message.decision_reason = decision_of(stop), stop.reason if stop else ""
    message.create_time.FromNanoseconds(int(config.create_time_s * 1e9))
    return message


def _example(message: pb.ExamplePage) -> ExamplePage:
    check_most("page_type", len(message.page_type.encode()), _MAX_PAGE_TYPE_BYTES, " bytes")
    if not message.url and not message.body:
        raise InvalidInput("must be given, or else the body", field="url", reason="REQUIRED")
    key = validate_url(message.url, "url", error=InvalidPage) if message.url else ""
    if not message.body:
        return ExamplePage(message.url, key, message.page_type)
    page = extract(message.body, url=message.url or _NO_URL, content_type=message.content_type)
    if not page.paths.tags:
        raise InvalidPage("must be a page in HTML", field="body")
    return ExamplePage(message.url, key, message.page_type, page.paths)


def _learning(crawl: pb.Crawl) -> LearningConfig:
    learning = LearningConfig(**set_fields(crawl.learning))
    if problems := list(broken_fields(learning, "crawl.learning.")):
        raise InvalidInput(problems)
    return learning


def _all_of(fields: Mapping[str, Callable[[], Any]], *, is_under: bool = False) -> dict[str, Any]:
    """Return the value of each field, or raise one error that has the problems of all.

    `is_under`: problems of a value name parts of it, and not yet the field.
    """
    values, problems = {}, list[FieldProblem]()
    for name, value in fields.items():
        try:
            values[name] = value()
        except InvalidInput as exc:
            problems += (exc.under(name) if is_under else exc).problems
    if problems:
        raise InvalidInput(problems)
    return values


def _known(table: dict[int, _T], number: int, field: str) -> _T:
    if number not in table:
        raise InvalidInput(f"is not a known value, got {number}", field=field)
    return table[number]


def _revisit_of(crawl: pb.Crawl) -> dict[str, Any] | None:
    """Return how a crawl fetches pages again, None if it does not; what is not set is left out."""
    if not crawl.HasField("revisit"):
        return None
    asked, found = crawl.revisit, dict[str, Any]()
    if asked.objective:
        found["objective"] = _known(_OBJECTIVES, asked.objective, "crawl.revisit.objective")
    if asked.fetches_per_day:
        found["fetches_per_day"] = asked.fetches_per_day
    for field, name in (("least_interval", "least_s"), ("longest_interval", "longest_s")):
        if asked.HasField(field):
            interval: Duration = getattr(asked, field)
            found[name] = interval.seconds + interval.nanos / 1e9
    return found


def _revisit_message(given: Mapping[str, Any] | None) -> pb.Revisit | None:
    """Return how a crawl fetches pages again, None if it does not."""
    if given is None:
        return None
    message = pb.Revisit(fetches_per_day=given.get("fetches_per_day", 0.0))
    if "objective" in given:
        message.objective = cast(
            "Any", pb.RevisitObjective.Value(f"REVISIT_OBJECTIVE_{given['objective'].upper()}")
        )
    for name, interval in (("least_s", message.least_interval), ("longest_s", message.longest_interval)):
        if name in given:
            interval.FromNanoseconds(round(given[name] * 1e9))
    return message


def wanted_of(crawl: pb.Crawl) -> Wanted | None:
    """Return what a crawl is for; None if it does not say. Cost: a parse for each body."""
    if not crawl.HasField("wanted"):
        return None
    message = crawl.wanted
    wanted = Wanted(
        tuple(message.queries),
        _each(message.samples, _sample, "crawl.wanted.samples"),
    )
    if problems := list(wanted.problems("crawl.wanted")):
        raise InvalidInput(problems)
    return wanted


def _sample(message: pb.WantedSample) -> WantedSample:
    if message.text and message.body:
        raise InvalidInput("must not be given beside `text`", field="body")
    if not (message.url or message.text or message.body):
        raise InvalidInput("must be given, or else text or body", field="url", reason="REQUIRED")
    check_most("text", len(message.text.encode()), _MAX_TEXT_BYTES, " bytes")
    key = validate_url(message.url, "url", error=InvalidPage) if message.url else ""
    return WantedSample(message.url, key, _words(message), message.unwanted)


def _words(message: pb.WantedSample) -> PageWords | None:
    if message.text:
        words = words_of_texts("", "", message.text)
        if not words.hashes:
            raise InvalidInput("must have a word", field="text")
        return words
    if not message.body:
        return None
    page = extract(message.body, url=message.url or _NO_URL, content_type=message.content_type, words=True)
    if page.words is None or not page.words.hashes:
        raise InvalidPage("must be a page in HTML with words", field="body")
    return page.words


def _limits_of(crawl: pb.Crawl) -> dict[str, Any]:
    """Return the settings of a message as plain values, by field."""
    return {
        field.name: set_fields(value) if isinstance(value, Message) else list(value)
        for field, value in crawl.ListFields()
        if field.name in LIMITS
    }


def _activity(model: StoredCrawl) -> pb.Activity:
    """Return what became of a crawl, sums over its sites; cost O(sites)."""
    counts = np.zeros(6)  # of sites, those learned and being learned, pages, those that failed, and copies
    sums = np.array(astuple(Tally()))
    for _, site in model.sites.facts():
        counts += (1, site.stage == Stage.READY, site.learning, site.pages, site.failed, site.duplicates)
        sums += site.tally
    sites, learned, learning, pages, failed, copies = counts.astype(int).tolist()
    tally = Tally(*sums.tolist())
    return pb.Activity(
        site_count=sites,
        learned_site_count=learned,
        learning_site_count=learning,
        page_count=pages,
        failed_count=failed,
        duplicate_count=copies,
        fetch_count=round(tally.fetched),
        text_reward=tally.worth(by_reward=False),
        reported_count=round(tally.reported),
        reward=tally.worth(by_reward=True),
    )


_UPDATABLE: dict[str, Callable[[pb.Crawl], Any]] = {
    "policy": _policy_of,
    "observe_only": lambda crawl: crawl.observe_only,
    "examples": lambda crawl: _examples_of(crawl.examples),
    "wanted": wanted_of,
    "revisit": _revisit_of,
    **dict.fromkeys(LIMITS, _limits_of),
}
"""Reads what can be changed of a crawl, by field; costs a parse for each body."""
