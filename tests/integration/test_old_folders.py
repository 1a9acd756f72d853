"""Data folders written by older versions open and score as they did; see `fixtures/folder_0_1/make.py`.

What `harvest` says has changed by design since: of these folders only answers of other policies count.
"""

from __future__ import annotations

import json
import lzma
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgpack
import pytest
from google.protobuf import json_format, symbol_database

from linkscore.v1 import browse_log_service_pb2 as browse_pb
from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.events import LogsMined, decode
from linkscore_scoring.site.sampled_pages import SampledLinks, SampledPaths
from linkscore_scoring.state import digest, to_state
from linkscore_server.residency import ResidentCrawl
from linkscore_server.storage.files import FileStore, read_segments
from support.server_process import Stubs, serving, stubs

FIXTURES = Path(__file__).parents[1] / "fixtures"
OLDEST, LATER = FIXTURES / "folder_0_1", FIXTURES / "folder_snapshot_5"
WORDS = {"anchorText", "reason", "policyState", "summary", "text"}
"""Fields in words, for people; they may change between versions, and anchors are not kept over a restart."""
NEW = ("/learn", "/bucketValues/", "/crawl/groups", "/serverVersion")
"""Fields that answers have had since one of the folders was written."""
HARVEST = {"harvest", "auto", "focus", "newsPrefix"}
"""Policies whose answers are those of `harvest` or rest on it: the last two fall back to it."""
HARVEST_CRAWLS = {f"crawls/{name}" for name in ("structure", "auto", "logs", "unsaved")}
"""Crawls that are served by one of them."""


def recorded(folder: Path) -> list[dict[str, Any]]:
    calls: list[dict[str, Any]] = json.loads(lzma.decompress((folder / "answers.json.xz").read_bytes()))
    return calls


def rests_on_harvest(request: Mapping[str, Any]) -> bool:
    if "policy" in request:
        return bool(HARVEST & request["policy"].keys())
    return request["type"].endswith("IngestPagesRequest") and request["crawl"] in HARVEST_CRAWLS


def answer(server: Stubs, request: Mapping[str, Any]) -> Any:
    """Return what a server says to a recorded request."""
    fields = dict(request)
    name = fields.pop("type")
    message = symbol_database.Default().GetSymbol(name)()
    call = name.rpartition(".")[2].removesuffix("Request")
    service = next(s for s in (server.crawls, server.sites, server.links) if hasattr(s, call))
    return json_format.MessageToDict(
        getattr(service, call)(json_format.ParseDict(fields, message), timeout=60)
    )


