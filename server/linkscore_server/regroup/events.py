"""Which group each event of a log belongs to, and what it says there."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

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

_SITE_AT = {
    number: kind.__slots__.index("site") for number, kind in KINDS.items() if "site" in kind.__slots__
}
"""Where the site stands among the values of an event, by the number of its kind."""
_NUMBERS = {kind: number for number, kind in KINDS.items()}
_OF_ALL_GROUPS = -1


class Regrouping:
    """Divides the events of one crawl; the same events in the same order give the same logs.

    An event of a site goes to the group of the site as it is. All groups are told of each configuration. What
    was learned of a site names the event it was learned from by its number in the log of the group. Costs 8
    bytes of memory an event.

    Parameters
    ----------
    groups
        How many groups there are to be, at least two.
    """

    def __init__(self, groups: int) -> None:
        self._groups = groups
        self._changes = 0
        self._ends = [0] * groups
        self._new_seqs = array("Q", [0])

    def divide(self, events: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
        """Yield group and bytes of each event there is to be.

        Parameters
        ----------
        events
            Number and bytes of each event of the log of one group, from the first on.

        Raises
        ------
        InvalidInput
            If the crawl cannot have so many groups: for its policy or another field, or for browse logs.
        CorruptState
            If an event cannot be read, or is missing.
        """
        for seq, raw in events:
            if len(self._new_seqs) != seq:
                raise CorruptState(f"event {len(self._new_seqs)} is missing: {seq} follows")
            group, said = self._group_of(raw), self._said(raw)
            for of in range(self._groups) if group == _OF_ALL_GROUPS else (group,):
                self._ends[of] += 1
                yield of, said
            self._new_seqs.append(0 if group == _OF_ALL_GROUPS else self._ends[group])
            self._changes += group == _OF_ALL_GROUPS

    def _group_of(self, raw: bytes) -> int:
        number, site = _kind_and_site(raw)
        if number == _NUMBERS[ConfigChanged]:
            return _OF_ALL_GROUPS
        if number == _NUMBERS[BrowseBatchImported]:
            raise InvalidInput("must be 1: the crawl has browse logs, which are not divided", field="groups")
        return group_of(site, self._groups)

    def _said(self, raw: bytes) -> bytes:
        """Return an event as the log of a group has it: few say something of their own place in the log."""
        kind = KINDS[raw[1]]
        if kind not in (ConfigChanged, ModelActivated, LearningFailed):
            return raw
        event = decode(raw)
        if isinstance(event, ConfigChanged):
            return encode(ConfigChanged(self._config(event).to_state()))
        assert isinstance(event, ModelActivated | LearningFailed)
        built_from = self._new_seqs[event.built_from_seq]
        if isinstance(event, LearningFailed):
            return encode(replace(event, built_from_seq=built_from))
        learned: dict[str, Any] = {**event.learned, "built_from_seq": built_from}
        return encode(ModelActivated(event.site, built_from, digest(learned), learned))

    def _config(self, event: ConfigChanged) -> CrawlConfig:
        """Return a configuration with these groups, as many changes as there were, and the tickets it had."""
        config = CrawlConfig.from_state(event.config)
        if config.groups > 1:
            raise InvalidInput(f"is {config.groups} already, which is fixed", field="groups")
        config = replace(config, groups=self._groups, revision=self._changes, was_one_group=True)
        config.check()
        return config


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
