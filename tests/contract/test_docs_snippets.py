"""Every Python and console snippet of the pages that teach runs, or says why it does not.

A page has a server and an empty folder of its own, and its snippets run in order: ``python`` in one
namespace, ``console`` in bash; if lines begin with ``$ ``, those are the commands. The comment in front of a
snippet may say ``not run: WHY``, or ``run by tests/PATH.py``, a file that names the page. A comment whose
first line is ``setup`` holds Python that runs there and that no reader sees.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.server_process import serving

ROOT = Path(__file__).parents[2]
PAGES = [
    "README.md",
    "docs/reference/clients.md",
    *(
        path.relative_to(ROOT).as_posix()
        for folder in ("docs/start", "docs/guides", "docs/concepts")
        for path in sorted((ROOT / folder).rglob("*.md"))
    ),
]
RUN = ("python", "console", "setup")
_PIECE = re.compile(
    r"^<!-- (?P<setup>setup\n.*?)-->"
    r"|(?:^ *<!-- (?P<says>[^\n]*) -->\n)?^(?P<indent> *)```(?P<kind>\w+)\n(?P<text>.*?)^ *```$",
    re.DOTALL | re.MULTILINE,
)
_ADDRESS = re.compile(r"(?:localhost|127\.0\.0\.1):7411")


@dataclass(frozen=True)
class Snippet:
    """A code block, and what the comment in front of it says."""

    kind: str
    text: str
    says: str = ""

    @property
    def runs(self) -> bool:
        """Whether it is run here."""
        return self.kind in RUN and not self.says.startswith(("not run: ", "run by "))


def snippets(page: str) -> list[Snippet]:
    """Return the code blocks of a page, hidden ones included."""
    found = []
    for piece in _PIECE.finditer(page):
        if piece["setup"]:
            found.append(Snippet("setup", piece["setup"].partition("\n")[2]))
            continue
        text = re.sub(rf"^{piece['indent']}", "", piece["text"], flags=re.MULTILINE)
        found.append(Snippet(piece["kind"], text, piece["says"] or ""))
    return found


def read(page: str) -> list[Snippet]:
    return snippets((ROOT / page).read_text(encoding="utf-8"))


def commands(text: str) -> str:
    """Return what of a console snippet was typed."""
    typed = [line[2:] for line in text.splitlines() if line.startswith("$ ")]
    return "\n".join(typed) if typed else text


def run(snippet: Snippet, target: str, scope: dict[str, object]) -> None:
    """Run a snippet against a server, in the folder that is current."""
    text = _ADDRESS.sub(target, snippet.text)
    if snippet.kind != "console":
        exec(compile(text, "snippet", "exec", dont_inherit=True), scope)
        return
    got = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands(text)],
        env=os.environ
        | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "LINKSCORE_TARGET": target},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert got.returncode == 0, f"{text}\n{got.stdout}\n{got.stderr}"


@pytest.mark.long
@pytest.mark.parametrize("page", [page for page in PAGES if any(snippet.runs for snippet in read(page))])
def test_the_snippets_of_a_page_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    scope: dict[str, object] = {"__name__": "snippet"}
    with serving(tmp_path) as server:
        monkeypatch.setenv("LINKSCORE_TARGET", server.target)
        done = [run(snippet, server.target, scope) for snippet in read(page) if snippet.runs]
    assert done
