"""Files, headings and commands that the docs name are there, and so are pages that the code names."""

from __future__ import annotations

import posixpath
import re
import shlex
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click

from linkscore_cli.main import main

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "research").rglob("*.md")),
]
_PATH = re.compile(
    r"`((?:scoring|server|cli|clients|lab|research|tests|tools|docs|proto|deploy|requirements)/[\w./-]+)`"
)


def test_every_path_of_the_repository_is_there() -> None:
    named = {(page.name, path) for page in PAGES for path in _PATH.findall(page.read_text(encoding="utf-8"))}
    gone = {(page, path) for page, path in named if "..." not in path and not (ROOT / path).exists()}
    assert {(page, path) for page, path in gone if path not in ABSENT} == set()


# The policy that CONTRIBUTING.md walks through.
ABSENT = {"scoring/linkscore_scoring/policies/short_urls.py", "tests/unit/policies/test_short_urls.py"}


FILES = subprocess.run(
    ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
    cwd=ROOT,
    capture_output=True,
    check=True,
).stdout.decode()
TEXTS = [
    name for name in FILES.split("\0") if (ROOT / name).is_file() and (ROOT / name).stat().st_size < 1_000_000
]
MARKDOWN = [name for name in TEXTS if name.endswith(".md")]
_LINK = re.compile(r"\[(?:[^][]|\[[^]]*\])*\]\(([^)\s]+)\)")
_CODE = re.compile(r"^( *)(```+|~~~+).*?^ *\2 *$|`[^`\n]+`", re.DOTALL | re.MULTILINE)


@cache
def anchors(name: str) -> frozenset[str]:
    """Return the anchors of a page: `<a id>`, and of headings as the hosts of repositories make them."""
    text = re.sub(
        r"^( *)(```+).*?^ *\2 *$",
        "",
        (ROOT / name).read_text(encoding="utf-8"),
        flags=re.DOTALL | re.MULTILINE,
    )
    titles = re.findall(r"^#+ +(.*?) *$", text, re.MULTILINE)
    plain = [re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", title).lower() for title in titles]
    headings = {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in plain}
    return frozenset(headings | set(re.findall(r'<a id="([\w-]+)">', text)))


def missing(targets: Iterator[str]) -> list[str]:
    """Return the targets, paths of the repository with or without an anchor, that lead nowhere."""
    gone = []
    for target in targets:
        path, _, anchor = target.partition("#")
        if not (ROOT / path).exists() or (anchor and path.endswith(".md") and anchor not in anchors(path)):
            gone.append(target)
    return gone


def test_every_link_leads_somewhere() -> None:
    gone = []
    for page in MARKDOWN:
        text = _CODE.sub("", (ROOT / page).read_text(encoding="utf-8"))
        links = [link for link in _LINK.findall(text) if not re.match(r"\w+:", link)]
        home = posixpath.dirname(page)
        targets = (
            page + link if link[0] == "#" else posixpath.normpath(posixpath.join(home, link))
            for link in links
        )
        gone += [(page, target) for target in missing(targets)]
    assert gone == []


def command_lines(page: Path) -> Iterator[list[str]]:
    """Yield the words of each `linkscore` command of a page's console snippets, not of what they printed."""
    for snippet in re.findall(
        r"^ *```console\n(.*?)^ *```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    ):
        prompt = r"\$ " if re.search(r"^ *\$ ", snippet, re.MULTILINE) else ""
        for line in re.sub(r"\\\n", " ", snippet).splitlines():
            if found := re.match(rf" *{prompt}(?:\w+=\S+ )*linkscore (.*)", line):
                yield shlex.split(re.split(r"(?:^| )(?:[|<>]|&&|--) ", found[1])[0], comments=True)


def test_every_command_and_option_is_there() -> None:
    for words in (words for page in PAGES for words in command_lines(page)):
        command, context = main, click.Context(main)
        for word in words:
            if isinstance(command, click.Group) and not word.startswith("-"):
                command = command.get_command(context, word)
                assert command is not None, f"no command {word!r}: linkscore {' '.join(words)}"
        options = {name for each in command.params for name in (*each.opts, *each.secondary_opts)} | {
            "--help",
            "--version",
        }
        assert {
            word.partition("=")[0] for word in words if word.startswith("-") and word != "-"
        } <= options, words
