"""Token files: what stands in a line, and files that change."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkscore_server.operator_files import Caller, Role, digest_of, parse_tokens
from support.command_line import run

SECRET = "secret-token-of-32-characters-ab"
LINE = f"crawler-1 write news-*,forum sha256:{digest_of(SECRET)}"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "has no token"),
        ("# only a comment\n", "has no token"),
        (f"{LINE}\n{SECRET}", "line 2: must be NAME ROLE CRAWLS sha256:HEX, as `linkscore token`"),
        (f"#crawlers-of-team-A\n{LINE}", "line 1: must be NAME"),
        (SECRET, "line 1: must be NAME"),
        (LINE.split()[-1], "line 1: must be NAME"),
        (LINE.replace("sha256:", ""), "line 1: must be NAME ROLE CRAWLS sha256:HEX"),
        (f"two words\n{LINE}", "line 1: must be NAME ROLE CRAWLS sha256:HEX"),
        (LINE.replace("write", "owner"), "line 1: the role must be read, write or admin"),
        (LINE.replace("news-*", "News"), "line 1: crawls must be patterns"),
        (LINE[:-1], "line 1: the digest must be 64"),
        (LINE.replace("crawler-1", "crawler/1"), "line 1: the name must be"),
        (f"{LINE}\n{LINE}", "line 2: a name or a token that is there already"),
        (f"{LINE} crawls=0", "line 1: after the digest may only stand crawls=NUMBER"),
        (f"{LINE} {SECRET}", "line 1: after the digest may only stand crawls=NUMBER"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_by_line_and_rule_without_its_text(
    text: str, told: str
) -> None:
    with pytest.raises(ValueError, match=told) as caught:
        parse_tokens(text)
    assert SECRET not in str(caught.value)


def test_what_the_command_prints_is_a_line_of_the_file_for_the_token_it_shows() -> None:
    made = run("token", "--name", "crawler-1", "--role", "write", "--crawls", "news-*,forum")
    assert made.exit_code == 0
    token = made.stderr.split()[-1]
    assert len(token) >= 43  # 256 bits in base64
    assert token not in made.stdout
    assert parse_tokens(made.stdout) == {
        digest_of(token): Caller("crawler-1", Role.WRITE, ("news-*", "forum"))
    }


def test_the_command_writes_the_token_alone_into_a_file_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "crawler.token"
    asked = ("token", "--name", "crawler-1", "--role", "write", "--out", str(file))
    made = run(*asked)
    assert (made.exit_code, made.stderr) == (0, "")
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(parse_tokens(made.stdout)) == [digest_of(file.read_text().strip())]
    again = run(*asked)
    assert again.exit_code == 2
    assert f"--out: is there already: {file}" in again.output.replace("\n", " ")


@pytest.mark.parametrize("wrong", [("--name", "a b"), ("--role", "owner"), ("--crawls", "News")])
def test_the_command_makes_no_line_that_a_server_would_refuse(wrong: tuple[str, str]) -> None:
    given = {"--name": "a", "--role": "read", "--crawls": "*"} | dict([wrong])
    made = run("token", *(part for option in given.items() for part in option))
    assert made.exit_code == 2
    assert wrong[0] in made.output
