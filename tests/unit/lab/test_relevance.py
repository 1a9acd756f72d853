"""Relevance: by label, URL or a file of rewards."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from linkscore_lab.datasets.site import (
    WANTED_REWARD,
    ByFeedback,
    ByType,
    ByUrl,
    Relevance,
    identity,
)
from linkscore_scoring.errors import InvalidInput


def ask(relevance: Relevance, url: str = "https://s.test/t?b=2&a=1") -> tuple[float | None, bool]:
    reward = relevance.reward(identity(url), url, "")
    return reward, (reward or 0.0) >= WANTED_REWARD


@pytest.mark.parametrize(
    ("pattern", "found"),
    [("a=1", True), (r"/t\?b", True), ("^/t", False), ("^https://s.test/t$", False), (r"^.*a=\d$", True)],
)
def test_a_pattern_is_found_anywhere_in_the_stored_url(pattern: str, found: bool) -> None:
    assert ask(ByUrl(pattern)) == (float(found), found)


def test_a_reward_is_reported_as_it_is_and_half_is_relevant(tmp_path: Path) -> None:
    file = tmp_path / "rewards.tsv.gz"
    rows = "note\turl\treward\nx\thttps://s.test/t?a=1&b=2#top\t0.5\n\thttps://s.test/u\t.49\n\thttps://s.test/u\t.25\n"
    file.write_bytes(gzip.compress(rows.encode()))
    relevance = ByFeedback(file)
    assert ask(relevance) == (0.5, True)
    assert ask(relevance, "https://s.test/u") == (0.25, False)
    assert ask(relevance, "https://s.test/unknown") == (None, False)
    assert relevance.rewards == {"https://s.test/t?a=1&b=2": 0.5, "https://s.test/u": 0.25}


@pytest.mark.parametrize(
    ("rows", "rule"),
    [
        ("https://s.test/\t2", r"line 2: reward must be a number in \[0, 1\], got '2'"),
        ("https://s.test/\tnan", r"line 2: reward must be a number in \[0, 1\], got 'nan'"),
        ("https://s.test/\tgood", "got 'good'"),
        ("https://s.test/", "got ''"),
        ("/relative\t1", "line 2: url must be absolute"),
        ("", "needs at least one row"),
    ],
)
def test_a_wrong_row_is_refused_by_its_line(tmp_path: Path, rows: str, rule: str) -> None:
    file = tmp_path / "rewards.tsv"
    file.write_text(f"url\treward\n{rows}\n")
    with pytest.raises(InvalidInput, match=rf"feedback_file: .*{rule}"):
        ByFeedback(file)


@pytest.mark.parametrize(
    ("kind", "given", "rule"),
    [
        (ByUrl, "(", "relevant_url: must be a regular expression"),
        (ByUrl, "", "relevant_url: must be a regular expression, got nothing"),
        (ByType, [" "], "relevant: must name at least one type"),
    ],
)
def test_bad_patterns_and_empty_types_are_refused(kind: type[ByUrl | ByType], given: Any, rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule):
        kind(given)
