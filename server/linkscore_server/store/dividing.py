"""The events of a crawl divided into other parts: which goes where, and what it says there."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.events import (
    BrowseBatchImported,
    ConfigChanged,
    LearningFailed,
    ModelActivated,
    decode,
    encode,
)
from linkscore_scoring.engine.groups import group_of
from linkscore_scoring.errors import InvalidInput
from linkscore_server.store.base import NewEvent
from linkscore_server.store.store import StoredShard


class _Source(NamedTuple):
    """A part that there was, and the numbers that its events have now."""

    shard: StoredShard
    numbers: array[int]


def divided(shards: Sequence[StoredShard], parts: int) -> Iterator[tuple[int, NewEvent]]:
    """Yield part and event of each that there is to be: the same shards give the same parts.

    An event of a site goes to the part of the site. All parts are told of each configuration, once every
    part there was has come to it. What was learned of a site names the event it was learned from by its
    number in the part. Costs 8 bytes of memory an event.

    Raises InvalidInput if the crawl cannot have so many: for its policy or another field, or for browse logs;
    CorruptState if an event is damaged.
    """
    ends, changes = [0] * parts, 0
    came = [_Source(shard, array("Q", [0])) for shard in shards]
    waiting: list[tuple[CrawlConfig, _Source]] = []
    while True:
        for source in came:
            for part, event in _until_change(source, ends, waiting):
                yield part, event
        if not waiting:
            return
        told = min((config for config, _ in waiting), key=lambda config: config.revision)
        said = _told(told, parts, changes)
        changes += 1
        for part in range(parts):
            ends[part] += 1
            yield part, said
        came = [source for config, source in waiting if config.revision == told.revision]
        waiting = [(config, source) for config, source in waiting if config.revision != told.revision]


def _until_change(
    source: _Source, ends: list[int], waiting: list[tuple[CrawlConfig, _Source]]
) -> Iterator[tuple[int, NewEvent]]:
    """Divide the events before the next change of a part, which waits for the other parts then."""
    for stored in source.shard.events(after=len(source.numbers) - 1):
        event = decode(stored.body)
        if isinstance(event, BrowseBatchImported):
            rule = "must stay: the crawl has browse logs, which are not divided"
            raise InvalidInput(rule, field="parts")
        if isinstance(event, ConfigChanged):
            source.numbers.append(0)
            waiting.append((CrawlConfig.from_state(event.config), source))
            return
        part = group_of(stored.site, len(ends))
        ends[part] += 1
        source.numbers.append(ends[part])
        yield part, NewEvent(stored.site, stored.id, _numbered_anew(event, stored.body, source.numbers))


def _told(config: CrawlConfig, parts: int, changes: int) -> NewEvent:
    """Return a configuration with so many parts, as many changes as there were, and the tickets it had."""
    kept = config.was_one_group or config.groups == 1
    config = replace(config, groups=parts, revision=changes, was_one_group=kept)
    config.check()
    return NewEvent("", "", encode(ConfigChanged(config.to_state())))


def _numbered_anew(event: object, body: bytes, numbers: array[int]) -> bytes:
    """Return an event as its part has it: few say something of their own place."""
    if isinstance(event, LearningFailed):
        return encode(replace(event, built_from_seq=numbers[event.built_from_seq]))
    if isinstance(event, ModelActivated):
        built_from = numbers[event.built_from_seq]
        learned: dict[str, Any] = {**event.learned, "built_from_seq": built_from}
        return encode(ModelActivated(event.site, built_from, learned))
    return body
