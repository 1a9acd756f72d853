"""The bed: sites read once, crawls of four starts, policies paired."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from click.testing import CliRunner

from linkscore_lab.replay import read_results
from linkscore_research.bed import bed, paired
from support.replay_sites import shop


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two labelled sites, one of which nobody wants anything of."""
    rows = ["site\tpage_type\tuser_content\ttarget\n"]
    for name, wanted in (("one", "1"), ("two", "0")):
        (tmp_path / name).mkdir()
        warc, labels = shop(tmp_path / name, f"{name}.test")
        warc.rename(tmp_path / f"{name}.warc.gz")
        (tmp_path / f"{name}.labels.tsv.gz").write_bytes(gzip.compress(labels.read_bytes()))
        rows.append(f"{name}\titem\t{wanted}\t1\n")
    (tmp_path / "page_types.tsv").write_text("".join(rows))
    return tmp_path


def test_a_second_run_reads_no_archive_and_gives_the_same_crawls(folder: Path) -> None:
    def run(*options: str) -> str:
        done = CliRunner().invoke(bed, ["--corpora", str(folder), "--cache", str(folder / "cache"), *options])
        assert done.exit_code == 0, done.output
        return done.output

    first, second = folder / "a.json", folder / "b.json"
    run("--out", str(first))
    (kept,) = (folder / "cache").iterdir()
    when = kept.stat().st_mtime_ns
    said = run("--out", str(second), "--before", str(first))
    assert kept.stat().st_mtime_ns == when
    assert "+0.0000" in said
    runs = read_results(first).runs
    assert len(runs) == 8
    assert len({run.start for run in runs}) == 4
    assert [run.order_digest for run in read_results(second).runs] == [run.order_digest for run in runs]


def test_gains_are_means_over_sites_with_their_standard_error() -> None:
    # site a gains .2 and 0, mean .1; site b gains .3: mean .2, s = .1414, se = .1
    base = {("a", "1"): 0.1, ("a", "2"): 0.5, ("b", "1"): 0.2}
    other = {("a", "1"): 0.3, ("a", "2"): 0.5, ("b", "1"): 0.5, ("c", "1"): 1.0}
    gain, error, harmed, worst, where = paired(base, other)
    assert (gain, error) == (pytest.approx(0.2), pytest.approx(0.1))
    assert (harmed, worst, where) == (0, pytest.approx(0.0), "a")
    assert paired(other, base)[2:] == (2, pytest.approx(-0.3), "b")
