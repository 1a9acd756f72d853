"""Which group each event of a log belongs to, and what it says there."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import msgpack

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.events import (
    KINDS,
    BrowseBatchImported,
    ConfigChanged,
    LearningFailed,
    ModelActivated,
    decode,
    encode,
)
from linkscore_scoring.engine.groups import group_of
from linkscore_scoring.errors import CorruptState, InvalidInput
from linkscore_scoring.state import digest
from linkscore_server.storage.base import CrawlLog

_SITE_AT = {
    number: kind.__slots__.index("site") for number, kind in KINDS.items() if "site" in kind.__slots__
}
"""Where the site stands among the values of an event, by the number of its kind."""
_NUMBERS = {kind: number for number, kind in KINDS.items()}


class Regrouping:
    """Divides the events of one crawl; the same events in the same order give the same logs.

    An event of a site goes to the group of the site as it is. All groups are told of each configuration, once
    every group there was has come to it. What was learned of a site names the event it was learned from by
    its number in the log of the group. Costs 8 bytes of memory an event.

    Parameters
    ----------
    groups
        How many groups there are to be, at least two.
    """

    def __init__(self, groups: int) -> None:
        self._groups = groups
        self._changes = 0
        self._ends = [0] * groups

    def divide(self, logs: Sequence[CrawlLog]) -> Iterator[tuple[int, bytes]]:
        """Yield group and bytes of each event there is to be.

        Parameters
        ----------
        logs
            Of the groups there were. One at a time is read, from where it was left.

        Raises
        ------
        InvalidInput
            If the crawl cannot have so many groups: for its policy or another field, or for browse logs.
        CorruptState
            If an event cannot be read, or is missing.
        """
        came = [_Source(log, array("Q", [0])) for log in logs]
        waiting: _Changes = []
        while True:
            for source in came:
                yield from self._until_change(source, waiting)
            if not waiting:
                return
            told = min((config for config, _ in waiting), key=lambda config: config.revision)
            said = self._told(told)
            for group in range(self._groups):
                self._ends[group] += 1
                yield group, said
            came = [source for config, source in waiting if config.revision == told.revision]
            waiting = [(config, source) for config, source in waiting if config.revision != told.revision]

    def _until_change(self, source: _Source, waiting: _Changes) -> Iterator[tuple[int, bytes]]:
        """Divide the events before the next change that a log has, which waits for the other groups then."""
        for seq, raw in source.log.read(len(source.new_seqs) - 1):
            if len(source.new_seqs) != seq:
                raise CorruptState(f"event {len(source.new_seqs)} is missing: {seq} follows")
            number, site = _kind_and_site(raw)
            if number == _NUMBERS[BrowseBatchImported]:
                rule = "must stay: the crawl has browse logs, which are not divided"
                raise InvalidInput(rule, field="groups")
            if number == _NUMBERS[ConfigChanged]:
                source.new_seqs.append(0)
                event = decode(raw)
                assert isinstance(event, ConfigChanged)
                waiting.append((CrawlConfig.from_state(event.config), source))
                return
            group = group_of(site, self._groups)
            self._ends[group] += 1
            yield group, _numbered_anew(raw, source.new_seqs)
            source.new_seqs.append(self._ends[group])

    def _told(self, config: CrawlConfig) -> bytes:
        """Return a configuration with these groups, as many changes as there were, and the tickets it had."""
        if config.groups == self._groups:
            raise InvalidInput(f"is {config.groups} already", field="groups")
        kept = config.was_one_group or config.groups == 1
        config = replace(config, groups=self._groups, revision=self._changes, was_one_group=kept)
        config.check()
        self._changes += 1
        return encode(ConfigChanged(config.to_state()))


class _Source(NamedTuple):
    """The log of a group that there was, and the numbers that its events have now."""

    log: CrawlLog
    new_seqs: array[int]


_Changes = list[tuple[CrawlConfig, _Source]]


def _numbered_anew(raw: bytes, new_seqs: array[int]) -> bytes:
    """Return an event as the log of a group has it: few say something of their own place in the log."""
    if KINDS[raw[1]] not in (ModelActivated, LearningFailed):
        return raw
    event = decode(raw)
    assert isinstance(event, ModelActivated | LearningFailed)
    built_from = new_seqs[event.built_from_seq]
    if isinstance(event, LearningFailed):
        return encode(replace(event, built_from_seq=built_from))
    learned: dict[str, Any] = {**event.learned, "built_from_seq": built_from}
    return encode(ModelActivated(event.site, built_from, digest(learned), learned))


def _kind_and_site(raw: bytes) -> tuple[int, str]:
    """Return the number of an event's kind and its site, empty if it has none, without reading the rest."""
    try:
        reader = msgpack.Unpacker(strict_map_key=False, max_buffer_size=0)  # no bound: it is all here
        reader.feed(raw)
        reader.read_array_header()
        if (number := reader.unpack()) not in KINDS:
            raise CorruptState(f"event: is of kind {number}, which this version does not know")
        reader.read_array_header()
        for _ in range(_SITE_AT.get(number, 0)):
            reader.skip()
        return number, reader.unpack() if number in _SITE_AT else ""
    except (ValueError, LookupError, TypeError, msgpack.UnpackException) as exc:
        raise CorruptState(f"event: {exc}") from exc