def figures(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every leaf of an answer that is not in words, by its path."""
    items = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    )
    if items is None:
        yield path, value
        return
    for name, part in items:
        if name not in WORDS:
            yield from figures(part, f"{path}/{name}")


def assert_same(server: Stubs, calls: list[dict[str, Any]]) -> int:
    """Assert that a server answers as recorded, by other policies; return how many answers were compared."""
    compared = 0
    for n, call in enumerate(calls):
        got, want = answer(server, call["request"]), call["answer"]
        if rests_on_harvest(call["request"]):
            continue
        compared += 1
        found, old = (
            {path: x for path, x in figures(said) if not any(name in path for name in NEW)}
            for said in (got, want)
        )
        numbers = {path: x for path, x in old.items() if isinstance(x, float)}
        assert {path: found.pop(path, None) for path in numbers} == pytest.approx(numbers, rel=1e-9), (
            n,
            call,
        )
        assert found == {path: x for path, x in old.items() if path not in numbers}, (n, call)
    return compared


def is_question(call: dict[str, Any]) -> bool:
    return not call["request"]["type"].endswith(("IngestPagesRequest", "ReportFeedbackRequest"))


def unpack(folder: Path, to: Path) -> Path:
    with tarfile.open(folder / "folder.tar.xz") as tar:
        tar.extractall(to, filter="data")
    return to / "data"


@pytest.mark.long
def test_what_is_written_is_laid_out_as_before(tmp_path: Path) -> None:
    """A class whose layout changes on purpose gets a version and a migration, and an exception here."""
    store = FileStore(unpack(LATER, tmp_path))
    compared = 0
    for crawl in store.shards():
        states = store.open(crawl).states
        if not states.seq:
            continue
        core = msgpack.unpackb(states.core(), strict_map_key=False)
        kept = [states.get(place) for place, _ in enumerate(states.sites())]
        model = ResidentCrawl(CrawlConfig.from_state(core["config"]), ticket_key=b"", store=states)
        model.load_core(core, states.sites())
        assert_laid_out(model.core_state(), core)
        sites = model.to_state()["sites"]
        assert len(sites) == len(kept)
        for (_, site), state in zip(sites, kept, strict=True):
            assert_laid_out(site, msgpack.unpackb(state, strict_map_key=False))
        compared += 1
    store.close()
    assert compared == 5


def assert_laid_out(made: Any, kept: Any) -> None:
    """Assert that what is written today is, bit for bit, what was kept; but for menus and pages."""
    again = without_menus(msgpack.unpackb(msgpack.packb(with_rows(made)), strict_map_key=False))
    assert differing(again, kept) == []
    assert digest(again) == digest(kept)


def with_rows(state: Any) -> Any:
    """Return a state with its sampled pages as rows, as they were up to number 6 of snapshots."""
    if not isinstance(state, dict) or not isinstance(state.get("model"), dict):
        return state
    pages = [
        {
            **page,
            "paths": to_state(SampledPaths.from_state(page["paths"]).trie),
            "links": list(SampledLinks.from_state(page["links"])),
        }
        for page in state["model"]["sample"]
    ]
    return {**state, "model": {**state["model"], "sample": pages}}


def without_menus(state: Any) -> Any:
    """Return a state with those of `harvest` in it as version 1 had them."""
    if isinstance(state, list):
        return [without_menus(part) for part in state]
    if not isinstance(state, dict):
        return state
    new = {"menus", "state_version"} if "menus" in state else set()
    return {name: without_menus(part) for name, part in state.items() if name not in new}


def differing(one: Any, other: Any, path: str = "") -> list[str]:
    """Return the paths of the outermost values that differ."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return [found for name in one for found in differing(one[name], other[name], f"{path}/{name}")]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [found for n in range(len(one)) for found in differing(one[n], other[n], f"{path}/{n}")]
    return [] if one == other and type(one) is type(other) else [f"{path}: {one!r:.80} was {other!r:.80}"]


@pytest.mark.long
@pytest.mark.parametrize("folder", [pytest.param(OLDEST, marks=pytest.mark.slow), LATER])
def test_an_old_folder_answers_and_learns_as_it_did(tmp_path: Path, folder: Path) -> None:
    """Snapshot and log are opened, then a snapshot of today; questions about every policy agree each time."""
    calls = recorded(folder)
    unpack(folder, tmp_path)
    first = next(n for n, call in enumerate(calls) if not is_question(call))
    with serving(tmp_path) as process, stubs(process.target) as server:
        assert assert_same(server, calls) >= 300
        assert process.terminate() == 0
    with serving(tmp_path) as process, stubs(process.target) as server:
        assert assert_same(server, calls[-first:]) > 0


@pytest.mark.long
@pytest.mark.parametrize("folder", [OLDEST, LATER])
def test_the_browse_logs_of_an_old_folder_are_mined_as_they_were(tmp_path: Path, folder: Path) -> None:
    """What was mined stands in the log of the crawl, as it was found then; today's comes behind it."""
    data = unpack(folder, tmp_path)
    [before] = mined(data)
    with serving(tmp_path) as process, stubs(process.target) as server:
        server.browse.MineSite(browse_pb.MineSiteRequest(name=f"crawls/logs/sites/{before.site}"), timeout=60)
        assert process.terminate() == 0
    _, again = mined(data)
    assert differing(without(again.mined, before.mined), before.mined) == []


def mined(data: Path) -> list[LogsMined]:
    events = (decode(raw) for _, _, _, raw in read_segments(data / "crawls" / "logs"))
    return [event for event in events if isinstance(event, LogsMined)]


def without(now: Any, before: Any) -> Any:
    """Return a value without the fields that its like has got since."""
    if isinstance(now, dict) and isinstance(before, dict):
        return {name: without(part, before[name]) for name, part in now.items() if name in before}
    return now
