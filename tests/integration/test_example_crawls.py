"""The projects of examples/ run as their readme says; docs/start/scrapy.md shows the one for Scrapy.

Each crawls examples/site.py on loopback, in an order of a server. One whose tools are missing is skipped.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from server_process import ServerProcess, serving

pytestmark = [pytest.mark.whole, pytest.mark.long]

EXAMPLES = Path(__file__).parents[2] / "examples"
PATIENCE_S = 300.0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    with serving(tmp_path / "server") as running:
        yield running


@pytest.fixture
def site() -> Iterator[str]:
    """The address of the forum."""
    command = [sys.executable, str(EXAMPLES / "site.py"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


def run(*command: str | Path, folder: Path, **environment: str) -> str:
    """Run a command, and return what it printed."""
    got = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert got.returncode == 0, got.stdout + got.stderr
    return got.stdout + got.stderr


def share_of_threads(lines: list[str]) -> float:
    return sum("/thread/" in line for line in lines) / len(lines)


def test_scrapy(server: ServerProcess, site: str, tmp_path: Path) -> None:
    def items(name: str, **settings: object) -> int:
        given = {"LINKSCORE_TARGET": server.target, "CLOSESPIDER_PAGECOUNT": 100, "TELNETCONSOLE_ENABLED": 0}
        flags = [text for key, value in (given | settings).items() for text in ("-s", f"{key}={value}")]
        spider = EXAMPLES / "scrapy/spider.py"
        command = [sys.executable, "-m", "scrapy", "runspider", spider, "-a", f"start={site}", "-O", name]
        said = run(*command, *flags, folder=tmp_path)
        assert "linkscore 0.1.0 at" in said
        return len([json.loads(line) for line in (tmp_path / name).read_text().splitlines()])

    plain = items("plain.jsonl", LINKSCORE_OBSERVE_ONLY=1, LINKSCORE_CRAWL="plain")
    assert items("ordered.jsonl") > 2 * plain
