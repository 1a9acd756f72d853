"""Counts of a log file without a server: the busiest site and its whole log, unless told otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkscore_lab.replay.browse_log import read_counts
from linkscore_scoring.errors import InvalidInput

LINES = """\
2024-10-04T00:00:00Z c1 http://a.org/ -
2024-10-04T01:00:00Z c1 http://a.org/x http://a.org/
2024-10-05T00:00:00Z c2 http://a.org/ http://b.org/
2024-10-07T00:00:00Z c1 http://b.org/ http://a.org/
2024-10-08T23:59:59Z c1 http://a.org/x -
"""
DAY = 20_000


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "visits.tsv"
    path.write_text(LINES.replace(" ", "\t"))
    return path


def test_the_busiest_site_is_counted_from_its_first_to_its_last_day(log: Path) -> None:
    counts = read_counts(log)
    assert (counts.first_day, counts.n_days) == (DAY, 5)
    assert counts.urls == ["http://a.org/", "http://a.org/x"]
    assert counts.click_days.tolist() == [0, 1, 0, 4]
    assert counts.transits.tolist() == [2, 1, 1]


def test_a_site_that_is_not_there_is_named(log: Path) -> None:
    with pytest.raises(InvalidInput, match=r"no visit of 'c\.org'"):
        read_counts(log, site="c.org")
