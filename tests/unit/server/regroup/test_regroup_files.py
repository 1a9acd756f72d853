"""A crawl is regrouped whole or not at all, wherever the process ends, and its events are all there."""

from __future__ import annotations

import shutil
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgpack
import pytest

from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.events import (
    BrowseBatchImported,
    ConfigChanged,
    Event,
    LearningFailed,
    LearningRequested,
    ModelActivated,
    PageFetched,
    decode,
    encode,
)
from linkscore_scoring.engine.groups import Shard, group_of, shards_of
from linkscore_scoring.errors import CorruptState, InvalidInput, NotFound
from linkscore_scoring.state import digest
from linkscore_server.regroup.files import regroup
from linkscore_server.storage import failpoints
from linkscore_server.storage.base import Snapshot
from linkscore_server.storage.check import problems_of_store
from linkscore_server.storage.files import FileStore
from linkscore_server.storage.replays import crawl_in
from support.divided_events import CONFIG, SITES, events_of, page_of

FIXTURES = Path(__file__).parents[3] / "fixtures"
GROUPS = 4


class Ended(BaseException):
    """The process ends here."""


def write(store: FileStore, events: list[Event], crawl: str = "crawl") -> None:
    with closing(store.open(crawl)) as log:
        for event in events:
            log.append([encode(event)])


def logs_of(store: FileStore, groups: int = GROUPS) -> list[list[Event]]:
    read = []
    for shard in shards_of("crawl", groups):
        with closing(store.open(shard.key)) as log:
            read.append([decode(raw) for _, raw in log.read()])
    return read


def of_site(events: list[Event]) -> dict[str, list[Event]]:
    found: dict[str, list[Event]] = {}
    for event in events:
        found.setdefault(getattr(event, "site", ""), []).append(event)
    return found


