"""A crawl that was regrouped answers as one that was made with these groups and was sent the same calls."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import link_scoring_service_pb2 as pb
from support.grouped_crawls import Crawler, create, spec
from support.server_process import Stubs, serving, stubs

pytestmark = pytest.mark.long

GROUPS = 8
POLICIES = ("harvest", "opic", "focus", "tag_path_bandit", "uniform_random")


def regroup(data: Path, crawl: str) -> subprocess.CompletedProcess[str]:
    command = ["data", "regroup", crawl, "--groups", str(GROUPS), "--data-dir", str(data)]
    return subprocess.run(
        [sys.executable, "-m", "linkscore_cli", *command], capture_output=True, text=True, check=False
    )


class WholeAnswers(Crawler):
    """Keeps answers but for tickets, signed for their crawl, and texts that no log or snapshot has."""

    def ask(self) -> None:
        super().ask()
        named = (str(answer).replace(self.crawl, "crawls/NAME") for answer in self.answers)
        self.answers = [re.sub(r"\n *(ticket_values|anchor_text): .*", "", answer) for answer in named]


def change(server: Stubs, crawl: str) -> None:
    """Change a crawl that has events already: each group is told."""
    changed = crawl_pb.Crawl(name=crawl, extra_policies=[spec("opic")])
    request = crawl_pb.UpdateCrawlRequest(crawl=changed, update_mask={"paths": ["extra_policies"]})
    server.crawls.UpdateCrawl(request)


def begun(server: Stubs, name: str, groups: int, policy: str) -> WholeAnswers:
    crawler = WholeAnswers(server, create(server, name, groups, policy=spec(policy)))
    crawler.send(0, 6)
    change(server, crawler.crawl)
    crawler.send(6, 9)
    crawler.answers = []
    return crawler


def ended(server: Stubs, crawler: WholeAnswers) -> list[Any]:
    crawler.server = server
    crawler.ask()
    asked, crawler.answers = crawler.answers, []
    crawler.send(9, 12)
    crawler.ask()
    return asked + crawler.answers


@pytest.mark.slow
@pytest.mark.parametrize("before", [1, 3])
def test_answers_are_those_of_a_crawl_made_with_the_groups(before: int, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving(tmp_path) as process, stubs(process.target) as server:
        many = [begun(server, f"{policy}-many", GROUPS, policy) for policy in POLICIES]
        few = [begun(server, f"{policy}-few", before, policy) for policy in POLICIES]
        refused = regroup(data, "harvest-few")
    assert (refused.returncode, "in use by another linkscore server" in refused.stderr) == (1, True)
    for policy in POLICIES:
        done = regroup(data, f"{policy}-few")
        assert (done.returncode, done.stderr) == (0, "")
    with serving(tmp_path) as process, stubs(process.target) as server:
        for policy, made, regrouped in zip(POLICIES, many, few, strict=True):
            assert ended(server, regrouped) == ended(server, made), policy


def test_tickets_given_out_before_stay_good_and_creating_it_again_is_fine(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving(tmp_path) as process, stubs(process.target) as server:
        crawler = begun(server, "kept", 1, "harvest")
        asked = pb.ScoreLinksRequest(crawl=crawler.crawl, links=crawler.links)
        before = server.links.ScoreLinks(asked)
    assert regroup(data, "kept").returncode == 0
    with serving(tmp_path) as process, stubs(process.target) as server:
        assert server.links.ScoreLinks(asked).links == before.links
        for link in asked.links:
            link.ticket = b""
        assert server.links.ScoreLinks(asked).links != before.links
        assert (
            create(server, "kept", 0, policy=spec("harvest"), extra_policies=[spec("opic")]) == crawler.crawl
        )


@pytest.mark.slow
def test_what_cannot_have_groups_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    with serving(tmp_path) as process, stubs(process.target) as server:
        create(server, "whole", 1, policy=spec("anthelion"))
    files = {path: path.read_bytes() for path in (tmp_path / "data").rglob("*.log")}
    refused, none = (regroup(tmp_path / "data", name) for name in ("whole", "none"))
    assert "groups: must be 1: anthelion learns one model from all sites" in refused.stderr
    assert "crawl 'none': not among the 1 crawls" in none.stderr
    assert {path: path.read_bytes() for path in (tmp_path / "data").rglob("*.log")} == files
