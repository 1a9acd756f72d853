"""What is kept beside the events of a crawl goes with it."""

from __future__ import annotations

from pathlib import Path
from threading import Event, Thread

import pytest

from linkscore_server.data_folder import DataFolder


def test_a_crawl_is_erased_while_somebody_still_makes_files_beside_it(tmp_path: Path) -> None:
    data = DataFolder(tmp_path)
    beside = tmp_path / "browse" / "books"
    beside.mkdir(parents=True)
    made = Event()

    def make_files() -> None:
        for n in range(10_000):
            try:
                (beside / f"{n}.tmp").touch()
            except OSError:
                return
            made.set()

    maker = Thread(target=make_files)
    maker.start()
    made.wait()
    data.erase_beside("books")
    maker.join()
    data.close()

    assert list((tmp_path / "browse").iterdir()) == []


def test_a_folder_below_a_home_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OSError, match="~/data: only a shell knows what ~ is"):
        DataFolder(Path("~/data"))
    assert list(tmp_path.iterdir()) == []
