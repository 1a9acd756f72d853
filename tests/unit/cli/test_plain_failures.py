"""What is to be expected to go wrong ends every command in one plain line, and never in a traceback."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import Result

from linkscore_cli.errors import _with_remedy, plainly
from support.command_line import run
from support.command_tree import ONLINE, TREE

ASKS_A_SERVER = sorted(ONLINE)
# What each command needs before it asks; the others need nothing, or take what is below as a name.
WORDS = {
    ("score",): ["http://a.org/"],
    ("explain",): ["http://a.org/"],
    ("export-experience",): ["a.org", "--out", "x"],
    ("logs", "import"): [__file__, "--format", "csv", "--columns", "time,client,url", "--create"],
    ("crawls", "update"): ["--observe-only"],
    ("crawls", "delete"): ["--yes"],
}


def words_of(path: tuple[str, ...]) -> list[str]:
    """Return what a command needs; one of an annex that is about a site gets one."""
    about_a_site = any(param.name == "names" for param in TREE[path].params)
    return WORDS.get(path, ["a.org"] if about_a_site else [])


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address at which nobody listens: the port is taken and not served."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


def is_plain(got: Result) -> bool:
    """Whether a command ended with one line that says what is wrong."""
    return (
        isinstance(got.exception, SystemExit)
        and got.exit_code in (1, 2)
        and got.output.startswith("Error: ")
        and got.output.count("\n") == 1
        and "Traceback" not in got.output
    )


@pytest.mark.parametrize("path", sorted(TREE), ids=" ".join)
def test_an_unknown_option_is_one_line_with_the_remedy(path: tuple[str, ...]) -> None:
    named = [max(param.opts, key=len) for param in TREE[path].params if isinstance(param, click.Option)]
    wrong = f"{max(named, key=len, default='--help')}x"
    got = run(*path, wrong)
    if path == ("conformance",):  # what follows is the command of a driver
        return
    assert is_plain(got), got.output
    assert f"'{wrong}'" in got.output
    assert "Did you mean" in got.output
    assert f" {' '.join(path)} --help." in got.output


@pytest.mark.parametrize("path", sorted(TREE), ids=" ".join)
def test_an_unknown_command_is_one_line_with_the_one_that_is_meant(path: tuple[str, ...]) -> None:
    got = run(*path[:-1], f"{path[-1]}x")
    assert is_plain(got), got.output
    assert f"Did you mean '{path[-1]}'?" in got.output


@pytest.mark.parametrize("path", ASKS_A_SERVER, ids=" ".join)
def test_a_server_that_is_away_is_one_line_with_its_address(
    path: tuple[str, ...], nobody: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    got = run(*path, *words_of(path), "--crawl", "c", "--target", nobody)
    assert is_plain(got), got.output
    assert f"UNAVAILABLE: no server answers at {nobody}: start one (linkscore serve)" in got.output


@pytest.mark.parametrize("path", ASKS_A_SERVER, ids=" ".join)
@pytest.mark.parametrize(
    ("option", "content"),
    [
        ("--tls-ca", b"no certificate"),
        ("--tls-ca", b"\xcc\xfe"),
        ("--token-file", b"\xcc\xfe"),
        ("--token-file", b"\n"),
        ("--token-file", None),
        ("--tls-ca", None),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line_with_its_option(
    path: tuple[str, ...], option: str, content: bytes | None, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    if content is not None:
        file.write_bytes(content)
    got = run(*path, *words_of(path), "--crawl", "c", "--target", "127.0.0.1:1", option, file)
    assert is_plain(got), got.output
    assert option in got.output
    assert str(file) in got.output


FILES = [
    ("serve", "--config"),
    ("check-config", "--config"),
    ("health", "--tls-ca"),
]


@pytest.mark.parametrize(("command", "option"), FILES)
def test_a_file_of_a_process_that_cannot_be_read_is_named(command: str, option: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"\xcc\xfe\n")
    got = run(command, option, file)
    assert isinstance(got.exception, SystemExit)
    assert (got.exit_code in (1, 2), str(file) in got.output) == (True, True), got.output


@pytest.mark.parametrize(
    "words",
    [
        ["data", "check"],
        ["data", "import"],
        ["replay"],
        ["compare", __file__],
        ["suite"],
        ["crawls", "create", "c", "--experience"],
        ["crawls", "create", "c", "--example"],
    ],
    ids=" ".join,
)
def test_a_file_that_is_missing_is_one_line_that_names_it(words: list[str]) -> None:
    got = run(*words, "/no/such/file")
    assert is_plain(got), got.output
    assert "/no/such/file" in got.output


@pytest.mark.parametrize("command", ["serve", "check-config", "health"])
@pytest.mark.parametrize("content", [b"", b"no certificate", b"\xcc\xfe"])
def test_a_certificate_that_is_none_is_named_before_anything_starts(
    command: str, content: bytes, tmp_path: Path
) -> None:
    file = tmp_path / "cert.pem"
    file.write_bytes(content)
    got = run(command, "--tls-cert", file, "--tls-key", file)
    assert isinstance(got.exception, SystemExit)
    assert (got.exit_code in (1, 2), got.output.count("\n")) == (True, 1), got.output
    assert f"{file} and {file} must be a certificate and its key in PEM" in got.output


def test_a_folder_that_may_not_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for words in (["suite", tmp_path, "--out", tmp_path / "file" / "x"],):
        assert is_plain(run(*words))
    got = run("data", "import", __file__, "--data-dir", tmp_path / "file" / "x")
    assert is_plain(got), got.output


def test_help_is_help() -> None:
    for words in ([], ["crawls"]):
        assert run(*words).output.startswith("Usage: ")


def test_a_reader_that_has_enough_is_no_failure() -> None:
    with pytest.raises(BrokenPipeError), plainly():
        raise BrokenPipeError(errno.EPIPE, "broken")


def test_what_may_be_meant_is_found_whatever_click_thinks() -> None:
    with click.Context(TREE["crawls", "list"]) as context:
        wrong = click.NoSuchOption("--jsn", ctx=context)
        wrong.possibilities = ["--crawl"]
        assert _with_remedy(wrong).endswith("Did you mean '--json'?")