def folder_as_it_is(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_each_site_keeps_its_events_in_order_in_the_log_of_its_group(tmp_path: Path) -> None:
    with closing(FileStore(tmp_path)) as store:
        write(store, events := events_of())
        ends = regroup(store, "crawl", GROUPS)
        logs = logs_of(store)
        assert store.shards() == [shard.key for shard in shards_of("crawl", GROUPS)]
        assert list(problems_of_store(store)) == []
    assert ends == [len(log) for log in logs]
    before, numbered = of_site(events), (ModelActivated, LearningFailed, ConfigChanged)
    for group, log in enumerate(logs):
        for site, those in of_site(log).items():
            assert not site or group_of(site, GROUPS) == group
            kept, was = ([e for e in some if not isinstance(e, numbered)] for some in (those, before[site]))
            assert kept == was


def test_all_groups_are_told_of_each_change_under_its_number(tmp_path: Path) -> None:
    with closing(FileStore(tmp_path)) as store:
        write(store, events_of())
        regroup(store, "crawl", GROUPS)
        logs = logs_of(store)
    for log in logs:
        said = [CrawlConfig.from_state(event.config) for event in log if isinstance(event, ConfigChanged)]
        assert [config.revision for config in said] == [0, 1, 2, 3]
        assert {(config.groups, config.ticket_scope) for config in said} == {(GROUPS, CONFIG.ticket_scope)}


def test_what_was_learned_names_the_event_it_was_learned_from(tmp_path: Path) -> None:
    with closing(FileStore(tmp_path)) as store:
        write(store, events := events_of())
        regroup(store, "crawl", GROUPS)
        logs = logs_of(store)
    learned = [(log, event) for log in logs for event in log if isinstance(event, ModelActivated)]
    assert len(learned) == 3
    for log, event in learned:
        [was] = [e for e in events if isinstance(e, ModelActivated) and e.site == event.site]
        assert (
            log[event.built_from_seq - 1] == events[was.built_from_seq - 1] == LearningRequested(event.site)
        )
        assert event.learned == {**was.learned, "built_from_seq": event.built_from_seq}
        assert event.digest == digest(event.learned)
        assert LearningFailed(event.site, event.built_from_seq) in log


def ends(count: int) -> Any:
    """Return what ends the process when it is called the `count`-th time."""
    left = count

    def reached(place: str) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise Ended

    return reached


@pytest.mark.long
def test_wherever_it_ends_the_crawl_is_whole_and_the_next_call_ends_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linkscore_server.regroup.writing._EVENTS_AT_ONCE", 4)
    with closing(FileStore(tmp_path / "right")) as store:
        write(store, events_of())
        was = folder_as_it_is(store.folder / "crawls")
        regroup(store, "crawl", GROUPS)
        right = logs_of(store)
    for step in range(1, 1_000):
        folder = tmp_path / str(step)
        with closing(FileStore(folder)) as store:
            write(store, events_of())
            monkeypatch.setattr(failpoints, "reached", ends(step))
            try:
                regroup(store, "crawl", GROUPS)
            except Ended:
                pass
            else:
                break
            finally:
                monkeypatch.setattr(failpoints, "reached", lambda place: None)
            with_marks = {folder / path.relative_to(tmp_path / "right"): raw for path, raw in was.items()}
            if store.shards() == ["crawl"]:
                assert folder_as_it_is(folder / "crawls") == with_marks
        with closing(FileStore(folder)) as store:  # what the next process finds
            if store.shards() == ["crawl"]:
                regroup(store, "crawl", GROUPS)
            assert logs_of(store) == right
            assert list(folder.glob("instead-*")) == []
    assert step > 20


@pytest.mark.parametrize("groups", [2, 7])
def test_of_several_groups_it_is_the_same(groups: int, tmp_path: Path) -> None:
    logs: dict[str, list[list[Event]]] = {}
    for name, steps in {"once": [groups], "twice": [GROUPS, groups]}.items():
        with closing(FileStore(tmp_path / name)) as store:
            write(store, events_of())
            for step in steps:
                regroup(store, "crawl", step)
            logs[name] = logs_of(store, groups)
            assert list(problems_of_store(store)) == []
    for once, twice in zip(logs["once"], logs["twice"], strict=True):
        assert {site: without_seqs(some) for site, some in of_site(once).items()} == {
            site: without_seqs(some) for site, some in of_site(twice).items()
        }
        for event in twice:
            if isinstance(event, ModelActivated):
                assert twice[event.built_from_seq - 1] == LearningRequested(event.site)
                assert event.digest == digest(event.learned)


def without_seqs(events: list[Event]) -> list[Event]:
    return [
        replace(event, digest="", built_from_seq=0, learned={})
        if isinstance(event, ModelActivated)
        else replace(event, built_from_seq=0)
        if isinstance(event, LearningFailed)
        else event
        for event in events
    ]


def test_a_crawl_that_lost_a_group_is_refused_and_stays(tmp_path: Path) -> None:
    with closing(FileStore(tmp_path)) as store:
        write(store, events_of())
        regroup(store, "crawl", GROUPS)
        shutil.rmtree(store.crawl_folder("crawl@2-of-4"))
        was = folder_as_it_is(tmp_path / "crawls")
        with pytest.raises(CorruptState, match="no log of crawl@2-of-4"):
            regroup(store, "crawl", 3)
        assert folder_as_it_is(tmp_path / "crawls") == was


def test_groups_that_did_not_hear_of_every_change_are_told(tmp_path: Path) -> None:
    def change(revision: int) -> ConfigChanged:
        return ConfigChanged(
            replace(CONFIG, groups=2, revision=revision, keep_titles=revision > 1).to_state()
        )

    told = {
        0: [change(0), change(1), change(2), page_of(SITES[0], 1)],
        1: [change(0), page_of(SITES[1], 1), change(2)],
    }
    with closing(FileStore(tmp_path)) as store:
        for group, events in told.items():
            write(store, events, Shard("crawl", group, 2).key)
        regroup(store, "crawl", 3)
        logs = logs_of(store, 3)
    for log in logs:
        said = [CrawlConfig.from_state(event.config) for event in log if isinstance(event, ConfigChanged)]
        assert [(config.revision, config.keep_titles) for config in said] == [
            (0, False),
            (1, False),
            (2, True),
        ]
        assert {config.ticket_scope for config in said} == {replace(CONFIG, groups=2).ticket_scope}
    assert sent_in(logs) == sent_in([*told.values()])


@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("is_done", [False, True])
def test_between_the_names_of_the_step_the_crawl_is_one_or_the_other(
    step: int, is_done: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename, count = Path.rename, 0

    def renamed(path: Path, target: Path) -> None:
        nonlocal count
        count += 1
        if count < step or is_done:
            rename(path, target)
        if count == step:
            raise Ended

    with closing(FileStore(tmp_path)) as store:
        write(store, events_of())
        with monkeypatch.context() as patch:
            patch.setattr(Path, "rename", renamed)
            with pytest.raises(Ended):
                regroup(store, "crawl", GROUPS)
    with closing(FileStore(tmp_path)) as store:
        if store.shards() == ["crawl"]:
            assert (step, is_done) == (1, False)
            regroup(store, "crawl", GROUPS)
        assert sent_in(logs_of(store)) == sent_in([events_of()])
        assert list(problems_of_store(store)) == []
    assert list(tmp_path.glob("instead-*")) == []


def sent_in(logs: list[list[Event]]) -> Counter[str]:
    return Counter(event.event_id for log in logs for event in log if isinstance(event, PageFetched))


@pytest.mark.parametrize("groups_before", [2, GROUPS])
def test_what_was_left_of_another_state_of_the_crawl_is_not_in_it(
    groups_before: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(FileStore(tmp_path)) as store:
        write(store, [*events_of(), page_of(SITES[0], 99)])
        with monkeypatch.context() as patch:
            patch.setattr(FileStore, "replace", lambda self, _, folder: folder.rename(tmp_path / "left"))
            regroup(store, "crawl", groups_before)
        (tmp_path / "left").rename(tmp_path / "deleted-regroup-crawl")
        (store.crawl_folder("crawl") / "00000000000000000001.log").unlink()
        write(store, events_of())
        regroup(store, "crawl", GROUPS)
        assert sent_in(logs_of(store)) == sent_in([events_of()])


@pytest.mark.parametrize(
    "name", ["instead-crawl", "instead-", "instead-.", "instead-..", "instead-crawl@0-of-2"]
)
@pytest.mark.parametrize("holds", [[], ["1-of-4"], ["0-of-1"], ["0-of-2"]])
def test_a_folder_that_is_no_whole_crawl_takes_no_place(name: str, holds: list[str], tmp_path: Path) -> None:
    with closing(FileStore(tmp_path)) as store:
        write(store, events_of())
        was = folder_as_it_is(tmp_path / "crawls")
    for part in ["", *holds]:
        (tmp_path / name / part).mkdir(exist_ok=True)
        (tmp_path / name / part / "00000000000000000001.log").touch() if part else None
    with closing(FileStore(tmp_path)) as store:
        assert store.shards() == ["crawl"]
    assert folder_as_it_is(tmp_path / "crawls") == was
    assert (tmp_path / name).exists()


def test_what_cannot_be_erased_keeps_no_folder_from_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path) -> None:
        raise PermissionError(path)

    with closing(FileStore(tmp_path)) as store:
        write(store, events_of())
        with monkeypatch.context() as patch:
            patch.setattr(
                FileStore, "replace", lambda self, _, folder: folder.rename(tmp_path / "instead-crawl")
            )
            regroup(store, "crawl", GROUPS)
    monkeypatch.setattr("linkscore_server.storage.files.shutil.rmtree", refused)
    with closing(FileStore(tmp_path)) as store:
        assert sent_in(logs_of(store)) == sent_in([events_of()])


@pytest.mark.parametrize("lost", [1, -1])
def test_a_log_that_lost_a_part_is_refused_and_stays(lost: int, tmp_path: Path) -> None:
    with closing(FileStore(tmp_path, segment_bytes=500)) as store:
        write(store, events_of())
        with closing(store.open("crawl")) as log:
            log.save(Snapshot(log.last_seq, b"state"))
        segments = sorted(store.crawl_folder("crawl").glob("*.log"))
        segments[lost].unlink()
        was = folder_as_it_is(tmp_path / "crawls")
        with pytest.raises(CorruptState):
            regroup(store, "crawl", GROUPS)
        assert store.shards() == ["crawl"]
        assert {path: raw for path, raw in folder_as_it_is(tmp_path / "crawls").items() if path in was} == was
    assert list(tmp_path.glob("deleted-*")) == []


def test_what_no_log_makes_again_is_not_lost(tmp_path: Path) -> None:
    with closing(FileStore(tmp_path)) as store:
        write(store, events_of())
        (other := store.crawl_folder("crawl") / "browse").mkdir()
        with pytest.raises(InvalidInput, match=f"{other} would be lost"):
            regroup(store, "crawl", GROUPS)


def test_without_room_for_the_log_once_more_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=10))
    with closing(FileStore(tmp_path)) as store:
        write(store, events_of())
        with pytest.raises(OSError, match="10 are free"):
            regroup(store, "crawl", GROUPS)
        assert store.shards() == ["crawl"]


