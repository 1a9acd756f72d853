"""`linkscore score` against a server whose answers are known."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from click.testing import CliRunner, Result

from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_cli.main import main
from support.fake_linkscore import FakeLinkscore, serve

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


def test_scripts_have_one_line_a_url_in_the_order_given(fake: FakeLinkscore) -> None:
    told = score(fake, "--tsv", LINKS[0], "-", stdin=f"\n{LINKS[1]} \n{LINKS[0]}\n")
    assert told.exit_code == 0, (told.output, told.exception)
    assert told.output.splitlines() == [
        f"0.1000\ttag\t{LINKS[0]}",
        f"0.9000\tthread\t{LINKS[1]}",
        f"0.1000\ttag\t{LINKS[0]}",
    ]


def test_a_crawl_and_a_url_must_be_named(fake: FakeLinkscore) -> None:
    args = ["score", "--target", f"127.0.0.1:{fake.port}", LINKS[0]]
    assert "Missing option '--crawl'" in CliRunner().invoke(main, args, env={"LINKSCORE_CRAWL": ""}).output
    assert score(fake).exit_code == 2


class Copies(FakeLinkscore):
    """Takes every link for a copy."""

    def ScoreLinks(self, request: pb.ScoreLinksRequest, context: object) -> pb.ScoreLinksResponse:
        reason = common_pb2.SKIP_REASON_COPY
        told = [pb.LinkExplanation(skip_reason=reason, duplicate_probability=0.93) for _ in request.links]
        return pb.ScoreLinksResponse(explanations=told)


def test_an_explanation_says_why_a_link_is_to_skip() -> None:
    for fake in serve(Copies()):
        args = ["score", "--why", "--target", f"127.0.0.1:{fake.port}", "--crawl", "c", LINKS[0]]
        told = CliRunner().invoke(main, args)
    rows = [[cell.strip() for cell in line.split("│")[1:3]] for line in told.output.splitlines()]
    assert ["to skip", "copy"] in rows
    assert ["copy", "0.93"] in rows
