"""The tree of commands: sections, entry points, shared options, words of errors, policies.

`linkscore score` against a server whose answers are known.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from linkscore.v1 import common_pb2, policy_pb2
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_cli.connection import Connection, online
from linkscore_cli.crawls import policy_text, read_policy
from linkscore_cli.main import SECTIONS, main
from support.command_line import run
from support.fake_linkscore import FakeLinkscore, serve
from support.replay_sites import shop


def test_the_help_has_every_command_below_its_heading() -> None:
    lines = run("--help").output.splitlines()
    headings = [line.rstrip(":") for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert headings == ["Options", *SECTIONS]
    assert set(main.list_commands(click.Context(main))) == {
        name for names in SECTIONS.values() for name in names
    }


# Commands of others


def entry(name: str, value: str) -> dict[str, EntryPoint]:
    return {name: EntryPoint(name, value, "linkscore.commands")}


@click.command()
def greet() -> None:
    """Say hello."""
    click.echo("hello")


def test_a_command_of_another_distribution_is_found_and_listed_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linkscore_cli.main.commands_of", lambda group: entry("greet", f"{__name__}:greet"))
    assert run("greet").output == "hello\n"
    assert run("--help").output.rstrip().endswith("Others:\n  greet  Say hello.")


# The server and its token


@click.command()
@online
def ask(connection: Connection) -> None:
    click.echo(f"{connection.target} {connection.token} {connection.tls_ca} {connection.crawl_option}")


def asked(*arguments: str, **environment: str) -> str:
    from click.testing import CliRunner

    return CliRunner(env=environment).invoke(ask, arguments).output.rstrip("\n")


@pytest.fixture
def token_file(tmp_path: Path) -> str:
    path = tmp_path / "token"
    path.write_text(" in-the-file \nsecond line\n")
    return str(path)


def test_options_win_over_variables() -> None:
    there = {
        "LINKSCORE_TARGET": "a:1",
        "LINKSCORE_TOKEN": "t",
        "LINKSCORE_CRAWL": "news",
    }
    assert asked(**there) == "a:1 t None news"
    assert asked("--target", "b:2", "--token", "u", "--crawl", "c", **there) == "b:2 u None c"
    assert asked() == "127.0.0.1:7411 None None "


def test_the_token_is_the_first_line_of_its_file(token_file: str) -> None:
    assert asked("--token-file", token_file).split()[1] == "in-the-file"
    assert asked(LINKSCORE_TOKEN_FILE=token_file).split()[1] == "in-the-file"
    assert "cannot both be given" in asked("--token", "t", "--token-file", token_file)


def test_a_command_that_needs_a_crawl_says_how_to_name_it() -> None:
    got = run("score", "http://a.org/")
    assert got.exit_code == 2
    assert "Missing option '--crawl' (or LINKSCORE_CRAWL)" in got.output


def test_a_server_refuses_the_variables_that_look_like_protection() -> None:
    got = run("check-config", LINKSCORE_TOKEN="t", LINKSCORE_TLS_CA="/dev/null")
    assert got.exit_code == 1
    assert "token: is for commands that call a server; a server reads its token from token_file" in got.output
    assert "tls_ca: is for commands that call a server" in got.output
    assert run("check-config", LINKSCORE_TARGET="a:1", LINKSCORE_CRAWL="news").exit_code == 0


# Words of errors


def test_an_archive_alone_is_replayed_for_new_text(tmp_path: Path) -> None:
    warc, _ = shop(tmp_path)
    got = run("replay", warc, "--seeds", "1", "--report", tmp_path / "out.html")
    assert got.exit_code == 0, got.output
    assert "new_text 24" in got.output
    assert "at least 400 characters of text of their own" in got.output
    assert "Harvest curves of shop.test: new_text" in (tmp_path / "out.html").read_text(encoding="utf-8")


# Policies


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("harvest:curiosity=1", policy_pb2.PolicySpec(harvest=policy_pb2.HarvestParams(curiosity=1))),
        ("pagerank:every=7", policy_pb2.PolicySpec(pagerank=policy_pb2.PagerankParams(every=7))),
        (
            "source_ucc:alpha=0.1, without_dsim=true",
            policy_pb2.PolicySpec(source_ucc=policy_pb2.SourceUccParams(alpha=0.1, without_dsim=True)),
        ),
        (
            "source_ucc:without_info=false",
            policy_pb2.PolicySpec(source_ucc=policy_pb2.SourceUccParams(without_info=False)),
        ),
    ],
)
def test_a_policy_is_read_as_its_message_and_written_as_it_was_read(
    text: str, spec: policy_pb2.PolicySpec
) -> None:
    assert read_policy(text) == spec
    assert read_policy(policy_text(spec)) == spec


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "must have the form NAME"),
        (":a=1", "must have the form NAME"),
        ("harvest:curiosity", "harvest: parameters must have the form param=value, got 'curiosity'"),
        ("harvest:speed=3", "harvest: must be some of exploration, hub_weight, curiosity"),
        ("opic:speed=3", "opic: takes no parameters, got"),
        ("harvest:curiosity=much", "harvest: curiosity must be a number"),
        ("pagerank:every=1.5", "pagerank: every must be a whole number"),
        ("pagerank:every=-1", "pagerank: "),
        ("source_ucc:without_info=maybe", "source_ucc: without_info must be "),
    ],
)
def test_a_policy_that_cannot_be_read_says_why(text: str, rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        read_policy(text)
    got = run("crawls", "create", "c", "--policy", text)
    assert (got.exit_code, "Invalid value for '--policy'" in got.output) == (2, True)


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("linkscore ad", ["advise"]),
        ("linkscore crawls create --scope d", ["domain"]),
    ],
)
def test_a_shell_completes_commands_and_choices(words: str, completed: list[str]) -> None:
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    got = subprocess.run(
        [sys.executable, "-c", "from linkscore_cli.__main__ import main; main()"],
        env=os.environ | asked | {"_LINKSCORE_COMPLETE": "bash_complete"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert got.stdout.splitlines() == [f"plain,{word}" for word in completed]


LINKS = ("http://a.org/tag/x", "http://a.org/thread/1")


@pytest.fixture
def fake() -> Iterator[FakeLinkscore]:
    yield from serve(FakeLinkscore({"thread": 0.9, "tag": 0.1}))


def score(fake: FakeLinkscore, *given: str, stdin: str = "") -> Result:
    args = ["score", "--target", f"127.0.0.1:{fake.port}", "--crawl", "c", *given]
    return CliRunner().invoke(main, args, input=stdin)


def test_the_best_url_comes_first(fake: FakeLinkscore) -> None:
    told = score(fake, *LINKS)
    assert told.exit_code == 0
    assert [line.split() for line in told.output.splitlines()[1:]] == [
        ["0.9000", "thread", LINKS[1]],
        ["0.1000", "tag", LINKS[0]],
    ]
    assert fake.pages == []


def test_scripts_have_them_in_the_order_given(fake: FakeLinkscore) -> None:
    told = score(fake, "--json", LINKS[0], "-", stdin=f"\n{LINKS[1]} \n{LINKS[0]}\n")
    assert told.exit_code == 0, (told.output, told.exception)
    assert [row["url"] for row in json.loads(told.output)] == [LINKS[0], LINKS[1], LINKS[0]]


def test_a_crawl_and_a_url_must_be_named(fake: FakeLinkscore) -> None:
    args = ["score", "--target", f"127.0.0.1:{fake.port}", LINKS[0]]
    assert "Missing option '--crawl'" in CliRunner().invoke(main, args, env={"LINKSCORE_CRAWL": ""}).output
    assert score(fake).exit_code == 2


class Copies(FakeLinkscore):
    """Takes every link for a copy."""

    def ScoreLinks(self, request: pb.ScoreLinksRequest, context: object) -> pb.ScoreLinksResponse:
        reason = common_pb2.SKIP_REASON_COPY
        told = [pb.LinkExplanation(skip_reason=reason) for _ in request.links]
        return pb.ScoreLinksResponse(explanations=told)


def test_an_explanation_says_why_a_link_is_to_skip() -> None:
    for fake in serve(Copies()):
        args = ["score", "--why", "--target", f"127.0.0.1:{fake.port}", "--crawl", "c", LINKS[0]]
        told = CliRunner().invoke(main, args)
    rows = [[cell.strip() for cell in line.split("│")[1:3]] for line in told.output.splitlines()]
    assert ["to skip", "copy"] in rows
