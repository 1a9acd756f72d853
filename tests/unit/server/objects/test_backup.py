"""A crawl as one object: what comes back is what was, or an error that names why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("obstore", reason="needs the extra objects")

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.events import ConfigChanged, encode
from linkscore_server.commands.data import data
from linkscore_server.objects.settings import ObjectSettings
from linkscore_server.storage.files import FileStore
from support.objects.s3 import LIES, S3, running


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3]:
    with running() as made:
        for name, value in made.environment.items():
            monkeypatch.setenv(name, value)
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a data folder with the crawl `books` of one event."""
    store = FileStore(made := tmp_path / "data")
    log = store.open("books")
    log.append([encode(ConfigChanged(CrawlConfig("books").to_state()))])
    log.close()
    store.close()
    return made


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(data, words)
    return result.exit_code, result.output


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*.log")}


@pytest.mark.parametrize("place", ["s3://bucket/copies", "file://{}/copies"])
def test_a_backup_comes_back(folder: Path, tmp_path: Path, s3: S3, place: str) -> None:
    url = f"{place.format(tmp_path)}/books.linkscore"
    for _ in range(2):  # the second replaces the first
        code, said = run("backup", "books", url, "--data-dir", str(folder))
        assert (code, said.splitlines()[-1]) == (0, f"{url}: crawl books")
    code, said = run("restore", url, "--data-dir", str(tmp_path / "back"))
    assert (code, "imported crawl books (1 event)" in said) == (0, True)
    assert contents(tmp_path / "back") == contents(folder)


@pytest.mark.parametrize("fault", ["gone", "damaged", "cut", "empty"])
def test_a_backup_that_is_not_whole_is_refused(folder: Path, tmp_path: Path, s3: S3, fault: str) -> None:
    run("backup", "books", "s3://bucket/books", "--data-dir", str(folder))
    [(name, body)] = s3.objects.items()
    status, s3.objects[name] = LIES[fault]((200, body))
    if status != 200:
        del s3.objects[name]
    code, said = run("restore", "s3://bucket/books", "--data-dir", str(tmp_path / "back"))
    assert (code, said.count("\n")) == (1, 1)
    assert said.startswith("Error: ")
    assert contents(tmp_path / "back") == {}


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("ftp://host/books", "must be s3://, gs://, az://, file:// and a place there, got 'ftp://host'"),
        ("books", "must be s3://"),
        ("s3://bucket/", "names no object, got 's3://bucket/'"),
    ],
)
def test_a_url_that_names_no_object_is_refused(folder: Path, url: str, why: str) -> None:
    code, said = run("backup", "books", url, "--data-dir", str(folder))
    assert code == 2
    assert why in said


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"snapshot_url": "s3://bucket"}, "needs log = kafka://; see `linkscore data backup`"),
        ({"snapshot_url": "bucket"}, "must be s3://, gs://, az://, file:// and a place there, got 'bucket'"),
        ({"snapshot_url": "s3://bucket", "log": "kafka://a:1"}, None),
        ({}, None),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, str], why: str | None) -> None:
    problems = ObjectSettings(**settings).problems()
    found = [problem.rule for problem in problems if problem.field == "snapshot_url"]
    assert found == ([why] if why else [])
