"""Settings of topics: what could lose an acknowledged page is refused by name."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

pytest.importorskip("confluent_kafka", reason="needs the extra kafka")

from linkscore_scoring.engine.groups import shards_of
from linkscore_scoring.errors import CorruptState
from linkscore_server.storage.kafka import brokers, properties
from linkscore_server.storage.kafka.topics import Topics, problems, settings_of

GOOD = settings_of(3)


def test_what_linkscore_makes_it_takes() -> None:
    assert problems(GOOD, 3, 3) == []
    assert problems(settings_of(1), 1, 1) == []


def test_stricter_settings_are_fine() -> None:
    assert problems({**GOOD, "min.insync.replicas": "3", "max.message.bytes": "999999999"}, 5, 3) == []


@pytest.mark.parametrize(
    ("name", "value", "must"),
    [
        ("cleanup.policy", "compact", "must be delete"),
        ("min.insync.replicas", "1", "must be 2 or more"),
        ("max.message.bytes", "1048588", "must be 67108864 or more"),
        ("retention.ms", "604800000", "must be -1"),
        ("retention.bytes", "1073741824", "must be -1"),
        ("unclean.leader.election.enable", "true", "must be false"),
    ],
)
def test_a_wrong_setting_is_named(name: str, value: str, must: str) -> None:
    assert problems({**GOOD, name: value}, 3, 3) == [f"{name} is {value}, {must}"]


def test_topics_of_snapshots_must_be_compacted_and_may_have_smaller_records() -> None:
    good = settings_of(3, compacted=True)
    assert problems(good, 3, 3, compacted=True) == []
    assert problems(GOOD, 3, 3, compacted=True) == ["cleanup.policy is delete, must be compact"]
    assert int(good["max.message.bytes"]) < int(GOOD["max.message.bytes"])


def test_a_setting_that_is_not_told_is_wrong() -> None:
    told = {name: value for name, value in GOOD.items() if name != "retention.ms"}
    assert problems(told, 3, 3) == ["retention.ms is unknown, must be -1"]


def test_too_few_replicas_are_named() -> None:
    assert problems(GOOD, 2, 3)[0] == "has 2 replicas, must have 3 or more"


def test_that_every_replica_must_confirm_is_refused() -> None:
    (wrong,) = problems({**GOOD, "min.insync.replicas": "3"}, 3, 3)
    assert wrong.startswith("min.insync.replicas must be less than its 3 replicas")


def test_properties_that_linkscore_sets_are_all_refused_in_the_file() -> None:
    client = brokers.Brokers("127.0.0.1:1")
    own = {*client.properties, *brokers._PRODUCER, *brokers._CONSUMER, "fetch.message.max.bytes"}
    client.close()
    assert own == properties.OWN


class Listed(Topics):
    """Topics that are listed as a test says."""

    def __init__(self, listed: dict[str, int], groups: int) -> None:
        self.asked: list[str] = []
        super().__init__(None, "p", 3, lambda topic: self.asked.append(topic) or groups)  # type: ignore[arg-type, func-returns-value]
        self.listed = listed

    def _listed(self, *topic: str) -> dict[str, int]:
        return {name: n for name, n in self.listed.items() if not topic or name in topic}


@pytest.mark.parametrize(
    ("log", "states", "said", "groups", "asked"),
    [
        (4, 4, 4, 4, False),
        (6, 4, 4, 4, True),  # somebody added two
        (6, 0, 0, 6, True),  # no event yet: it is being made
        (2, 4, 4, 2, True),  # a crawl of this name before had four
        (1, 0, 1, 1, True),
    ],
)
def test_a_crawl_has_the_groups_that_its_first_event_says(
    log: int, states: int, said: int, groups: int, asked: bool
) -> None:
    topics = Listed({"p.log.books": log, "p.states.books": states, "p.owners": 64}, said)
    assert topics.shards() == shards_of("books", groups)
    assert topics.groups("books") == groups
    assert bool(topics.asked) == asked


class Kept(Listed):
    """Topics whose settings a test sees."""

    def __init__(self, listed: dict[str, int], retention_ms: str) -> None:
        super().__init__(listed, 0)
        self.changes: list[tuple[str, str]] = []
        self._retention_ms = retention_ms

    def make(self, topic: str, partitions: int, **settings: str) -> None:
        self.changes.append((topic, settings["retention.ms"]))

    def _settings(self, topic: str) -> tuple[dict[str, str], int]:
        return {"retention.ms": self._retention_ms}, 3

    def _set(self, topic: str, settings: Mapping[str, str]) -> None:
        self.changes.append((topic, *settings.values()))


@pytest.mark.parametrize(
    ("partitions", "retention_ms", "changes"),
    [(0, "", [("v", "60000")]), (4, "60000", []), (5, "-1", [("v", "60000")])],
)
def test_a_topic_of_visits_keeps_them_for_the_time_that_is_set(
    partitions: int, retention_ms: str, changes: list[tuple[str, str]]
) -> None:
    topics = Kept({"v": partitions} if partitions else {}, retention_ms)
    topics.make_kept("v", 4, 60.0)
    assert topics.changes == changes


def test_a_topic_of_visits_with_too_few_partitions_is_refused_by_name() -> None:
    with pytest.raises(CorruptState, match="topic v: has 2 partitions, its crawl 4 groups"):
        Kept({"v": 2}, "60000").make_kept("v", 4, 60.0)
