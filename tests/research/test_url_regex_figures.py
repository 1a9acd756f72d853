"""Figures of learned expressions: learned from some URLs of a type, matched against all of a site."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from linkscore_research.__main__ import main
from linkscore_research.page_types.url_regexes import measure_regexes, run_regexes


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


def test_the_command_writes_its_figures(tmp_path: Path) -> None:
    table = "url\tpage_type\n" + "".join(f"http://a.org/t/{n}\tthread\n" for n in range(20))
    (tmp_path / "a.tsv").write_text(table)
    got = CliRunner().invoke(main, ["regexes", str(tmp_path / "a.tsv"), "--json", str(tmp_path / "out.json")])
    assert got.exit_code == 0, got.output
    (row,) = json.loads((tmp_path / "out.json").read_text())
    assert (row["page_type"], row["pages"]) == ("thread", 20)
