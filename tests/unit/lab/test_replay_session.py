"""Whole comparisons of small stored sites, in process."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from linkscore_lab.datasets.relevance import ByType
from linkscore_lab.replay.policies import read_policy
from linkscore_lab.replay.prepare import SiteSource
from linkscore_lab.replay.results import RunResult
from linkscore_lab.replay.session import Progress, ReplaySession
from linkscore_lab.replay.suite import Suite, SuiteSite
from support.replay_sites import page, shop, write_site


class Heard(Progress):
    """Remembers what was said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def said(self, line: str) -> None:
        self.lines.append(line)


def shop_site(folder: Path, host: str = "shop.test") -> SuiteSite:
    warc, labels = shop(folder, host)
    kinds = {"item": "THREAD", "list": "INDEX", "home": "ENTRY", "about": "OTHER", "help": "OTHER"}
    return SuiteSite(SiteSource([warc], labels), ByType(["item"]), kinds=kinds)


def run(suite: Suite, workers: int = 1) -> list[RunResult]:
    return list(ReplaySession(suite, workers=workers).run())


def of(site: SuiteSite, *policies: str, seeds: int = 1) -> Suite:
    return Suite((site,), tuple(map(read_policy, policies)), seeds=seeds)


def test_a_run_says_what_was_crawled_and_how_well(tmp_path: Path) -> None:
    (found,) = run(of(shop_site(tmp_path), "breadth_first"))
    assert (found.site, found.task, found.mode, found.policy) == (
        "shop.test",
        "user_content",
        "none",
        "breadth_first",
    )
    assert (found.budget, found.fetched, found.n_reachable, found.n_wanted) == (7, 7, 29, 24)
    assert found.curve == [0, 0, 0, 0, 0, 1, 2]
    assert found.metrics["valid_ratio"] == pytest.approx(2 / 7)
    assert found.metrics["path_share"] == pytest.approx(5 / 7)
    assert found.start == "http://shop.test/"
    assert found.composition["list"][-1] == 2


def test_runs_are_the_same_on_one_core_and_on_several(tmp_path: Path) -> None:
    suite = of(shop_site(tmp_path), "uniform_random", "harvest", seeds=3)
    one, two = run(suite), run(suite, workers=2)
    assert [r.order_digest for r in one] == [r.order_digest for r in two]
    assert [(r.policy, r.seed) for r in one] == [
        (p, s) for p in ("uniform_random", "harvest") for s in (1, 2, 3)
    ]
    assert len({r.order_digest for r in one[:3]}) > 1


def test_oracles_run_beside_policies(tmp_path: Path) -> None:
    suite = of(shop_site(tmp_path), "breadth_first", "oracle_greedy")
    ratios = [run.metrics["valid_ratio"] for run in run(suite)]
    assert ratios == [pytest.approx(2 / 7), pytest.approx(5 / 7)]


def test_a_target_task_has_as_many_fetches_as_pages_and_gives_an_example_away(tmp_path: Path) -> None:
    site = replace(shop_site(tmp_path), relevance=None, targets=("item",))
    plain, with_example = run(of(site, "breadth_first", "source_target"))
    assert (plain.task, plain.budget, plain.n_wanted) == ("target:item", 24, 24)
    assert (with_example.budget, with_example.n_wanted) == (24, 23)
    assert (plain.n_examples, with_example.n_examples) == (0, 1)


def test_examples_are_not_counted(tmp_path: Path) -> None:
    (found,) = run(of(replace(shop_site(tmp_path), modes=("examples",)), "breadth_first"))
    assert (found.mode, found.n_wanted, found.n_examples) == ("examples", 21, 3)


def test_what_needs_an_example_is_left_out_where_there_is_none(tmp_path: Path) -> None:
    heard = Heard()
    suite = of(shop_site(tmp_path), "source_target", "breadth_first")
    assert [run.policy for run in ReplaySession(suite, heard, workers=1).run()] == ["breadth_first"]
    assert "left out: source_target, user_content, none: needs an example page" in heard.lines[1]


def test_pages_with_text_of_their_own_are_wanted_of_a_site_nobody_says_anything_about(tmp_path: Path) -> None:
    """Items have some 460 characters each; a list that shows the beginning of all of them owns none of it."""
    items = {
        f"/item/{n}": f"number {n} has a text of its own, which goes on for a while " * 8 for n in range(5)
    }
    pages = {"/": page(["/list"])}
    pages["/list"] = page(list(items)) + "".join(f"<p>{text}</p>" for text in items.values())
    pages |= {url: page(["/"], text) for url, text in items.items()}
    warc = write_site(tmp_path / "shop.warc.gz", "shop.test", pages)
    found = run(of(SuiteSite(SiteSource([warc])), "breadth_first", "oracle_greedy"))
    assert {(r.task, r.n_reachable, r.n_wanted) for r in found} == {("new_text", 7, 5)}