def test_an_event_of_a_later_version_is_refused(tmp_path: Path) -> None:
    with closing(FileStore(tmp_path)) as store:
        write(store, events_of())
        with closing(store.open("crawl")) as log:
            log.append([msgpack.packb([99, ["site"]])])
        with pytest.raises(CorruptState, match="kind 99"):
            regroup(store, "crawl", GROUPS)
        assert store.shards() == ["crawl"]


@pytest.mark.parametrize(
    ("events", "rule"),
    [
        (
            [ConfigChanged(replace(CONFIG, policy=PolicyChoice("anthelion")).to_state())],
            "anthelion learns one",
        ),
        (
            [*events_of(), ConfigChanged(replace(CONFIG, policy=PolicyChoice("topic")).to_state())],
            "topic learns",
        ),
        ([*events_of(), BrowseBatchImported("b", "d", {}, {})], "has browse logs"),
        ([ConfigChanged(replace(CONFIG, groups=GROUPS).to_state())], "is 4 already"),
    ],
)
def test_what_cannot_have_groups_is_refused_and_stays(events: list[Event], rule: str, tmp_path: Path) -> None:
    with closing(FileStore(tmp_path)) as store:
        write(store, events)
        was = folder_as_it_is(tmp_path)
        with pytest.raises(InvalidInput, match=rule) as told:
            regroup(store, "crawl", GROUPS)
        assert [problem.field for problem in told.value.problems] == ["groups"]
        assert folder_as_it_is(tmp_path) == was


