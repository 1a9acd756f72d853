"""The papers' tables: the page is what the results give, and what measures them does what it says."""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from linkscore_lab.replay.prepare import prepare_generated
from linkscore_lab.replay.runs import (
    USER_CONTENT,
    Experiment,
    ReplayProtocol,
)
from linkscore_research.behavior import patterns
from linkscore_research.behavior.patterns import behavior_graph
from linkscore_research.behavior.split import salient
from linkscore_research.papers import page
from linkscore_research.papers.__main__ import main
from linkscore_research.papers.behavior import Click, counted
from linkscore_research.papers.figures import filled, untrue
from linkscore_research.papers.focus import crawled, keyword_entry, obeys_hints, only_kinds
from linkscore_research.papers.forums import ENGINES, KINDS, GeneratedForum
from linkscore_research.papers.news import concentration, seed_rows, shares
from linkscore_research.papers.page import page_files, stale_files
from linkscore_research.papers.results import (
    RESULTS,
    PaperResult,
    PaperTable,
    read_result,
    write_result,
)
from linkscore_research.papers.simulator_files import WANTED, SimulatorSite
from linkscore_research.papers.sites import ForumExperiment
from linkscore_research.papers.source import BreadthFirstSample, runs_of
from linkscore_scoring.browse_logs.counts import OUTSIDE
from support.browse_logs.clicks import counts_of

XENFORO = next(engine for engine in ENGINES if engine.name == "as XenForo")


def test_the_page_is_what_the_results_give() -> None:
    assert stale_files() == []


def test_a_finding_without_its_figure_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no figure"):
        page_files(tmp_path)


def test_no_page_is_made_of_words_that_the_results_refute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = shutil.copytree(RESULTS, tmp_path / "results")
    measured = read_result("source-table-3")
    assert measured is not None
    head, *rows = measured.tables[0].rows
    worse = PaperTable(measured.tables[0].columns, [[head[0], head[1], 0.1, *head[3:]], *rows])
    write_result(replace(measured, tables=[worse, *measured.tables[1:]]), results)
    with pytest.raises(ValueError, match=r"SOUrCe, 'Nearly all.* the results say otherwise.*BFS < SOUrCe"):
        page_files(results)
    monkeypatch.setattr(page, "read_result", lambda name, _: read_result(name, results))
    said = CliRunner().invoke(main, ["page", "--check"])
    assert (said.exit_code, said.output[:21]) == (1, "Error: SOUrCe, 'Nearl")


FIRST = PaperTable(["", "share", "paper"], [["a, b", 0.5, 0.9], ["a", 0.25, None], ["b", 0.75, 0.8]])
SECOND = PaperTable(["", "share"], [["b", 1]], "Other")
MEASURED = {"t": PaperResult(name="t", command="", date="", data="", tables=[FIRST, SECOND])}


@pytest.mark.parametrize(
    ("where", "fact", "so"),
    [
        ("t|share", "a < a, b < b", True),
        ("t|share", "a, b < a", False),
        ("t|share", "a <= 0.25 <= a", True),
        ("t|share", "a = 0.26", False),
        ("t|share", "* <= 1", True),
        ("t|share", "* < 1", False),
        ("t#1|share", "* < 1", True),
        ("t#2|share", "b = 1", True),
        ("t|share", "a < b < b|paper", False),
        ("t#1|share", "a < b < b|paper", True),
        ("t|share", "a, ? = 0.5", True),
    ],
)
def test_a_fact_compares_every_figure_that_its_terms_name(where: str, fact: str, so: bool) -> None:
    assert untrue(MEASURED, {where: [fact]}) == ([] if so else [f"{where}: {fact}"])


@pytest.mark.parametrize("fact", ["c < 1", "a < a|paper", "a < a|date"])
def test_a_fact_about_what_was_not_measured_is_an_error(fact: str) -> None:
    with pytest.raises(ValueError, match="no figure"):
        untrue(MEASURED, {"t|share": [fact]})


def test_a_figure_in_a_text_is_the_first_of_its_row() -> None:
    assert filled(MEASURED, "{t|b|share}, {t#2|b|share} and {t|*|paper}") == ".750, 1 and .900"


def test_a_table_without_its_data_says_which_option_it_needs() -> None:
    told = CliRunner().invoke(main, ["news-figure-2"])
    assert told.exit_code == 1
    assert "--folder" in told.output


def test_a_sample_taken_breadth_first_comes_in_that_order_until_the_site_is_learned() -> None:
    generated = GeneratedForum(XENFORO)
    with prepare_generated(generated) as site:
        experiment = Experiment(site, ReplayProtocol(budget="25%"))
        (kind, *_) = generated.wanted_types
        task = replace(experiment.target(kind), name=USER_CONTENT)
        make = partial(BreadthFirstSample, sample_pages=60)
        sampled = replace(experiment, make_scorer=make)
        (ours,) = runs_of(sampled, task, "source_ucc", (1,), budget="40")
        (first,) = runs_of(experiment, task, "breadth_first", (1,), budget="40")
        (plan,) = runs_of(experiment, task, "source_ucc", (1,), budget="40")
        (learned,) = runs_of(sampled, task, "source_ucc", (1,), budget="120")
    assert ours.order_digest == first.order_digest
    assert ours.order_digest != plan.order_digest
    assert learned.fetched == 120


