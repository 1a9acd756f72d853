"""Logs on brokers: taken over, fenced, recovered; whatever was acknowledged is there, once."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgpack
import pytest

pytest.importorskip("confluent_kafka", reason="needs the extra kafka")

from linkscore_scoring.errors import CorruptState
from linkscore_server.storage.base import LogAway
from linkscore_server.storage.files import open_states
from linkscore_server.storage.formats import SEGMENT_HEADER
from linkscore_server.storage.frames import pack
from linkscore_server.storage.kafka import brokers as brokers_room
from linkscore_server.storage.kafka.brokers import Brokers, HeadDeleted
from linkscore_server.storage.kafka.counts import Counts
from linkscore_server.storage.kafka.log import KafkaLog
from linkscore_server.storage.kafka.records import PLACE_KEY, LogState, Marker, Record, key_of
from support.kafka.mock_brokers import MockBrokers

_names = (f"log-{n}" for n in itertools.count())


@pytest.fixture(scope="module")
def mock() -> MockBrokers:
    return MockBrokers()


@pytest.fixture(scope="module")
def brokers(mock: MockBrokers) -> Iterator[Brokers]:
    brokers = Brokers(mock.hosts)
    yield brokers
    brokers.close()


def test_one_client_asks_all_questions(brokers: Brokers, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(brokers_room, "Consumer", None)  # none is made
    for n in range(3):
        brokers.append(topic, 0, b"key", b"value")
        assert (brokers.begin(topic, 0), brokers.end(topic, 0)) == (0, n + 1)
    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(lambda _: brokers.end(topic, 0), range(100))) == {3}


@pytest.fixture
def topic(mock: MockBrokers) -> str:
    return mock.make(next(_names))


def events_of(log: KafkaLog, after: int = 0) -> list[bytes]:
    return [event for _, event in log.read(after)]


class Answerless:
    """Brokers that do what they are asked and never say so, from some moment on."""

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers
        self.is_silent = False

    def append(self, *record: Any) -> int:
        at = self._brokers.append(*record)
        if self.is_silent:
            raise LogAway("no answer")
        return at

    def read(self, *where: Any) -> Any:
        return self._brokers.read(*where)

    def end(self, *where: Any) -> int:
        return self._brokers.end(*where)


class Counting(Answerless):
    """Brokers that count the records they give."""

    records = 0

    def read(self, *where: Any) -> Iterator[Record]:
        for record in super().read(*where):
            self.records += 1
            yield record


class Trimmed(Answerless):
    """Brokers that have deleted what came before some offset."""

    first = 0

    def read(self, topic: str, partition: int, start: int, end: int) -> Iterator[Record]:
        if start < min(self.first, end):
            raise HeadDeleted(topic, partition, self.first)
        return iter(list(super().read(topic, partition, start, end)))


def long_log(brokers: Brokers, topic: str, *, places_apart: int = 20) -> KafkaLog:
    """Return a log of 600 events, one a record, by two owners."""
    log = KafkaLog(brokers, topic, 0, owner="a", places_apart=places_apart)
    for n in range(600):
        if n == 300:
            log = KafkaLog(brokers, topic, 0, owner="b", places_apart=places_apart)
        log.append([b"%d" % n])
    return log


def test_what_was_appended_is_read_again_by_the_next_owner(brokers: Brokers, topic: str) -> None:
    first = KafkaLog(brokers, topic, 0, owner="a")
    first.append([b"x", b"y"])
    first.append([b"z"])
    again = KafkaLog(brokers, topic, 0, owner="b")
    assert again.last_seq == 3
    assert list(again.read()) == [(1, b"x"), (2, b"y"), (3, b"z")]
    assert list(again.read(2)) == [(3, b"z")]


def test_who_has_lost_a_log_hears_it_when_it_asks(brokers: Brokers, topic: str) -> None:
    first = KafkaLog(brokers, topic, 0, owner="a")
    first.append([b"x"])
    first.confirm()
    second = KafkaLog(brokers, topic, 0, owner="b")
    for _ in range(2):
        with pytest.raises(LogAway, match="another process"):
            first.confirm()
    assert first.is_away
    second.append([b"y"])
    second.confirm()
    assert not second.is_away


def test_what_came_late_of_an_earlier_owner_takes_no_log_away(brokers: Brokers, topic: str) -> None:
    first = KafkaLog(brokers, topic, 0, owner="a")
    second = KafkaLog(brokers, topic, 0, owner="b")
    first._send(key_of(first._state.epoch), pack(1, [b"late"]))
    second.confirm()
    assert not second.is_away


def test_a_log_that_was_made_anew_is_another_one(brokers: Brokers, topic: str) -> None:
    class Emptied(Answerless):
        def end(self, *where: Any) -> int:
            return 0

    log = KafkaLog(Emptied(brokers), topic, 0, owner="a")
    with pytest.raises(LogAway):
        log.confirm()


def test_reading_may_start_anywhere(brokers: Brokers, topic: str) -> None:
    log = KafkaLog(brokers, topic, 0, owner="a")
    for n in range(25):
        log.append([bytes([n, k]) for k in range(100)])
    again = KafkaLog(brokers, topic, 0, owner="b")
    for reader, after in itertools.product((log, again), (0, 1, 99, 1_000, 1_234, 2_499, 2_500)):
        assert [seq for seq, _ in reader.read(after)] == list(range(after + 1, 2_501))


def test_of_a_long_log_what_is_near_its_end_is_read(brokers: Brokers, topic: str) -> None:
    written, counting = long_log(brokers, topic), Counting(brokers)
    log = KafkaLog(counting, topic, 0, owner="c", places_apart=20)
    assert (log.last_seq, counting.records < 60) == (600, True)
    log.append([b"next"])
    whole = KafkaLog(brokers, topic, 0, owner="d", places_apart=1_000_000)
    for after in (0, 1, 19, 20, 299, 300, 301, 480, 560, 599, 600):
        assert list(log.read(after)) == list(whole.read(after))[: 601 - after]
        assert list(written.read(after)) == list(whole.read(after))[: 600 - after]
    counting.records = 0
    assert len(list(log.read(480))) == 121
    assert counting.records < 300  # looked for a place, and read from there


@pytest.mark.parametrize("first", [1, 30, 330, 500])
def test_a_log_without_its_head_goes_on_from_a_place(brokers: Brokers, topic: str, first: int) -> None:
    long_log(brokers, topic)
    trimmed = Trimmed(brokers)
    trimmed.first = first
    log = KafkaLog(trimmed, topic, 0, owner="c", places_apart=20)
    log.append([b"600"])
    again = KafkaLog(trimmed, topic, 0, owner="d", places_apart=20)
    assert [int(event) for _, event in again.read(595)] == list(range(595, 601))
    with pytest.raises(CorruptState, match=f"what came before offset {first} was deleted by the brokers"):
        list(again.read(0))


def test_a_log_without_head_and_place_is_named(brokers: Brokers, topic: str) -> None:
    long_log(brokers, topic, places_apart=1_000_000)
    trimmed = Trimmed(brokers)
    trimmed.first = 400
    with pytest.raises(CorruptState, match="what came before offset 400 was deleted by the brokers"):
        KafkaLog(trimmed, topic, 0, owner="c")


def test_a_log_without_places_is_read_whole(brokers: Brokers, topic: str) -> None:
    long_log(brokers, topic, places_apart=1_000_000)
    log = KafkaLog(brokers, topic, 0, owner="c", places_apart=20)
    assert [event for _, event in log.read(597)] == [b"597", b"598", b"599"]
    assert len(events_of(log)) == 600


@pytest.mark.parametrize("kind", ["foreign", "damaged", "of nothing"])
def test_a_place_that_is_none_of_this_log_is_passed_over(brokers: Brokers, topic: str, kind: str) -> None:
    long_log(brokers, topic)
    state = LogState(topic)
    state.offset, state.seq, state.identity = 3, 590, "ab" * 16
    value = {"foreign": state.pack(), "damaged": state.pack()[:-1], "of nothing": b""}[kind]
    brokers.append(topic, 0, PLACE_KEY, value)
    log = KafkaLog(brokers, topic, 0, owner="c", places_apart=20)
    assert (log.last_seq, len(events_of(log))) == (600, 600)


def test_a_place_told_late_by_an_owner_that_lost_the_log_is_as_true(brokers: Brokers, topic: str) -> None:
    log = long_log(brokers, topic)
    told = log._state.pack()
    new = KafkaLog(brokers, topic, 0, owner="c", places_apart=20)
    for n in range(15):
        new.append([b"new %d" % n])
    brokers.append(topic, 0, PLACE_KEY, told)
    again = KafkaLog(brokers, topic, 0, owner="d", places_apart=20)
    assert [event for _, event in again.read(600)] == [b"new %d" % n for n in range(15)]


def test_a_log_begun_anew_knows_no_place_of_before(brokers: Brokers, topic: str) -> None:
    long_log(brokers, topic)
    brokers.append(topic, 0, None, Marker.of("a", voids=True).pack())
    new = KafkaLog(brokers, topic, 0, owner="b", places_apart=20)
    for n in range(100):
        new.append([b"%d" % n])
    again = KafkaLog(brokers, topic, 0, owner="c", places_apart=20)
    assert events_of(again) == [b"%d" % n for n in range(100)]


def test_partitions_of_a_topic_are_logs_of_their_own(brokers: Brokers, topic: str) -> None:
    logs = [KafkaLog(brokers, topic, n, owner="a") for n in range(2)]
    logs[1].append([b"second"])
    assert [KafkaLog(brokers, topic, n, owner="b").last_seq for n in range(2)] == [0, 1]


def test_who_lost_a_log_is_told_and_what_it_wrote_does_not_count(brokers: Brokers, topic: str) -> None:
    counts = Counts()
    old = KafkaLog(brokers, topic, 0, owner="old", counts=counts)
    old.append([b"1"])
    new = KafkaLog(brokers, topic, 0, owner="new")
    with pytest.raises(LogAway, match="taken these sites over"):
        old.append([b"lost"])
    assert (old.is_away, old.last_seq, counts.fenced) == (True, 1, 1)
    new.append([b"2"])  # after the frame of the old one
    assert (new.is_away, new.last_seq) == (False, 2)
    with pytest.raises(LogAway):
        old.append([b"lost too"])
    third = KafkaLog(brokers, topic, 0, owner="third", counts=counts)
    assert events_of(third) == [b"1", b"2"]
    assert (counts.stale, counts.takeovers) == (1, 2)


def test_a_frame_whose_fate_is_unknown_is_given_up_and_counts_if_it_came_in_time(
    brokers: Brokers, topic: str
) -> None:
    silent, counts = Answerless(brokers), Counts()
    log = KafkaLog(silent, topic, 0, owner="a", counts=counts)
    silent.is_silent = True
    with pytest.raises(LogAway):
        log.append([b"perhaps"])
    silent.is_silent = False
    with pytest.raises(LogAway, match="opened again"):
        log.append([b"next"])
    again = KafkaLog(silent, topic, 0, owner="a")
    assert (events_of(again), counts.unknown) == ([b"perhaps"], 1)


def test_a_frame_that_comes_after_the_takeover_does_not_count(brokers: Brokers, topic: str) -> None:
    log = KafkaLog(brokers, topic, 0, owner="a")
    log.append([b"1"])
    again = KafkaLog(brokers, topic, 0, owner="a")
    brokers.append(topic, 0, key_of(0), pack(2, [b"late"]))  # of the first, held up on its way
    again.append([b"2"])
    assert events_of(again) == [b"1", b"2"]
    assert events_of(KafkaLog(brokers, topic, 0, owner="b")) == [b"1", b"2"]


def test_two_who_take_a_log_from_each_other_lose_nothing(brokers: Brokers, topic: str) -> None:
    acknowledged = []
    for n in range(20):
        log = KafkaLog(brokers, topic, 0, owner="ab"[n % 2])
        event = b"%d" % n
        log.append([event])
        acknowledged.append(event)
    assert events_of(KafkaLog(brokers, topic, 0, owner="c")) == acknowledged


@pytest.mark.parametrize("places_apart", [1, 5, 1_000])
def test_rivals_lose_and_double_nothing(brokers: Brokers, topic: str, places_apart: int) -> None:
    acknowledged: list[bytes] = []
    counts = [Counts() for _ in range(3)]

    def rival(number: int) -> None:
        def take_over() -> KafkaLog:
            return KafkaLog(
                brokers, topic, 0, owner=str(number), counts=counts[number], places_apart=places_apart
            )

        log = take_over()
        for n in range(60):
            if log.is_away:
                log = take_over()
            event = b"%d of %d" % (n, number)
            try:
                log.append([event])
            except LogAway:
                continue
            acknowledged.append(event)

    rivals = [threading.Thread(target=rival, args=(n,)) for n in range(3)]
    for thread in rivals:
        thread.start()
    for thread in rivals:
        thread.join()
    found = events_of(KafkaLog(brokers, topic, 0, owner="judge"))
    assert sorted(found) == sorted(acknowledged)  # no append was left without an answer here
    assert len(found) == len(set(found)) > 0
    assert sum(count.takeovers for count in counts) > 3
    assert sum(count.fenced for count in counts) == 180 - len(found)


def test_a_repeated_frame_counts_once(brokers: Brokers, topic: str) -> None:
    log = KafkaLog(brokers, topic, 0, owner="a")
    log.append([b"1"])
    brokers.append(topic, 0, key_of(0), pack(1, [b"1"]))
    assert events_of(KafkaLog(brokers, topic, 0, owner="b")) == [b"1"]


def test_a_missing_event_is_named(brokers: Brokers, topic: str) -> None:
    KafkaLog(brokers, topic, 0, owner="a")
    brokers.append(topic, 0, key_of(0), pack(3, [b"third"]))
    with pytest.raises(CorruptState, match=rf"{topic} \[0\] at offset 1: event 3 where 1 should be"):
        KafkaLog(brokers, topic, 0, owner="b")


def test_a_damaged_frame_is_named(brokers: Brokers, topic: str) -> None:
    KafkaLog(brokers, topic, 0, owner="a")
    brokers.append(topic, 0, key_of(0), pack(1, [b"first"])[:-1] + b"?")
    with pytest.raises(CorruptState, match="at offset 1: damaged frame"):
        KafkaLog(brokers, topic, 0, owner="b")


@pytest.mark.parametrize("damaged", [b"", b"\xc1", msgpack.packb([1]), msgpack.packb([None, "a", False])])
def test_a_damaged_marker_is_named(brokers: Brokers, topic: str, damaged: bytes) -> None:
    brokers.append(topic, 0, None, SEGMENT_HEADER + damaged)
    with pytest.raises(CorruptState, match=rf"{topic} \[0\] at offset 0: no marker of a linkscore log"):
        KafkaLog(brokers, topic, 0, owner="b")


def test_a_topic_of_something_else_is_refused(brokers: Brokers, topic: str) -> None:
    brokers.append(topic, 0, None, b"hello")
    with pytest.raises(CorruptState, match="at offset 0: no record of a linkscore log"):
        KafkaLog(brokers, topic, 0, owner="a")


def test_a_log_begun_anew_is_another_one(brokers: Brokers, topic: str, tmp_path: Path) -> None:
    def states_of(log: LogState) -> Any:
        folders.append(log.identity)
        return open_states(tmp_path / log.identity)

    folders: list[str] = []
    log = KafkaLog(brokers, topic, 0, owner="a", states_of=states_of)
    log.append([b"old"])
    log.states.commit(1, b"state after the old event")
    log.close()
    KafkaLog(brokers, topic, 0, owner="a", states_of=states_of).close()
    brokers.append(topic, 0, None, Marker.of("a", voids=True).pack())
    with pytest.raises(LogAway):
        log.append([b"lost"])
    new = KafkaLog(brokers, topic, 0, owner="b", states_of=states_of)
    new.append([b"new"])
    assert (events_of(new), new.states.seq) == ([b"new"], 0)
    assert folders[0] == folders[1] != folders[2]
    new.close()


def test_a_snapshot_that_knows_more_than_the_log_is_dropped(
    brokers: Brokers, topic: str, tmp_path: Path
) -> None:
    states = open_states(tmp_path / "sites.db")
    states.commit(7, b"state")
    log = KafkaLog(brokers, topic, 0, owner="a", states_of=lambda _: states)
    assert (log.last_seq, log.states.seq) == (0, 0)
    log.close()


def test_a_record_that_is_too_large_is_refused_and_the_log_goes_on(mock: MockBrokers, topic: str) -> None:
    brokers = Brokers(mock.hosts, record_bytes=10_000)
    log = KafkaLog(brokers, topic, 0, owner="a")
    with pytest.raises(OSError, match="bytes") as refused:
        log.append([random.Random(1).randbytes(20_000)])  # which nothing compresses
    assert not isinstance(refused.value, LogAway)
    log.append([b"next"])
    assert events_of(log) == [b"next"]
    brokers.close()


class LateNews:
    """A consumer whose broker hears of a new topic a moment later than the one that made it."""

    def __init__(self, asked: Any, misses: int, code: str = "_UNKNOWN_PARTITION") -> None:
        self.asked, self.left, self.code = asked, misses, code

    def get_watermark_offsets(self, place: Any, timeout: float) -> tuple[int, int]:
        self.left -= 1
        if self.left >= 0:
            error = brokers_room.KafkaError
            raise brokers_room.KafkaException(error(getattr(error, self.code)))
        found: tuple[int, int] = self.asked.get_watermark_offsets(place, timeout=timeout)
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self.asked, name)


def test_a_topic_that_a_broker_has_not_heard_of_is_asked_for_again(
    brokers: Brokers, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    brokers.append(topic, 0, None, b"record")
    asking = brokers._asking
    for code in ("_UNKNOWN_PARTITION", "UNKNOWN_TOPIC_OR_PART", "NOT_LEADER_FOR_PARTITION"):
        monkeypatch.setattr(brokers, "_asking", LateNews(asking, 2, code))
        assert brokers.end(topic, 0) == 1
    monkeypatch.setattr(brokers_room, "_NEWS_S", 0.2)
    monkeypatch.setattr(brokers, "_asking", LateNews(asking, 1_000))
    with pytest.raises(LogAway, match="UNKNOWN_PARTITION"):
        brokers.end(topic, 0)
