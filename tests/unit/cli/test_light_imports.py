"""The command line needs the client, click and rich; of the rest it says which extra brings it."""

from __future__ import annotations

from linkscore_cli.extras import install_command
from support.bare_command import run_bare


def test_the_help_lists_what_needs_an_extra_and_which() -> None:
    [got] = run_bare([["--help"]])
    assert got.code == 0
    lines = [line.split(maxsplit=1) for line in got.output.splitlines()]
    said = {line[0]: line[1] for line in lines if len(line) == 2}
    assert said["serve"].endswith("(needs linkscore[server])")
    assert said["replay"].endswith("(needs linkscore[lab])")
    assert said["seeds"].startswith("Say which pages a crawl of SITE")


def test_a_command_that_needs_an_extra_says_which() -> None:
    server = [["serve"], ["health", "--listen", "a:1"]]
    lab = [["replay", "site.warc.gz"]]
    extras = ["server"] * len(server) + ["lab"] * len(lab)
    for extra, got in zip(extras, run_bare(server + lab), strict=True):
        assert got.code == 1
        assert f"needs the {extra} extra: {install_command(extra)}" in got.output
