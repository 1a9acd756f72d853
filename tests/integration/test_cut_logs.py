"""A crawl whose log was cut is the crawl it was: bit for bit the state that the whole log gives."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import msgpack
import pytest

from campaigns import damage
from campaigns.inprocess import InProcess
from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import decode
from linkscore_scoring.errors import CorruptState
from linkscore_server.settings import Settings
from linkscore_server.storage.base import Snapshot
from linkscore_server.storage.files import FileStore


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a crawl of several segments and no snapshot, so that its log has to be read."""
    folder = tmp_path_factory.mktemp("whole") / "data"
    asyncio.run(damage.make(folder))
    (folder / "crawls" / damage.NAME / "sites.db").unlink()
    return folder


async def opened_state(folder: Path) -> bytes:
    """Return the state of the crawl as a server opens it."""
    store = FileStore(folder)
    server = InProcess(store, Settings())
    try:
        await server.registry.recover()
        actor = await asyncio.create_task(server.registry.open(damage.NAME))  # not in use for longer
        return bytes(msgpack.packb(actor.model.to_state()))
    finally:
        await server.close()
        store.close()


def cut(whole: Path, folder: Path, *shares: float) -> Path:
    """Copy a folder and cut its log by snapshots after some shares of its events; returns the crawl."""
    shutil.copytree(whole, folder)
    store = FileStore(folder, segment_bytes=1, cuts=True)
    log, model = store.open(damage.NAME), CrawlModel(CrawlConfig(damage.NAME), ticket_key=store.ticket_key())
    wanted = [int(share * log.last_seq) for share in shares]
    snapshots = []
    for seq, raw in log.read():
        model.apply(seq, decode(raw))
        if seq in wanted:
            snapshots.append(Snapshot(seq, msgpack.packb(model.to_state())))
    assert sum(map(log.save, snapshots)) > 0, "nothing was cut"
    log.close()
    store.close()
    return folder / "crawls" / damage.NAME


def test_a_cut_crawl_opens_with_the_state_that_its_whole_log_gives(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path / "copy")
    expected = asyncio.run(opened_state(tmp_path / "copy"))
    crawl = cut(whole, tmp_path / "cut", 0.6, 0.8)
    assert len(list(crawl.glob("*.log"))) < len(list((whole / "crawls" / damage.NAME).glob("*.log")))
    assert asyncio.run(opened_state(tmp_path / "cut")) == expected


def test_the_snapshot_before_gives_the_same_state(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path / "copy")
    expected = asyncio.run(opened_state(tmp_path / "copy"))
    crawl = cut(whole, tmp_path / "cut", 0.6, 0.8)
    (crawl / "snapshot").unlink()
    assert asyncio.run(opened_state(tmp_path / "cut")) == expected


def test_a_crawl_with_a_cut_log_and_no_snapshot_is_refused_and_others_serve(
    whole: Path, tmp_path: Path
) -> None:
    crawl = cut(whole, tmp_path / "cut", 0.6, 0.8)
    for path in crawl.glob("snapshot*"):
        path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CorruptState, match=r"events 1 to \d+ were cut .* restore its folder from a backup"):
        asyncio.run(opened_state(tmp_path / "cut"))
