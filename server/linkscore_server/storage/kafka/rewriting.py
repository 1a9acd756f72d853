"""A crawl on brokers is given other groups: its new logs are written beside it, and then in its place.

A topic can neither change its name nor have fewer partitions, so the logs are written to the topic of drafts
(`Topics.draft_of`), and from there to the topic of the crawl, which is deleted in between. While the draft is
there no server opens the crawl. Its last event is a *seal*. Before that one is written the log of the crawl
is the truth, and a draft that a killed process left is worth nothing. From then on the draft is: the topic of
the crawl may be gone, or hold a part, and is made again from the draft. The step is the seal, one record.

Two processes that do this at once stop each other by markers, as owners of a log do (ADR 22). Brokers delete
topics for whoever asks: one that is held up between its last look and that request, for as long as another
takes for all of this, would delete what the other made.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import msgpack

from linkscore_scoring.errors import InvalidInput, LimitExceeded, NotFound
from linkscore_server.storage.base import LogAway
from linkscore_server.storage.kafka.log import KafkaLog
from linkscore_server.storage.kafka.moving import frames_of
from linkscore_server.storage.kafka.records import LogState
from linkscore_server.storage.kafka.store import KafkaStore
from linkscore_server.storage.remote import Write

_SEAL = b"whole"
"""Begins a seal, and no event: those are arrays of msgpack."""
_OWNER = "linkscore data"


def rewrite(store: KafkaStore, crawl: str, groups: int, write: Write) -> list[int]:
    """Put logs of other groups in the place of those of a crawl; see `RemoteLogs.rewrite`.

    Costs the brokers the log once more while both are there. Snapshots go.

    Raises
    ------
    LogAway
        If the brokers do not answer or refuse, or another process writes to the crawl or its draft.
    """
    if members := store.topics.members_of_cluster():
        raise LimitExceeded(f"{members} servers have the crawls of these topics; stop them first")
    draft = _Draft(store, crawl)
    if not draft.is_sealed():
        draft.discard()  # what was left; who may not delete topics hears of it before anything is done
        try:
            draft.write(groups, write)
        except BaseException:
            with suppress(LogAway):  # then the next call does it
                draft.discard()
            raise
    elif len(draft.logs) != groups:
        rule = f"must be {len(draft.logs)}: an earlier call has written these, and ends with them"
        raise InvalidInput(rule, field="groups")
    return draft.put_in_place()


class _Seal(NamedTuple):
    """Says that a draft is whole, and what it was made of.

    Attributes
    ----------
    first
        The first record of the topic that the crawl had: it names that one among all of this name.
    ends
        Offset behind the last record of each of its partitions.
    """

    first: bytes
    ends: list[int]

    def pack(self) -> bytes:
        """Return it as the last event of the first group."""
        packed: bytes = msgpack.packb(self)
        return _SEAL + packed

    @classmethod
    def unpacked(cls, event: bytes) -> _Seal | None:
        """Return the seal, None if this is an event of a crawl."""
        return cls(*msgpack.unpackb(event.removeprefix(_SEAL))) if event.startswith(_SEAL) else None


class _Draft:
    """Logs that take the place of a crawl's.

    Attributes
    ----------
    logs
        One for each group, taken over by this process: two that do this at once stop each other.
    """

    def __init__(self, store: KafkaStore, crawl: str) -> None:
        self._store, self._crawl = store, crawl
        self._topic, self._place = store.topics.draft_of(crawl), store.topics.log_of(crawl)
        self.logs = self._opened(self._topic, store.topics.partitions(self._topic))
        self._seal = self._found_seal()

    def is_sealed(self) -> bool:
        """Say whether it is whole."""
        return self._seal is not None

    def discard(self) -> None:
        """Delete it: the crawl is what it was."""
        self._store.topics.delete(self._topic)

    def write(self, groups: int, write: Write) -> None:
        """Write it, and seal it once nobody can have added to the log of the crawl."""
        if not (there := self._store.topics.groups(self._crawl)):
            raise NotFound(f"crawl {self._crawl!r}: there is no topic {self._place}")
        if there == groups:
            raise InvalidInput(f"is {there} already", field="groups")
        self._make(self._topic, groups)
        self.logs = self._opened(self._topic, groups)
        sources = self._opened(self._place, there)  # and whoever had one open cannot append any more
        if not any(source.last_seq for source in sources):
            raise NotFound(f"crawl {self._crawl!r}: its log holds no event")
        write(sources, self.logs)
        ends = self._ends()
        for source in sources:
            source.confirm()
        self._seal = _Seal(self._first_record(), ends)
        self.logs[0].append([self._seal.pack()])

    def put_in_place(self) -> list[int]:
        """Let it be the crawl; returns the number of the last event of each group."""
        self._check_source()
        self._check_mine()
        self._store.erase(self._crawl)  # at once: what a server adds after the look would be lost
        self._store.topics.delete(self._store.topics.visits_of(self._crawl))
        groups = len(self.logs)
        self._make(self._place, groups)
        self._store.topics.make(self._store.topics.states_of(self._crawl), groups)
        ends = [self._copied(group) for group in reversed(range(groups))]
        self._check_mine()
        self.discard()
        return ends[::-1]

    def _check_source(self) -> None:
        """Discard the draft if events came after it was written, of a server that did not see it."""
        assert self._seal is not None, "sealed"
        if self._first_record() == self._seal.first and self._ends() != self._seal.ends:
            self.discard()
            raise LogAway(f"crawl {self._crawl!r}: a server has it open; stop all, and run this again")

    def _check_mine(self) -> None:
        """Raise `LogAway` if another process does the same."""
        self.logs[0].confirm()

    def _first_record(self) -> bytes:
        """Return the value of the first record in the place of the crawl, empty if there is none."""
        brokers = self._store.brokers
        if not self._store.topics.partitions(self._place) or not brokers.end(self._place, 0):
            return b""
        return next(brokers.read(self._place, 0, 0, 1)).value

    def _ends(self) -> list[int]:
        """Return the offset behind the last record of each partition in the place of the crawl."""
        there = self._store.topics.partitions(self._place)
        return [self._store.brokers.end(self._place, group) for group in range(there)]

    def _make(self, topic: str, groups: int) -> None:
        self._store.topics.make(topic, groups)
        self._store.topics.check(topic)

    def _opened(self, topic: str, groups: int) -> Sequence[KafkaLog]:
        return [KafkaLog(self._store.brokers, topic, group, owner=_OWNER) for group in range(groups)]

    def _found_seal(self) -> _Seal | None:
        if not self.logs or not (last := self.logs[0].last_seq):
            return None
        [(_, event)] = self.logs[0].read(last - 1)
        return _Seal.unpacked(event)

    def _copied(self, group: int) -> int:
        """Append the events of a group in its place; returns the number of the last one."""
        log = KafkaLog(self._store.brokers, self._place, group, owner=_OWNER)
        begin, end = LogState(self._topic), self._store.brokers.end(self._topic, group)
        for events in frames_of(self._store, self._topic, group, begin, end):
            if not events[-1].startswith(_SEAL):
                log.append(events)
        return log.last_seq
