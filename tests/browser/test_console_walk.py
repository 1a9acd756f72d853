"""The console in a real browser, looked at and used, while real Scrapy crawls; run by `make test-console`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from linkscore import Client
from linkscore_lab.crawls.demo import demo_testbed, run_crawl, scored
from support.server_process import serving

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("LINKSCORE_BROWSER") or not shutil.which("node"),
        reason="needs LINKSCORE_BROWSER, a Chromium, and node; see `make test-console`",
    ),
]
BUNDLE = Path(__file__).parents[2] / "console/bundle"
_WALK_S = 900
_LEARNED = 250
"""Pages of a crawl before the walk begins: the templates are learned from 200."""


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a console on a server that is being crawled."""
    folder = tmp_path_factory.mktemp("walk")
    with serving(folder, "--metrics-listen", "") as server:
        crawl = threading.Thread(target=_crawl, args=(server.target, folder), daemon=True)
        crawl.start()
        _wait_until_learned(server.target, crawl)
        options = ["--target", server.target, "--listen", "127.0.0.1:0", "--write"]
        command = [sys.executable, "-m", "linkscore_cli", "console", *options]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            assert process.stderr is not None
            yield process.stderr.readline().split()[-1]
        finally:
            process.terminate()
            process.communicate(timeout=30)
        crawl.join(_WALK_S)


def _crawl(target: str, folder: Path) -> None:
    with Client(target) as client:
        client.create_crawl(crawl="demo")
    with demo_testbed(1, lambda _: None) as testbed:
        mode = scored("harvest", target, "demo")
        run_crawl(testbed.site.entry, mode, testbed.budget("25%"), log=folder / "demo.log")


def _wait_until_learned(target: str, crawl: threading.Thread) -> None:
    with Client(target) as client:
        while not any(one.page_count >= _LEARNED for one in client.list_crawls()):
            assert crawl.is_alive(), "the crawl did not get far enough"
            time.sleep(1.0)


def browse(script: str, console: str) -> dict[str, Any]:
    """What a script that drives a browser reports."""
    command = ["node", script, console, os.environ["LINKSCORE_BROWSER"]]
    if folder := os.environ.get("LINKSCORE_SHOTS"):
        command.append(folder)
    done = subprocess.run(command, cwd=BUNDLE, capture_output=True, text=True, timeout=_WALK_S, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_every_view_works_in_a_browser_and_is_accessible(console: str) -> None:
    report = browse("walk.mjs", console)
    # At two widths, dark and light: the list, a crawl, its three views, a template.
    assert len(report["views"]) == 4 * 6
    assert report["errors"] == []
    assert report["foreign"] == []
    assert report["axe"] == []
    assert report["overflow"] == []


def test_crawls_are_taught_by_mouse_and_keys(console: str) -> None:
    report = browse("use.mjs", console)
    assert report["errors"] == []
    assert "Sample pages" in report["clicked"]
    assert not {report["y"], report["n"]} & set(report["asked"])
    assert report["examples"][0] == report["y"]
    assert report["examples"][-1].endswith("/named")
