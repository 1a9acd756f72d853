"""Failpoints: what ends there leaves a log that opens."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from linkscore_server.storage import failpoints
from linkscore_server.storage.files import FileStore


class Ended(BaseException):
    """The process ends here."""


def end_at(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def reached(passed: str) -> None:
        if passed == place:
            raise Ended

    monkeypatch.setattr(failpoints, "reached", reached)


@pytest.mark.parametrize(("place", "kept"), [("segment.headed", 0), ("log.written", 1), ("log.synced", 1)])
def test_a_process_that_ends_within_an_append_leaves_all_of_it_or_nothing(
    place: str, kept: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(FileStore(tmp_path)) as store:
        log = store.open("c")
        with monkeypatch.context() as patch:
            end_at(place, patch)
            with pytest.raises(Ended):
                log.append([b"one", b"two"])
        log.close()
        with closing(store.open("c")) as log:
            assert [raw for _, raw in log.read()] == [b"one", b"two"][: 2 * kept]
            log.append([b"three"])
            assert log.last_seq == 2 * kept + 1


def test_a_new_data_folder_is_durable_with_those_above_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = []
    monkeypatch.setattr("linkscore_server.storage.disk.sync", synced.append)
    FileStore(tmp_path / "a" / "b").close()
    assert synced == [tmp_path, tmp_path / "a", tmp_path / "a" / "b"]