@pytest.mark.long
def test_a_crawler_that_obeys_hints_leaves_nofollow_and_what_robots_txt_forbids() -> None:
    with prepare_generated(GeneratedForum(XENFORO)) as site:
        experiment = ForumExperiment(site, ReplayProtocol(budget="100%"), kinds=KINDS)
        every = crawled(experiment, "breadth_first", lambda _: obeys_hints())
        shut = crawled(experiment, "breadth_first", lambda _: obeys_hints("User-agent: *\nDisallow: /m"))
        threads = crawled(experiment, "breadth_first", lambda _: only_kinds(KINDS, frozenset({"THREAD"})))
    assert every.metrics["coverage"] == 1.0
    assert threads.fetched < shut.fetched < every.fetched
    assert threads.fetched == 1


def test_the_heuristic_takes_the_url_up_to_a_keyword_for_the_entry() -> None:
    assert keyword_entry("http://h.example/a/bbs/t/1.html") == "http://h.example/a/bbs/"
    assert keyword_entry("http://h.example/bbs.php?t=1") == "http://h.example/"


def test_transits_count_once_a_client_and_day_or_once_a_pair() -> None:
    clicks = [
        Click(0, "a", "/x", ""),
        Click(0, "a", "/x", "/y"),
        Click(1, "a", "/x", "/y"),
        Click(1, "b", "/x", "/y"),
        Click(9, "b", "/x", "/y"),
    ]
    first, pairs = counted(clicks, 0, 2), counted(clicks, 0, 2, pairs=True)
    assert (first.urls, first.clicks.tolist()) == (["/x", "/y"], [1, 2])
    assert dict(zip(first.from_urls.tolist(), first.transits.tolist(), strict=True)) == {OUTSIDE: 1, 1: 2}
    assert dict(zip(pairs.from_urls.tolist(), pairs.transits.tolist(), strict=True)) == {OUTSIDE: 1, 1: 2}
    twice = counted([*clicks, Click(1, "a", "/z", "/y"), Click(0, "a", "/z", "/y")], 0, 2)
    assert int(twice.visits().sum()) == 5


def test_news_that_seeds_lead_to_is_counted_once_and_what_nobody_labelled_not() -> None:
    clicks = [
        Click(0, "a", "http://h.org/n1", "http://h.org/"),
        Click(0, "a", "http://h.org/n1", "http://h.org/list"),
        Click(1, "b", "http://h.org/n1", "http://h.org/list"),
        Click(1, "b", "http://h.org/n2", "http://h.org/list"),
        Click(1, "b", "http://h.org/other", "http://h.org/list"),
        Click(1, "b", "http://h.org/n3", ""),
    ]
    labels = {f"http://h.org/n{n}": True for n in (1, 2, 3)} | {"http://h.org/other": False}
    assert shares({"http://h.org/n1", "http://h.org/other"}, labels) == [0.5, pytest.approx(1 / 3)]
    counts = counted(clicks, 0, 2, pairs=True)
    rows = seed_rows([("h", counts, labels)], ["http://h.org/list", "http://h.org/nowhere"])
    assert rows[1:] == [["3", 2, 1, 1], ["10", 2, 1, 1], ["30", 2, 1, 1]]


def published(folder: Path, network: str = "7\t8\t9\n8\t7\n") -> Path:
    (folder / "index.tsv").write_text("7\thttp://a.test/\n8\thttp://b.test/x?a&b\n9\thttp://b.test/y\n")
    (folder / "network.tsv").write_text(network)
    (folder / "label.tsv").write_text("9\tmicrodata\n10\t\n")
    return folder


def test_a_crawl_in_the_published_form_is_a_site(tmp_path: Path) -> None:
    with prepare_generated(SimulatorSite(published(tmp_path))) as site:
        assert [site.records[n].key for n in site.reachable()] == [
            "http://a.test/",
            "http://b.test/x?a&b",
            "http://b.test/y",
        ]
        assert [key for key, kind in site.types.items() if kind == WANTED] == ["http://b.test/y"]


def test_early_clicks_by_hand() -> None:
    counts = counts_of({"http://a.test/": {2: 6, 3: 3, 9: 1}})
    # First click on the third day of ten: 9 of 10 clicks in 3 of the 8 days there are.
    assert concentration(counts)[0][0] == pytest.approx(0.9 / (3 / 8))
    # As printed: days a to a + m (9 of 10), m / (n - a) = 3 / 7.
    assert concentration(counts, literal=True)[0][0] == pytest.approx(0.9 / (3 / 7))


def test_values_above_the_largest_drop_of_the_logarithm_stay() -> None:
    counts = np.array([1, 90, 2, 80, 1])  # ln 90 - ln 80 = .12, ln 80 - ln 2 = 3.69, ln 2 - ln 1 = .69
    assert salient(counts, 174).tolist() == [False, True, False, True, False]


def test_one_step_of_the_behaviour_graph_is_eq_10(monkeypatch: pytest.MonkeyPatch) -> None:
    """Home 0 and posts 1; 10 records home -> post, 5 post -> home; 5 more of each from outside.

    auth0 = (10, 15) / 25, hub0 = (10, 5) / 15. auth(0) = 5/5 hub(1) = 1/3, auth(1) = 10/10 hub(0) = 2/3;
    hub(0) = 10/15 auth(1) = .4, hub(1) = 5/10 auth(0) = .2.
    """
    monkeypatch.setattr(patterns, "MAX_ITERATIONS", 1)
    ways, transits = np.array([0, 1]), np.array([10.0, 5.0])
    auth, hub = behavior_graph(ways, ways[::-1], transits, np.array([10.0, 15.0]), np.array([10.0, 5.0]))
    assert auth == pytest.approx(np.array([1, 2]) / np.sqrt(5))
    assert hub == pytest.approx(np.array([2, 1]) / np.sqrt(5))
