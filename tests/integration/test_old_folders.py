"""Data folders written by older versions open and score as they did; see `fixtures/folder_0_1/make.py`."""

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

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.state import digest
from linkscore_server.storage.files import FileStore
from server_process import Stubs, serving, stubs

FOLDER = Path(__file__).parents[1] / "fixtures" / "folder_0_1"
WORDS = {"reason", "policyState", "summary", "text"}
"""Fields in words, for people; they may change between versions."""
NEW = ("/learn",)
"""Fields that answers have had since the folder was written."""


def recorded() -> list[dict[str, Any]]:
    calls: list[dict[str, Any]] = json.loads(lzma.decompress((FOLDER / "answers.json.xz").read_bytes()))
    return calls


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


def assert_same(server: Stubs, calls: list[dict[str, Any]]) -> None:
    for n, call in enumerate(calls):
        got, want = dict(figures(answer(server, call["request"]))), dict(figures(call["answer"]))
        got = {path: value for path, value in got.items() if not path.endswith(NEW)}
        numbers = {path: value for path, value in want.items() if isinstance(value, float)}
        assert {path: got.pop(path, None) for path in numbers} == pytest.approx(numbers, rel=1e-9), (n, call)
        assert got == {path: value for path, value in want.items() if path not in numbers}, (n, call)


def is_question(call: dict[str, Any]) -> bool:
    return not call["request"]["type"].endswith(("IngestPagesRequest", "ReportFeedbackRequest"))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    with tarfile.open(FOLDER / "folder.tar.xz") as tar:
        tar.extractall(tmp_path, filter="data")
    return tmp_path / "data"


def test_what_is_written_is_laid_out_as_before(data: Path) -> None:
    """A class whose layout changes on purpose gets a version and a migration, and an exception here."""
    store = FileStore(data)
    compared = 0
    for crawl in store.crawls():
        snapshot = store.open(crawl).snapshot()
        if snapshot is not None:
            state = msgpack.unpackb(snapshot.state, strict_map_key=False)
            model = CrawlModel(CrawlConfig.from_state(state["config"]), ticket_key=b"")
            model.load_state(state)
            again = msgpack.unpackb(msgpack.packb(model.to_state()), strict_map_key=False)
            assert differing(again, state) == []
            assert digest(again) == digest(state)
            compared += 1
    store.close()
    assert compared == 5


def differing(one: Any, other: Any, path: str = "") -> list[str]:
    """Return the paths of the outermost values that differ."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return [found for name in one for found in differing(one[name], other[name], f"{path}/{name}")]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [found for n in range(len(one)) for found in differing(one[n], other[n], f"{path}/{n}")]
    return [] if one == other and type(one) is type(other) else [f"{path}: {one!r:.80} was {other!r:.80}"]


def test_a_folder_of_0_1_answers_and_learns_as_it_did(tmp_path: Path, data: Path) -> None:
    """Snapshot and log are opened, then a snapshot of today; questions about every policy agree each time."""
    calls = recorded()
    first = next(n for n, call in enumerate(calls) if not is_question(call))
    with serving(tmp_path) as process, stubs(process.target) as server:
        assert_same(server, calls)
        assert process.terminate() == 0
    with serving(tmp_path) as process, stubs(process.target) as server:
        assert_same(server, calls[-first:])
