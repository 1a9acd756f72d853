"""A crawl on brokers is regrouped as one in files, wherever the command ends and whoever else is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

pytest.importorskip("confluent_kafka", reason="needs the extra kafka")

from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.events import ConfigChanged, encode
from linkscore_scoring.engine.groups import Shard, shards_of
from linkscore_scoring.errors import CorruptState, InvalidInput, LimitExceeded, NotFound
from linkscore_server.regroup.events import Regrouping
from linkscore_server.regroup.files import regroup
from linkscore_server.regroup.writing import write_divided
from linkscore_server.storage.base import CrawlLog, LogAway, Store
from linkscore_server.storage.files import FileStore
from linkscore_server.storage.kafka.checkpoints import OnBrokers
from linkscore_server.storage.kafka.moving import to_files
from linkscore_server.storage.kafka.rewriting import rewrite
from linkscore_server.storage.kafka.store import KafkaStore
from linkscore_server.storage.memory import MemoryStore
from support.divided_events import SITES, events_of, page_of
from support.kafka.played_brokers import PlayedBrokers, PlayedCluster, PlayedTopics

GROUPS = 4
MOST_STEPS = 1_000
Logs = list[list[bytes]]


class Ended(BaseException):
    """The process ends here."""


@pytest.fixture
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linkscore_server.regroup.writing._EVENTS_AT_ONCE", 8)


@pytest.fixture
def cluster() -> PlayedCluster:
    return PlayedCluster()


@pytest.fixture
def new_store(cluster: PlayedCluster, tmp_path: Path) -> Iterator[Callable[[], KafkaStore]]:
    made: list[KafkaStore] = []

    def new() -> KafkaStore:
        files = FileStore(tmp_path / f"process {len(made)}")
        made.append(KafkaStore(PlayedBrokers(cluster), PlayedTopics(cluster), files, f"process {len(made)}"))
        return made[-1]

    yield new
    for store in made:
        store.close()


def written(store: Store, groups: int = 1) -> Logs:
    """Make the crawl of so many groups; returns their logs."""
    logs: Logs = [[encode(event) for event in events_of()]]
    if groups > 1:
        whole = MemoryStore(keep=True).open("crawl")
        whole.append(logs[0])
        logs = [[] for _ in range(groups)]
        for group, raw in Regrouping(groups).divide([whole]):
            logs[group].append(raw)
    for shard, events in reversed([*zip(shards_of("crawl", groups), logs, strict=True)]):
        with closing(store.open(shard.key)) as log:
            for event in events:
                log.append([event])
    return logs


def logs_in(store: Store) -> Logs:
    """Return the events of each group as a server reads them."""
    found = []
    for key in store.shards():
        with closing(store.open(key)) as log:
            found.append([event for _, event in log.read()])
    return found


def regrouped_files(folder: Path, before: int = 1) -> Logs:
    with closing(FileStore(folder)) as store:
        written(store, before)
        regroup(store, "crawl", GROUPS)
        return logs_in(store)


def run(store: KafkaStore, groups: int = GROUPS) -> list[int]:
    return rewrite(store, "crawl", groups, write_divided)


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[list[FileStore]]:
    """Give the data folders of two processes."""
    made = [FileStore(tmp_path / name) for name in ("server", "command")]
    yield made
    for each in made:
        each.close()


def store_of(
    cluster: PlayedCluster, folder: FileStore, topics: type[PlayedTopics] = PlayedTopics
) -> KafkaStore:
    return KafkaStore(PlayedBrokers(cluster), topics(cluster), folder, folder.folder.name)


def is_half_way(cluster: PlayedCluster) -> bool:
    """Say whether the command has to be run again: not only if it has not begun."""
    return "p.draft.crawl" in cluster.topics or len(cluster.topics["p.log.crawl"]) != GROUPS


def befalls(error: BaseException, step: int, *, is_for_good: bool) -> Callable[[str], None]:
    """Return what raises an error at one step, or from then on."""
    left = step

    def reached(what: str) -> None:
        nonlocal left
        left -= 1
        if left == 0 or (is_for_good and left < 0):
            raise error

    return reached


@pytest.mark.parametrize("groups", [2, GROUPS, 16])
def test_the_logs_are_those_of_files(
    groups: int, new_store: Callable[[], KafkaStore], tmp_path: Path, cluster: PlayedCluster
) -> None:
    with closing(FileStore(tmp_path / "files")) as files:
        written(files)
        ends = regroup(files, "crawl", groups)
        right = logs_in(files)
    store = new_store()
    written(store)
    assert run(store, groups) == ends
    assert logs_in(new_store()) == right
    assert {name: len(partitions) for name, partitions in cluster.topics.items()} == {
        "p.log.crawl": groups,
        "p.states.crawl": groups,
    }


@pytest.mark.long
@pytest.mark.usefixtures("few_at_once")
@pytest.mark.parametrize(
    ("error", "is_for_good"), [(Ended(), True), (LogAway("away"), True), (LogAway("away"), False)]
)
@pytest.mark.parametrize("before", [1, 3])
def test_wherever_it_ends_the_crawl_is_whole_or_closed_and_the_next_call_ends_right(
    error: BaseException, is_for_good: bool, before: int, folders: list[FileStore], tmp_path: Path
) -> None:
    right = regrouped_files(tmp_path / "right", before)
    seen = set()
    for step in range(1, MOST_STEPS):
        cluster = PlayedCluster()
        server, command = (store_of(cluster, folder) for folder in folders)
        was = written(server, before)
        cluster.step = befalls(error, step, is_for_good=is_for_good)
        with suppress(Ended, LogAway):
            run(command)
            break
        cluster.step = lambda what: None
        try:
            server.open(Shard("crawl", 0, before).key).close()
        except LogAway:
            seen.add("closed")
        except CorruptState:
            assert logs_in(server) == right
        else:
            seen.add("as it was")
            assert logs_in(server) == was
        if is_half_way(cluster):
            run(store_of(cluster, folders[1]))
        assert logs_in(server) == right
    assert 40 < step < MOST_STEPS - 1
    assert seen == {"as it was", "closed"}


class Blind(PlayedTopics):
    """Topics as a server sees them whose broker has not heard of the newest."""

    def partitions(self, topic: str) -> int:
        return 0 if topic == self.draft_of("crawl") else super().partitions(topic)


class Server:
    """Has the crawl open or opens it, and sends it an event before or after some step of the command.

    One that does not see the draft comes until the log of the crawl is about to be deleted: the command looks
    just before.
    """

    def __init__(
        self, store: KafkaStore, shard: str, step: int, *, has_it_open: bool, is_blind: bool
    ) -> None:
        self.store, self.shard, self.left, self.is_blind = store, shard, step, is_blind
        self.logs: list[CrawlLog] = [store.open(shard)] if has_it_open else []
        self.event = encode(page_of(SITES[0], 1_000))
        self.has_come, self.acknowledged = False, 0

    def step(self, what: str) -> None:
        self.left -= 1
        if self.left == 0 and not (self.is_blind and what == "delete p.log.crawl"):
            self.has_come = True
            for log in self.logs:
                with suppress(LogAway):
                    log.append([self.event])
                    self.acknowledged += 1
            with suppress(LogAway, CorruptState):
                self.store.open(self.shard).append([self.event])
                self.acknowledged += 1
        elif what == "delete p.log.crawl":
            self.left = -1 if self.is_blind else self.left


@pytest.mark.long
@pytest.mark.usefixtures("few_at_once")
@pytest.mark.parametrize("is_blind", [False, True])
@pytest.mark.parametrize("has_it_open", [False, True])
@pytest.mark.parametrize("shard", ["crawl", "crawl@1-of-3"])
def test_what_a_server_acknowledged_meanwhile_is_not_lost(
    shard: str, is_blind: bool, has_it_open: bool, folders: list[FileStore]
) -> None:
    acknowledged = 0
    for step in range(1, MOST_STEPS):
        cluster = PlayedCluster()
        server = store_of(cluster, folders[0], Blind if is_blind else PlayedTopics)
        command = store_of(cluster, folders[1])
        written(server, Shard.of(shard).groups)
        comes = Server(server, shard, step, has_it_open=has_it_open, is_blind=is_blind)
        cluster.step = comes.step
        with suppress(LogAway):
            run(command)
        cluster.step = lambda what: None
        if not comes.has_come:
            break
        if is_half_way(cluster):
            run(command)
        found = logs_in(command)
        assert len(found) == GROUPS
        assert sum(log.count(comes.event) for log in found) == comes.acknowledged
        acknowledged += comes.acknowledged
    assert 10 < step < MOST_STEPS - 1
    assert acknowledged > 0


@pytest.mark.long
@pytest.mark.usefixtures("few_at_once")
def test_of_two_commands_at_once_one_ends_and_the_crawl_is_whole(
    folders: list[FileStore], tmp_path: Path
) -> None:
    right = regrouped_files(tmp_path / "right")
    for step in range(1, MOST_STEPS):
        cluster = PlayedCluster()
        first, second = (store_of(cluster, folder) for folder in folders)
        written(first)
        comes = Second(cluster, second, step)
        cluster.step = comes.step
        with suppress(LogAway, InvalidInput):
            run(first)
        if comes.left > 0:
            break
        assert logs_in(first) == right
    assert 40 < step < MOST_STEPS - 1


class Second:
    """Regroups the crawl too, before or after some step of the first command.

    But not between its last look and the deletion that follows at once: brokers delete for whoever asks.
    """

    def __init__(self, cluster: PlayedCluster, store: KafkaStore, step: int) -> None:
        self.cluster, self.store, self.left = cluster, store, step

    def step(self, what: str) -> None:
        self.left -= what != "delete p.log.crawl"
        if self.left == 0:
            self.left = -1
            self.cluster.step = lambda what: None
            run(self.store)


def run_until(place: str, store: KafkaStore, cluster: PlayedCluster) -> None:
    """Run the command until it ends at a step, and does nothing more."""
    has_ended = False

    def ends(what: str) -> None:
        nonlocal has_ended
        if has_ended := has_ended or what == place:
            raise Ended

    cluster.step = ends
    with pytest.raises(Ended):
        run(store)
    cluster.step = lambda what: None


@pytest.mark.parametrize("place", ["append to p.draft.crawl [1]", "append to p.log.crawl [0]"])
def test_servers_are_sent_away_and_no_half_crawl_is_exported_or_deleted(
    place: str, new_store: Callable[[], KafkaStore], cluster: PlayedCluster, folders: list[FileStore]
) -> None:
    written(store := new_store())
    run_until(place, store, cluster)
    said = "crawl 'crawl': is being regrouped; if `linkscore data regroup` was ended, run it again"
    for asked in (store.open, store.delete, lambda crawl: to_files(store, crawl, folders[0])):
        with pytest.raises(LogAway, match=said):
            asked("crawl")


def test_what_a_sealed_draft_has_is_ended_with_and_nothing_else(
    new_store: Callable[[], KafkaStore], cluster: PlayedCluster
) -> None:
    written(store := new_store())
    run_until("deleted p.log.crawl", store, cluster)
    with pytest.raises(InvalidInput, match=r"groups: must be 4: an earlier call"):
        run(new_store(), 8)
    assert len(run(new_store())) == GROUPS


def test_who_may_not_delete_topics_hears_of_it_before_anything_is_made(
    new_store: Callable[[], KafkaStore], cluster: PlayedCluster
) -> None:
    written(store := new_store())
    before = {name: [list(records) for records in found] for name, found in cluster.topics.items()}
    cluster.step = befalls(LogAway("p.draft.crawl cannot be deleted: not authorized"), 1, is_for_good=False)
    with pytest.raises(LogAway, match="not authorized"):
        run(store)
    assert cluster.topics == before


class Elsewhere(OnBrokers):
    """Keeps snapshots beside the brokers, and remembers which were deleted."""

    def __init__(self) -> None:
        self.deleted: list[str] = []

    def delete(self, topic: str, partition: int | None = None) -> None:
        self.deleted.append(topic)


def test_snapshots_that_are_kept_elsewhere_go_with_the_log_they_are_of(
    cluster: PlayedCluster, folders: list[FileStore]
) -> None:
    place = Elsewhere()
    store = KafkaStore(PlayedBrokers(cluster), PlayedTopics(cluster), folders[0], "", place)
    written(store)
    run_until("deleted p.states.crawl", store, cluster)
    assert place.deleted == []
    run(store)
    assert place.deleted == ["p.states.crawl"]


def test_what_cannot_be_regrouped_is_refused_and_left_as_it_was(
    new_store: Callable[[], KafkaStore], cluster: PlayedCluster
) -> None:
    store = new_store()
    with pytest.raises(NotFound, match=r"crawl 'crawl': there is no topic p\.log\.crawl"):
        run(store)
    with closing(store.open("crawl")), pytest.raises(NotFound, match="holds no event"):
        run(store)
    config = CrawlConfig("crawl", policy=PolicyChoice("anthelion", {}))
    with closing(store.open("crawl")) as log:
        log.append([created := encode(ConfigChanged(config.to_state()))])
    with pytest.raises(InvalidInput, match="groups: must be 1: anthelion learns one model from all sites"):
        run(store)
    assert logs_in(store) == [[created]]
    cluster.members = 2
    with pytest.raises(LimitExceeded, match="2 servers have the crawls of these topics; stop them first"):
        run(store)


def test_a_crawl_of_several_groups_is_as_in_files(
    new_store: Callable[[], KafkaStore], tmp_path: Path
) -> None:
    store = new_store()
    written(store)
    run(store)
    with pytest.raises(InvalidInput, match="groups: is 4 already"):
        run(store)
    run(store, 3)
    with closing(FileStore(tmp_path / "right")) as files:
        written(files)
        regroup(files, "crawl", GROUPS)
        regroup(files, "crawl", 3)
        assert logs_in(store) == logs_in(files)