def test_a_crawl_that_is_not_there_has_groups_or_was_cut_is_refused(tmp_path: Path) -> None:
    with closing(FileStore(tmp_path)) as store:
        with pytest.raises(NotFound, match="'crawl': not among the 0 crawls"):
            regroup(store, "crawl", GROUPS)
        write(store, events_of())
        regroup(store, "crawl", GROUPS)
        with pytest.raises(InvalidInput, match="is 4 already"):
            regroup(store, "crawl", GROUPS)


def test_a_damaged_log_is_named_and_left_as_it_is(tmp_path: Path) -> None:
    with closing(FileStore(tmp_path)) as store:
        write(store, events_of())
        log = store.crawl_folder("crawl") / "00000000000000000001.log"
        raw = bytearray(log.read_bytes())
        raw[400] ^= 1
        log.write_bytes(raw)
        with pytest.raises(CorruptState, match=log.name):
            regroup(store, "crawl", GROUPS)
        assert log.read_bytes() == bytes(raw)
        with closing(store.open("other")) as other:
            other.append([b"no event"])
        with pytest.raises(CorruptState):
            regroup(store, "other", GROUPS)


def figures(store: FileStore, keys: list[str]) -> dict[str, Any]:
    """Return pages, feedback and sites of the shards of a crawl, and what is active of each site."""
    found: Counter[str] = Counter()
    sites = {}
    for key in keys:
        with crawl_in(store, key, domain_of=lambda host: host, from_log=True) as model:
            found.update(pages=model.pages, feedbacks=model.feedbacks)
            for site in list(model.sites):
                own = model.sites[site].model
                sites[site] = (own.revision, own.stage, own.learning_since > 0)
    return {**found, "sites": sites}
