"""The report is one file that needs nothing else, and shows nothing of a site as markup."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from linkscore_lab.replay.results import Input, Meta, RunResult, ScoreExplanation
from linkscore_lab.report import write_report
from linkscore_scoring.errors import InvalidInput

EVIL = '<img src="https://evil.test/x.png" onerror=alert(1)>'
VOID = {"meta", "wbr"}
LOADERS = {"src", "srcset", "data", "action", "poster", "background", "xlink:href"}
META = Meta("2026-01-02T03:04:05Z", {"s": Input("ab" * 32, 3)}, "1.2.3")


def run(policy: str, seed: int = 1, good: tuple[int, ...] = (0, 1, 1, 2), **other: Any) -> RunResult:
    fields: dict[str, Any] = {
        "site": "s",
        "task": "user_content",
        "mode": "none",
        "start": "https://s.test/",
        "budget": 4,
        "fetched": len(good),
        "seconds": 1.0,
        "metrics": {"valid_ratio": good[-1] / len(good) if good else 0.0, "recall": 0.5},
        "n_reachable": 10,
        "n_wanted": 3,
        "order_digest": f"{policy} {seed}",
        "composition": {"thread": good, "board": tuple(n - g for n, g in enumerate(good, 1))} if good else {},
        "wanted_types": ("thread",),
    }
    return RunResult(**{**fields, "policy": policy, "seed": seed, "curve": good, **other})


RUNS = [
    run("breadth_first"),
    run(
        "harvest",
        1,
        (1, 2, 3, 3),
        explanations=[ScoreExplanation("https://s.test/t", 0.5, "b1", "led to text")],
    ),
    run("harvest", 2, (1, 1, 2, 3)),
    run("harvest", site="u"),
    run("harvest", task="target:thread", mode="feedback"),
]


class Page(HTMLParser):
    """The elements, attributes and text of a page; fails on tags that do not match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, name: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(name)
        self.attributes += [(name, key, value or "") for key, value in attrs]
        if name not in VOID:
            self.open.append(name)

    def handle_endtag(self, name: str) -> None:
        assert self.open.pop() == name

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)

    def values(self, name: str) -> list[str]:
        return [value for _, key, value in self.attributes if key == name]


@pytest.fixture
def written(tmp_path: Path) -> str:
    path = tmp_path / "new" / "report.html"
    write_report(path, RUNS, META)
    assert [each.name for each in path.parent.iterdir()] == ["report.html"]
    return path.read_text(encoding="utf-8")


def test_the_page_refers_to_nothing_outside_itself(written: str) -> None:
    page = Page(written)
    assert not LOADERS & {key for _, key, _ in page.attributes}
    assert not {"link", "img", "iframe", "object", "embed", "base", "image", "use"} & set(page.tags)
    assert all(value.startswith("#") for value in page.values("href"))
    assert "url(" not in written
    assert "@import" not in written
    assert "default-src 'none'" in written


def test_the_contents_lead_to_their_parts(written: str) -> None:
    page = Page(written)
    ids = page.values("id")
    assert len(set(ids)) == len(ids)
    assert len(page.values("href")) == 3
    assert {value[1:] for value in page.values("href")} <= set(ids)


def test_the_page_shows_questions_figures_inputs_and_reasons(written: str) -> None:
    text = Page(written).text
    for expected in (
        "Replay of 2 sites",
        "5 runs, made 2026-01-02T03:04:05Z with linkscore 1.2.3",
        "s: user content, no labels",
        "s: target thread, with feedback",
        "4 fetches; 10 pages can be reached, 3 of them are target pages.",
        "ab" * 32,
        "thread 75\u00a0%, board 25\u00a0%",
        "led to text",
        "sum of good(n) over n = 1..N",
    ):
        assert expected in text


def test_a_curve_is_drawn_for_each_policy_and_a_band_where_runs_differ(written: str) -> None:
    first = written[written.index("<figure") : written.index("</figure>")]
    assert first.count('class="line"') == 2
    assert first.count('class="band"') == 1
    assert "<title>Harvest curves of s: user content, no labels</title>" in first
    # breadth-first: good = 0, 1, 1, 2 of 4 fetches, the scale ends at 3: 1000 - 1000 / 3 = 667 after two
    assert 'd="M0 1000l250 0 250-333 250 0 250-334"' in first


def test_what_comes_from_a_site_is_text(tmp_path: Path) -> None:
    evil = run(
        EVIL,
        site=EVIL,
        task=f"target:{EVIL}",
        mode=EVIL,
        start=EVIL,
        composition={EVIL: (1, 2, 3, 4)},
        wanted_types=(EVIL,),
        explanations=[ScoreExplanation(EVIL, 1.0, EVIL, EVIL)],
    )
    write_report(tmp_path / "r.html", [evil, run("b")], Meta(EVIL, {EVIL: Input(EVIL)}, EVIL))
    written = (tmp_path / "r.html").read_text(encoding="utf-8")
    page = Page(written)
    assert "img" not in page.tags
    assert not page.values("onerror")
    assert "<img" not in written
    assert EVIL in page.text


def test_a_text_that_is_no_unicode_does_not_stop_the_report(tmp_path: Path) -> None:
    write_report(tmp_path / "r.html", [run("a\udcff")], META)
    assert "a?" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_runs_that_fetched_nothing_are_shown_too(tmp_path: Path) -> None:
    empty = run("a", good=(), fetched=0, budget=0, n_wanted=0, n_reachable=0, metrics={}, wanted_types=())
    write_report(tmp_path / "r.html", [empty], Meta("2026-01-02T03:04:05Z"))
    assert "0 fetches" in Page((tmp_path / "r.html").read_text(encoding="utf-8")).text


def test_no_runs_are_no_report(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="runs: must have at least one run"):
        write_report(tmp_path / "r.html", [], META)


def test_four_sites_and_fifteen_policies_stay_below_two_megabytes(tmp_path: Path) -> None:
    good = tuple(n * 7 // 9 for n in range(1, 1001))
    types = {f"type{k}": tuple(range(1, 101)) for k in range(12)}
    runs = [
        run(f"policy_{i}", seed, tuple(g - g * seed // 50 for g in good), site=f"s{s}", composition=types)
        for s in range(4)
        for i in range(15)
        for seed in (1, 2)
    ]
    write_report(tmp_path / "r.html", runs, META)
    assert (tmp_path / "r.html").stat().st_size < 2_000_000


def test_a_question_says_which_policies_were_given_an_example_page(tmp_path: Path) -> None:
    write_report(tmp_path / "r.html", [run("a", n_examples=1), run("b")], META)
    assert "Given an example page: a." in Page((tmp_path / "r.html").read_text()).text


def test_cells_name_themselves_where_rows_are_shown_as_cards(tmp_path: Path) -> None:
    """At 390 pixels, and for the table of all figures at 1280, a row is a card; it fits any width."""
    write_report(tmp_path / "report.html", RUNS, META)
    text = (tmp_path / "report.html").read_text()
    assert text.count("<td ") + text.count("<td>") == text.count('<td data-l="')
    assert 'class="sortable wide"' in text
