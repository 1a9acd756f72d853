"""Figures of news mining on a generated log whose truth is known."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from linkscore_research.__main__ import main
from linkscore_research.news.filters import (
    EVERYTHING,
    LABELS,
    TRUE_LABELS,
    NewsTruth,
    half_figures,
    part_of,
    read_news_labels,
    signal_figures,
    time_figures,
)
from linkscore_research.news.hubs import hub_figures, menu_of
from linkscore_scoring.browse_logs.counts import BrowseCounts
from linkscore_scoring.errors import InvalidInput
from support.warc_writing import http, members, record

HOST = "http://a.test"
NEWS = [f"{HOST}/news/{i}" for i in range(40)]
WIKI = [f"{HOST}/wiki/{i}" for i in range(40)]
LIST, MENU = f"{HOST}/latest", [f"{HOST}/wiki", f"{HOST}/about"]
DEFAULT = "default, calibrated"


@pytest.fixture(scope="module")
def counts() -> BrowseCounts:
    """Clicks of 60 days: news die away from the day they appear, wiki pages do not; a list links to news."""
    urls = [*NEWS, *WIKI, LIST, *MENU]
    cells = [(i, i + age, n) for i in range(40) for age, n in enumerate([40, 15, 6, 2]) if i + age < 60]
    cells += [(i, day, 2) for i in range(40, len(urls)) for day in range(60)]
    rows = [np.array(column, dtype=np.int64) for column in zip(*cells, strict=True)]
    ways = [(80, i, 9) for i in range(40)] + [(81, i, 1) for i in range(36, 44)]
    flows = [np.array(column, dtype=np.int64) for column in zip(*ways, strict=True)]
    return BrowseCounts(20_000, 60, urls, *rows, *flows)


@pytest.fixture(scope="module")
def truth() -> NewsTruth:
    every = {url: url in NEWS for url in [*NEWS, *WIKI]}
    fit = {url: news for i, (url, news) in enumerate(every.items()) if i % 3 == 0}
    return NewsTruth(fit, {url: news for url, news in every.items() if url not in fit})


def test_signals_that_part_the_kinds_have_no_error(counts: BrowseCounts, truth: NewsTruth) -> None:
    found = {(figures.signal, figures.population): figures for figures in signal_figures(counts, truth)}
    assert set(found) == {(s, p) for s in ("literal", "consistent", "decay") for p in ("window", "life")}
    for figures in found.values():
        assert (figures.judged, figures.news, figures.accuracy, figures.best) == (53, 26, 1.0, 1.0)
        assert figures.mean_news > figures.threshold > figures.mean_other


def test_prefixes_learned_from_one_half_find_the_news_of_the_other(
    counts: BrowseCounts, truth: NewsTruth
) -> None:
    found = {(f.method, f.split): f for f in half_figures(counts, truth, draws=3)}
    for method in (DEFAULT, LABELS, TRUE_LABELS):
        assert (found[method, "halves"].precision, found[method, "halves"].recall) == (1.0, 1.0)
    everything = found[EVERYTHING, "unseen"]
    assert everything.recall == 1.0
    assert everything.precision == pytest.approx(everything.news / everything.judged)


def test_by_time_only_pages_that_came_later_are_judged(counts: BrowseCounts, truth: NewsTruth) -> None:
    early = part_of(counts, range(20))
    early.n_days = 20
    found = {f.method: f for f in time_figures(early, counts, truth)}
    assert found[EVERYTHING].judged == sum(url in truth.judge for url in NEWS[20:])
    assert found[EVERYTHING].precision == 1.0


def test_a_part_of_the_counts_has_the_visits_of_its_pages_alone(counts: BrowseCounts) -> None:
    part = part_of(counts, [0, 36])
    assert set(part.click_urls.tolist()) == {0, 36}
    assert part.clicks.sum() == 2 * 63
    assert sorted(zip(part.from_urls.tolist(), part.to_urls.tolist(), strict=True)) == [
        (80, 0),
        (80, 36),
        (81, 36),
    ]


def test_hubs_are_held_against_as_many_pages_of_the_menu(counts: BrowseCounts, truth: NewsTruth) -> None:
    [first, *_] = hub_figures(counts, counts, counts, MENU, truth)
    news = sum(truth.judge.values())
    in_menu = sum(truth.judge.get(url, False) for url in NEWS[36:])
    assert (first.split, first.n, first.hubs, first.by_count, first.all_news) == (
        "window",
        1,
        news,
        news,
        news,
    )
    assert first.menu_first == in_menu
    assert first.menu_drawn == pytest.approx(in_menu / 2, abs=0.5)


def test_the_menu_is_the_lists_that_the_entry_page_links_to(tmp_path: Path) -> None:
    links = "".join(f"<a href='/{name}'>x</a>" for name in ("b", "", "post", "a", "b", "gone"))
    pages = {"": http(links.encode()), "a": http(b"x"), "b": http(b"x"), "post": http(b"x")}
    warc, labels, types = (tmp_path / name for name in ("s.warc.gz", "s.tsv", "types.tsv"))
    records = (record(f"http://s.test/{name}", body) for name, body in pages.items())
    warc.write_bytes(b"".join(members(*records)))
    kinds = {"": "list", "a": "list", "b": "list", "post": "post"}
    rows = (f"http://s.test/{name}\t{kind}" for name, kind in kinds.items())
    labels.write_text("\n".join(["url\tpage_type", *rows]) + "\n")
    head, types_of = "site\tpage_type\tkind\tuser_content\ttarget", ("list\tINDEX", "post\tTHREAD")
    types.write_text("\n".join([head, *(f"s\t{row}\t0\t0" for row in types_of)]) + "\n")
    assert menu_of(warc, labels, types, "s") == ["http://s.test/b", "http://s.test/a"]


def test_labels_are_read_by_identity(tmp_path: Path) -> None:
    file = tmp_path / "labels.tsv.gz"
    file.write_bytes(
        gzip.compress(b"url\tis_news\tkind\nhttp://A.test/x?b=1&a=2\t1\tz\nhttp://a.test/\t0\tz\n")
    )
    assert read_news_labels(file) == {"http://a.test/x?a=2&b=1": True, "http://a.test/": False}


@pytest.mark.parametrize(
    ("text", "message"),
    [("url\tnews\n", "column is_news missing"), ("url\tis_news\nhttp://a/\tyes\n", "must be 0 or 1")],
)
def test_bad_label_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "labels.tsv"
    file.write_text(text)
    with pytest.raises(InvalidInput, match=message):
        read_news_labels(file)


def test_the_command_writes_the_figures_of_a_log(truth: NewsTruth, tmp_path: Path) -> None:
    log, out = tmp_path / "log.tsv", tmp_path / "out.json"
    start = datetime(2026, 1, 1, tzinfo=UTC)
    visits = [(i + age, url) for i, url in enumerate(NEWS) for age in range(3)]
    visits += [(day, url) for url in WIKI for day in range(60)]
    lines = [
        f"{(start + timedelta(days=day)).isoformat()}\tc{day}\t{url}\t-\n" for day, url in sorted(visits)
    ]
    log.write_text("".join(lines))
    command = ["news", str(log), "--json", str(out)]
    for option, known in (("--fit", truth.fit), ("--judge", truth.judge)):
        table = tmp_path / f"{option}.tsv"
        table.write_text("url\tis_news\n" + "".join(f"{url}\t{news:d}\n" for url, news in known.items()))
        command += [option, str(table)]
    got = CliRunner().invoke(main, command)
    assert got.exit_code == 0, got.output
    found = json.loads(out.read_text())
    assert {row["signal"] for row in found["signals"]} == {"literal", "consistent", "decay"}
    assert found["hubs"] == []
