"""What is to be expected to go wrong ends a command in one plain line with the remedy.

Figures as JSON: every kind of value, in a file or on standard output.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path

import pytest

from linkscore.v1 import site_model_service_pb2 as site_pb
from linkscore_cli.extras import install_command
from linkscore_cli.output import plain
from support.bare_command import run_bare
from support.command_line import run

SCORE = "score http://a.org/ --crawl c --target {nobody}"
NOT_THERE = "UNAVAILABLE: no server answers at {nobody}: start one (linkscore serve)"
NO_KEY = "{binary} and {binary} must be a certificate and its key in PEM"

FAILURES = [
    ("score --tsw", "No such option '--tsw'. Did you mean"),
    ("crawls create --examplex", "Did you mean '--example'"),
    ("scor", "Did you mean 'score'?"),
    (SCORE, NOT_THERE),
    ("advise a.org --crawl c --target {nobody}", NOT_THERE),
    ("crawls delete c --yes --target {nobody}", NOT_THERE),
    (f"{SCORE} --tls-ca {{text}}", "--tls-ca: no certificate in '{text}'"),
    (f"{SCORE} --tls-ca {{binary}}", "--tls-ca: no certificate in '{binary}'"),
    (f"{SCORE} --token-file {{binary}}", "--token-file"),
    (f"{SCORE} --token-file {{empty}}", "--token-file"),
    ("check-config --config {binary}", "{binary}"),
    ("serve --tls-cert {binary} --tls-key {binary}", NO_KEY),
    ("health --tls-cert {binary} --tls-key {binary}", NO_KEY),
    ("replay {absent}", "{absent}"),
    ("data import {absent}", "{absent}"),
    ("data import {text} --data-dir {text}/x", "{text}/x"),
    ("crawls create c --example {absent}", "{absent}"),
    ("crawls create --crawl c", "No such option '--crawl': write NAME without it"),
    ("frontier --data-dir {text}/x", "--data-dir: "),
    ("console --target x", "--target: must be host:port"),
    ("demo --policy harvset", "--policy: must be one of"),
]


@pytest.mark.parametrize(("words", "said"), FAILURES)
def test_a_failure_is_one_line_with_the_remedy(words: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no certificate")
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "binary").write_bytes(b"\xcc\xfe\n")
    with socket.socket() as taken:  # a port at which nobody listens: it is taken and not served
        taken.bind(("127.0.0.1", 0))
        names = {name: tmp_path / name for name in ("text", "empty", "binary", "absent")}
        given = {**names, "nobody": f"127.0.0.1:{taken.getsockname()[1]}"}
        got = run(*words.format(**given).split())
    assert isinstance(got.exception, SystemExit), got.exception
    assert got.exit_code in (1, 2)
    assert said.format(**given) in got.output
    assert (got.output.count("\n"), "Traceback" in got.output) == (1, False), got.output


def test_help_is_help() -> None:
    for words in ([], ["crawls"]):
        assert run(*words).output.startswith("Usage: ")


@dataclass
class Figures:
    path: Path
    share: float


def test_values_of_every_kind_become_json() -> None:
    found = plain({"rows": (Figures(Path("a"), float("nan")), Figures(Path("b"), 0.5)), "names": {"x"}})
    assert found == {"rows": [{"path": "a", "share": None}, {"path": "b", "share": 0.5}], "names": ["x"]}
    assert plain([site_pb.SiteAdvice(policy_estimate=True)]) == [{"policy_estimate": True}]


def test_the_help_lists_what_needs_an_extra_and_which() -> None:
    [got] = run_bare([["--help"]])
    assert got.code == 0
    lines = [line.split(maxsplit=1) for line in got.output.splitlines()]
    said = {line[0]: line[1] for line in lines if len(line) == 2}
    assert said["serve"].endswith("(needs linkscore[server])")
    assert said["seeds"].startswith("Say which pages a crawl of SITE")


def test_a_command_that_needs_an_extra_says_which() -> None:
    server = [["serve"], ["health", "--listen", "a:1"]]
    lab = [["replay", "site.warc.gz"]]
    extras = ["server"] * len(server) + ["lab"] * len(lab)
    for extra, got in zip(extras, run_bare(server + lab), strict=True):
        assert got.code == 1
        assert f"needs the {extra} extra: {install_command(extra)}" in got.output
