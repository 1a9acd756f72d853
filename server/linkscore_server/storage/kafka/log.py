"""The log of a shard in a partition: taken over with a marker, written by whoever wrote the newest one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from linkscore_server.storage.base import CrawlLog, LogAway, Snapshot
from linkscore_server.storage.frames import pack, unpack
from linkscore_server.storage.kafka.brokers import HeadDeleted
from linkscore_server.storage.kafka.counts import Counts
from linkscore_server.storage.kafka.records import PLACE_KEY, LogState, Marker, Record, key_of
from linkscore_server.storage.kafka.sharing import SharedStates
from linkscore_server.storage.sites import SiteStates

EVENTS_A_PLACE = 1_000
"""Events between places from which a log can be read: what a read passes over at most. Chosen."""

_LOOKS_BACK = 6
"""Most looks for a place, each at twice the records of the one before, 16 times `EVENTS_A_PLACE` in all. Each
record has an event or more, so where none is found another version wrote the log. A bound."""

_TAKEN = "another process has taken these sites over, try again"
_log = logging.getLogger(__name__)


class Partitions(Protocol):
    """What keeps records; see `brokers.Brokers`."""

    def append(self, topic: str, partition: int, key: bytes | None, value: bytes) -> int:
        """Append a record and return its offset."""

    def read(self, topic: str, partition: int, start: int, end: int) -> Iterator[Record]:
        """Yield the records of some offsets."""

    def end(self, topic: str, partition: int) -> int:
        """Return the offset that the next record gets at least."""


@dataclass(slots=True)
class _Places:
    """Where to begin reading for the events after some number."""

    apart: int
    found: list[LogState] = field(default_factory=list)

    def see(self, state: LogState) -> None:
        if not state.seq:  # nothing counts of what was before
            self.found = [state.copy()]
        elif state.seq >= self.found[-1].seq + self.apart:
            self.found.append(state.copy())

    def before(self, after: int) -> LogState:
        return next(state for state in reversed(self.found) if state.seq <= after).copy()


class KafkaLog(CrawlLog):
    """The log of one shard; opening it takes it over from whoever had it.

    Parameters
    ----------
    partitions
        Keeps it.
    topic, partition
        Where.
    owner
        Who takes it over, for people.
    states_of
        Gives the states of sites as they are kept for a log as it stands.
    counts
        Where to count.
    places_apart
        Events between places.

    Raises
    ------
    LogAway
        If the brokers do not answer.
    CorruptState
        If a record that is read is damaged or missing: a long log is read from a place near its end. That the
        beginning was deleted is survived if a place and a snapshot are left.
    """

    def __init__(
        self,
        partitions: Partitions,
        topic: str,
        partition: int,
        *,
        owner: str,
        states_of: Callable[[LogState], SiteStates] = lambda _: SiteStates(),
        counts: Counts | None = None,
        places_apart: int = EVENTS_A_PLACE,
    ) -> None:
        self._partitions = partitions
        self._topic, self._partition = topic, partition
        self._counts = counts or Counts()
        self._places = _Places(places_apart)
        self._state = LogState(f"{topic} [{partition}]")
        self._places.see(self._state)
        self._begun, self._kept_seq = self._state, 0
        self._first = 0  # offset of the first record, if those before were deleted
        self._take_over(owner)
        self.last_seq = self._state.seq
        self.states = states_of(self._state)
        if self.states.seq > self.last_seq:  # of events that never counted: that cannot be, so trust neither
            _log.error(
                "%s: the snapshot knows %d events, the log has %d: it is dropped",
                self._state.name,
                self.states.seq,
                self.last_seq,
            )
            self.states.clear()

    def append(self, events: Sequence[bytes]) -> None:
        """See `CrawlLog.append`; a group is in the log when all replicas in sync have it."""
        if self.is_away:
            raise LogAway(f"{self._state.name}: was taken over; it is opened again")
        if self.last_seq >= self._kept_seq + self._places.apart:
            self._write(PLACE_KEY, self._state.pack())
            self._kept_seq = self.last_seq
        self._write(key_of(self._state.epoch), pack(self.last_seq + 1, events))
        self.last_seq += len(events)
        self._state.seq = self.last_seq
        self._places.see(self._state)

    def confirm(self) -> None:
        """See `CrawlLog.confirm`: asks the brokers."""
        if not self._is_still_mine():
            self.is_away = True
            raise LogAway(f"{self._state.name}: {_TAKEN}")

    def read(self, after: int = 0) -> Iterator[tuple[int, bytes]]:
        """See `CrawlLog.read`."""
        end, state = self._state.offset, self._place_before(after)
        for record in self._partitions.read(self._topic, self._partition, state.offset, end):
            frame = state.see(record)
            if frame is not None and frame.last_seq > after:
                events = unpack(memoryview(record.value), frame)
                for seq, event in enumerate(events, start=frame.first_seq):
                    if seq > after:
                        yield seq, event

    def place(self, seq: int) -> str:
        """See `CrawlLog.place`."""
        return f"{self._state.name}, event {seq}"

    def save(self, snapshot: Snapshot) -> int:
        """See `CrawlLog.save`: there is no need, sites are kept in `states` and nothing is ever cut."""
        return 0

    def snapshot(self) -> Snapshot | None:
        """See `CrawlLog.snapshot`: there is none beside `states`."""
        return None

    def share(self) -> bool:
        """See `CrawlLog.share`; who has lost the log, or its brokers, leaves it to the next owner."""
        if self.is_away or not isinstance(self.states, SharedStates):
            return True
        return self.states.share(is_owner=self._is_still_mine)

    def close(self) -> None:
        """See `CrawlLog.close`; the log stays this process's until another takes it over."""
        self.states.close()

    def _take_over(self, owner: str) -> None:
        at = self._send(None, Marker.of(owner).pack())
        try:
            self._read_on(self._look_back(at), at)
        except HeadDeleted as exc:
            self._first = exc.first
            _log.error("%s; the log goes on from the newest snapshot", exc)
            self._read_on(self._look_back(at), at)
        self._counts.takeovers += 1
        self._counts.stale += self._state.stale
        _log.info("%s: taken over at offset %d with %d events", self._state.name, at, self._state.seq)

    def _read_on(self, place: LogState, at: int) -> None:
        """Read the log from a place up to the marker of this owner."""
        self._state = place
        self._begun, self._kept_seq = self._state.copy(), self._state.seq
        self._places.see(self._state)
        for record in self._partitions.read(self._topic, self._partition, self._state.offset, at + 1):
            self._state.see(record)
            self._places.see(self._state)

    def _place_before(self, after: int) -> LogState:
        """Return where to begin reading for the events after some number."""
        if after >= self._begun.seq or after < self._places.apart:
            return self._places.before(after)
        return self._look_back(self._begun.offset, after)

    def _look_back(self, end: int, most_seq: int | None = None) -> LogState:
        """Return the newest place before some record, of so many events at most; else the beginning."""
        beginning, records = LogState(self._state.name), self._places.apart // 4
        for _ in range(_LOOKS_BACK):
            start = max(self._first, end - records)
            if not start:
                break
            for record in reversed(list(self._partitions.read(self._topic, self._partition, start, end))):
                place = LogState.unpacked(beginning.name, record.value) if record.key == PLACE_KEY else None
                if place and (most_seq is None or place.seq <= most_seq) and self._is_of_this_log(place):
                    return place
            end, records = start, 2 * records
        if self._first:
            raise HeadDeleted(self._topic, self._partition, self._first)
        return beginning

    def _is_of_this_log(self, place: LogState) -> bool:
        """Say whether a place is of this log, and not of one before it under the same name.

        If the beginning was deleted nobody knows; that of another log would be of offsets that are no more.
        """
        if self._first:
            return self._first <= place.offset
        first = LogState(place.name)
        for record in self._partitions.read(self._topic, self._partition, 0, 1):
            first.see(record)
        return first.identity == place.identity

    def _is_mine(self, at: int) -> bool:
        """Say whether a record at an offset came under this writer's marker."""
        if at < self._state.offset:
            return False  # the topic was made anew
        gap = self._partitions.read(self._topic, self._partition, self._state.offset, at)
        try:
            return all(record.key not in (None, key_of(self._state.epoch)) for record in gap)
        except LogAway as exc:
            _log.warning("%s: what came before offset %d cannot be read: %s", self._state.name, at, exc)
            return False

    def _is_still_mine(self) -> bool:
        """Ask whether nobody has taken the log over by now."""
        if self.is_away:
            return False
        start = self._state.offset
        end = self._partitions.end(self._topic, self._partition)
        gap = self._partitions.read(self._topic, self._partition, start, end)
        return start <= end and all(record.key is not None for record in gap)

    def _write(self, key: bytes, value: bytes) -> None:
        """Append a record that counts only while no other process has the log.

        Raises
        ------
        LogAway
            If another one has, or nobody knows whether the record is there.
        """
        try:
            at = self._send(key, value)
        except LogAway:
            self.is_away = True
            self._counts.unknown += 1
            raise
        if not self._is_mine(at):
            self.is_away = True
            self._counts.fenced += 1
            raise LogAway(f"{self._state.name}: {_TAKEN}")
        self._state.offset = at + 1

    def _send(self, key: bytes | None, value: bytes) -> int:
        return self._partitions.append(self._topic, self._partition, key, value)
