"""Figures of learned expressions: learned from some URLs of a type, matched against all of a site."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkscore_lab.experiments.page_types.url_regexes import measure_regexes, run_regexes


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    rows = ["url\tpage_type"]
    rows += [f"http://f.test/t/{i}\tthread" for i in range(40)]
    rows += [f"http://f.test/b/{i}\tboard" for i in range(12)]
    rows += ["http://f.test/t/99\tother", "http://f.test/help\tother"]
    path = tmp_path / "forum.labels.tsv"
    path.write_text("\n".join(rows) + "\n")
    return path


def test_precision_counts_every_url_of_the_site_and_small_types_are_not_learned(labels: Path):
    thread, board = measure_regexes(labels, sample=8)
    assert (thread.site, thread.page_type, thread.pages) == ("forum", "thread", 40)
    assert (thread.precision, thread.recall) == (pytest.approx(40 / 41), 1.0)
    assert thread.regexes == (r"^https?://f\.test/t/\d+/?$",)
    assert (board.page_type, board.precision, board.recall) == ("board", 1.0, 1.0)


def test_the_command_prints_means(labels: Path, capsys: pytest.CaptureFixture[str]):
    found = run_regexes([labels], sample=8, paper=True)
    assert found[0].regexes == (r"^http://f\.test/t/\d+$",)
    assert "mean" in capsys.readouterr().out
