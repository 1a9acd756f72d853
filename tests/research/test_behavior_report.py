"""Orders judged on a small stored site whose log was written by hand."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from linkscore_cli.main import main as command_line
from linkscore_research.behavior.orders import (
    discovery_share,
    fetch_share,
    greedy_order,
)
from linkscore_research.behavior.report import behavior_report
from support.replay_sites import page, write_site

HOST = "board.test"
DAYS, THREADS = 30, 50


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Write a board and its log: a thread a day that people visit from one of two lists; ten more to come."""
    folder = tmp_path_factory.mktemp("board")
    lists = {f"/list?f={f}": page([f"/show?t={n}" for n in range(f, THREADS, 2)]) for f in (0, 1)}
    threads = {f"/show?t={n}": page(["/", "/who?u=1"], f"thread {n}") for n in range(THREADS)}
    site = {
        "/": page(["/list?f=0", "/list?f=1", "/who?u=1"]),
        **lists,
        "/who?u=1": page(["/"], "who"),
        **threads,
    }
    log = folder / "log.tsv"
    log.write_text("".join(_lines()), encoding="utf-8")
    return write_site(folder / f"{HOST}.warc.gz", HOST, site), log


def _lines() -> list[str]:
    start, lines = datetime(2026, 1, 1, tzinfo=UTC), []
    for day in range(DAYS):
        for client in range(6):
            at = start + timedelta(days=day, minutes=client)
            visits = [
                ("/", "-"),
                (f"/list?f={(15 + day) % 2}", "/"),
                (f"/show?t={15 + day}", f"/list?f={(15 + day) % 2}"),
            ]
            for n, (path, referrer) in enumerate(visits):
                origin = referrer if referrer == "-" else f"http://{HOST}{referrer}"
                time = (at + timedelta(seconds=20 * n)).strftime("%Y-%m-%dT%H:%M:%SZ")
                lines.append(f"{time}\t10.0.{day}.{client}\thttp://{HOST}{path}\t{origin}\n")
    return lines


def test_the_share_counts_pages_until_eighty_percent() -> None:
    visits = np.array([1.0, 50.0, 29.0, 20.0])
    assert fetch_share([1, 2, 3, 0], visits) == 0.75
    assert fetch_share([0, 1, 2, 3], visits) == 0.75
    assert fetch_share([1], visits) == 1.0, "an order that never gets there needs all"


def test_a_visit_discovers_the_page_and_what_it_links_to_once() -> None:
    links = [np.array(to, dtype=np.int64) for to in ([1, 2], [0, 1], [], [2, 2])]
    visits = np.array([10.0, 40.0, 30.0, 20.0])
    assert discovery_share([0], links, visits) == 0.25
    assert discovery_share([1, 3], links, visits) == 0.5
    assert discovery_share([2, 1, 3, 0], links, visits) == 0.5


def test_greedy_takes_what_adds_most() -> None:
    links = [np.array(to, dtype=np.int64) for to in ([1], [], [1, 3], [])]
    assert greedy_order(links, np.array([5.0, 10.0, 1.0, 3.0]))[:2] == [0, 2]


def test_behaviour_comes_near_the_oracle_on_a_board_where_threads_are_read_for_a_day(
    stored: tuple[Path, Path],
) -> None:
    report = behavior_report(stored[1], [stored[0]], days=24, workers=1)
    assert (report.pages, report.mined_days, report.judged_days) == (54, 24, 6)
    assert (report.judged_visits, report.of_mirror) == (6 * 6 * 3, 1.0)
    fetch = {row.order: row for row in report.fetch}
    discovery = {row.order: row for row in report.discovery}
    assert fetch["oracle"].times == discovery["oracle"].times == 1.0
    assert fetch["behavior_fetch"].times <= 2.0
    assert fetch["behavior_fetch"].share < fetch["breadth_first"].share
    assert discovery["behavior_discovery"].times <= 2.0
    assert [figure.later_visits for figure in report.patterns][:3] == [1.0] * 3


def test_a_replay_knows_the_log_before_its_first_page(stored: tuple[Path, Path], tmp_path: Path) -> None:
    wanted = tmp_path / "feedback.tsv"
    rows = "".join(f"http://{HOST}/show?t={n}\t1\n" for n in range(15, 45))
    wanted.write_text("url\treward\n" + rows, encoding="utf-8")
    head = ["replay", str(stored[0]), "--feedback-file", str(wanted), "--budget", "20", "--seeds", "1"]
    tail = ["--policy", "behavior_fetch:fallback=breadth_first", "--workers", "1"]
    found = []
    for i, log in enumerate([[], ["--browse-log", str(stored[1]), "--browse-days", "15"]]):
        out = tmp_path / f"{i}.json"
        result = CliRunner().invoke(command_line, [*head, *tail, *log, "--json", str(out)])
        assert result.exit_code == 0, result.output
        (run,) = json.loads(out.read_text())["runs"]
        found.append(run["metrics"]["valid_ratio"])
    assert found[1] > found[0]
