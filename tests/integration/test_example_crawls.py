"""The projects of examples/ run as their readme says, and pages show what is in them.

Pages: docs/start/scrapy.md, docs/start/any-crawler.md. Each project crawls examples/site.py on loopback in
the order of a server. One whose tools are missing is skipped.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from support.replay_sites import shop
from support.server_process import ServerProcess, serving

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
NODE = ROOT / "clients/node"
CRAWLERS = ROOT / ".venv-crawlers/bin/python"
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


def finds_threads(said: str, site: str) -> bool:
    """Say whether a crawl fetched a hundred pages or more, and threads most of all."""
    fetched = [url for line in said.splitlines() if (url := line.rpartition("\t")[2]).startswith(site)]
    return len(fetched) >= 100 and sum("/thread/" in url for url in fetched) > len(fetched) / 2


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


def test_a_crawler_of_your_own_in_python(server: ServerProcess, site: str, tmp_path: Path) -> None:
    command = [sys.executable, EXAMPLES / "own/crawl.py", site, "--target", server.target]
    assert finds_threads(run(*command, folder=tmp_path), site)


@pytest.mark.slow
@pytest.mark.skipif(not CRAWLERS.exists(), reason="needs .venv-crawlers: make crawl-crawl4ai")
def test_crawl4ai(server: ServerProcess, site: str, tmp_path: Path) -> None:
    command = [CRAWLERS, EXAMPLES / "crawl4ai/crawl.py", site, "--target", server.target]
    path = str(ROOT / "clients/python")
    said = run(*command, folder=tmp_path, PYTHONPATH=path, CRAWL4AI_NO_CLOUD_NOTICE="1")
    assert finds_threads(said, site)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("go") is None, reason="needs go")
@pytest.mark.parametrize(("name", "flags"), [("own/go", ("", "")), ("colly", ("-start=", "-target="))])
def test_crawlers_in_go(name: str, flags: tuple[str, str], server: ServerProcess, site: str) -> None:
    assert finds_threads(
        run("go", "run", ".", flags[0] + site, flags[1] + server.target, folder=EXAMPLES / name), site
    )


@pytest.mark.slow
@pytest.mark.skipif(not (NODE / "node_modules").exists(), reason="needs npm ci in clients/node")
@pytest.mark.parametrize(("name", "flags"), [("own/node", ("", "")), ("crawlee", ("--start=", "--target="))])
def test_crawlers_in_node(
    name: str, flags: tuple[str, str], server: ServerProcess, site: str, tmp_path: Path
) -> None:
    run("npm", "run", "--silent", "build", folder=NODE)
    packages = tmp_path / "node_modules"
    packages.mkdir()
    (packages / "linkscore").symlink_to(NODE)
    (packages / "@crawlee").symlink_to(NODE / "node_modules/@crawlee")
    shutil.copy(EXAMPLES / name / "crawl.mjs", tmp_path)
    assert finds_threads(
        run("node", "crawl.mjs", flags[0] + site, flags[1] + server.target, folder=tmp_path), site
    )


def test_the_notebook_reads_what_a_replay_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    warc, _ = shop(tmp_path)
    run(
        *(sys.executable, "-m", "linkscore_cli", "replay", warc, "--seeds", "1", "--json", "out.json"),
        folder=tmp_path,
    )
    monkeypatch.chdir(tmp_path)
    cells = json.loads((EXAMPLES / "notebook/replay.ipynb").read_text(encoding="utf-8"))["cells"]
    scope: dict[str, object] = {}
    for cell in (cell for cell in cells if cell["cell_type"] == "code"):
        source = "".join(cell["source"])
        if "matplotlib" not in source or find_spec("matplotlib"):
            exec(source, scope)
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [
        *("breadth_first", "harvest"),
        *("breadth_first", "harvest"),
    ]


def test_frames_of_a_replay_are_asked_in_sql(tmp_path: Path) -> None:
    """What docs/guides/tables.md names."""
    warc, _ = shop(tmp_path)
    run(
        *(sys.executable, "-m", "linkscore_cli", "replay", warc, "--seeds", "2", "--json", "out.json"),
        folder=tmp_path,
    )
    said = run(sys.executable, EXAMPLES / "notebook/frames.py", "out.json", folder=tmp_path)
    assert said.count("breadth_first") == said.count("harvest ") == 2
    assert "How well did each policy do" in said


@pytest.mark.parametrize(
    ("page", "kind", "name"),
    [
        ("docs/start/any-crawler.md", "python", "own/crawl.py"),
        ("docs/start/any-crawler.md", "go", "own/go/main.go"),
        ("docs/start/any-crawler.md", "js", "own/node/crawl.mjs"),
        ("docs/guides/adapters.md", "js", "crawlee/crawl.mjs"),
    ],
)
def test_pages_show_what_is_in_the_examples(page: str, kind: str, name: str) -> None:
    shown = re.findall(rf"^```{kind}\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL | re.M)
    lines = {line.strip() for line in (EXAMPLES / name).read_text(encoding="utf-8").splitlines()}
    assert [line for line in "".join(shown).splitlines() if line.strip() not in lines] == []
