"""Policies measured in real Scrapy crawls of a stored site: tasks, and figures of each."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from linkscore_lab.archives import write_warc
from linkscore_lab.crawls.crawl import Target
from linkscore_lab.crawls.testbed import Testbed
from linkscore_lab.datasets.demo_site import DemoSite
from linkscore_lab.datasets.survey import PageFacts, Survey
from linkscore_research.scrapy_policies import main, target_task, user_content_task

PAGES = {f"u{n}": PageFacts((), (), f"c{n}") for n in range(10)}
TESTBED = Testbed(
    "s", Target("http://s.test/"), Survey(PAGES, {"u0": "home", "u1": "thread", "u2": "thread"})
)
SITE = DemoSite(5, "https://demo.test", n_threads=12, n_members=6)


def test_a_target_task_has_as_many_fetches_as_targets() -> None:
    assert target_task(TESTBED, "thread", lambda url: f"<p>{url}", seed=1).budget == 2


def test_the_example_of_a_target_task_is_free_and_does_not_count() -> None:
    task = target_task(TESTBED, "thread", lambda url: f"<p>{url}", seed=1)
    example = task.example.removeprefix("<p>")
    assert example in {"u1", "u2"}
    assert task.wanted == {"u1", "u2"} - {example}


def test_a_user_content_task_has_a_share_of_the_site() -> None:
    assert user_content_task(TESTBED, ["thread"], "50%").budget == 5


@pytest.mark.slow
def test_the_command_writes_the_figures_of_each_site_task_and_policy(tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    kept = {url: kind for url, kind in SITE.labels().items() if kind not in ("calendar", "thread_permalink")}
    write_warc(tmp_path / "demo.warc.gz", {url: SITE.respond(url).body.decode() for url in kept})
    rows = "".join(f"{url}\t{kind}\n" for url, kind in kept.items())
    (tmp_path / "demo.labels.tsv.gz").write_bytes(gzip.compress(f"url\tpage_type\n{rows}".encode()))
    types = (
        "site\tpage_type\tuser_content\ttarget\ndemo\tthread\t1\t1\ndemo\tprofile\t1\t1\ndemo\ttag\t0\t0\n"
    )
    (tmp_path / "page_types.tsv").write_text(types)
    asked = ["--corpora", str(tmp_path), "--site", "demo", "--policy", "breadth_first", "--out", str(out)]
    main([*asked, "--budget", "15"], standalone_mode=False)
    (user_content,) = json.loads(out.read_text())
    main([*asked, "--target-type", "all"], standalone_mode=False)
    thread, profile = json.loads(out.read_text())
    assert (user_content["task"], user_content["fetched"], user_content["n_wanted"]) == (
        "user_content",
        15,
        18,
    )
    assert (thread["task"], thread["fetched"]) == ("thread", 12)
    assert (profile["task"], profile["fetched"]) == ("profile", 6)
    assert profile["valid_ratio"] == profile["recall"]
