"""Files, links and commands that the docs name are there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
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


_LINK = re.compile(r"\[(?:[^][]|\[[^]]*\])*\]\(([^)\s]+)\)")
_CODE = re.compile(r"^( *)(```+|~~~+).*?^ *\2 *$|`[^`\n]+`", re.DOTALL | re.MULTILINE)


def test_every_link_outside_the_site_leads_somewhere() -> None:
    """Of the site `make docs` says so."""
    pages = [page for page in PAGES if not page.is_relative_to(ROOT / "docs")]
    links = ((page, link) for page in pages for link in _LINK.findall(_CODE.sub("", page.read_text("utf-8"))))
    files = ((page, link.partition("#")[0]) for page, link in links if ":" not in link)
    assert [(page.name, file) for page, file in files if not (page.parent / file).exists()] == []


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
    made = re.findall(
        r"^\t@?\$\(BIN\)/linkscore ([^$\n]+)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE
    )
    for words in (*map(str.split, made), *(words for page in PAGES for words in command_lines(page))):
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
