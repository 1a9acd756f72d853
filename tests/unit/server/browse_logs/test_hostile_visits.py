"""An archive with days of visits that are none is refused in one line and leaves nothing."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path

import zstandard

from linkscore_server.storage.formats import SEGMENT_HEADER
from support.command_line import run


def test_a_day_that_is_none_is_refused(tmp_path: Path) -> None:
    files = {f"{1:020d}.log": SEGMENT_HEADER, "browse/days/never/x.parquet": b"x"}
    listed = {
        name: {"bytes": len(content), "blake2b": hashlib.blake2b(content).hexdigest()}
        for name, content in files.items()
    }
    manifest = json.dumps({"format": 1, "crawl": "qa", "files": listed}).encode()
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for name, content in {"manifest.json": manifest, **files}.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    (tmp_path / "qa.tar.zst").write_bytes(zstandard.compress(raw.getvalue()))
    got = run("data", "import", tmp_path / "qa.tar.zst", "--data-dir", tmp_path / "data")
    assert (got.exit_code, type(got.exception)) == (1, SystemExit), got.output
    assert got.output.startswith("Error: ")
    assert "never" in got.output
    assert got.output.count("\n") == 1
    assert not any((tmp_path / "data/crawls").iterdir())
    assert not list((tmp_path / "data").glob("deleted-*"))
