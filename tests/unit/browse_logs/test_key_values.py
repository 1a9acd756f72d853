"""URLs as key-value pairs, worked by hand."""

from __future__ import annotations

import pytest

from linkscore_scoring.browse_logs.behavior.key_values import key_order, key_values


@pytest.mark.parametrize(
    ("url", "pairs"),
    [
        ("http://A.org/x/12/?q=z&p=3", {"host": "a.org", "p0": "x", "p1": "12", "?p": "3", "?q": "z"}),
        ("https://a.org:8080/", {"host": "a.org:8080"}),
        ("http://a.org/a%20b/C#top", {"host": "a.org", "p0": "a b", "p1": "C"}),
        ("http://a.org/s.php?bare", {"host": "a.org", "p0": "s.php", "?": "bare"}),
        ("http://a.org/?t=2&t=10&t=1", {"host": "a.org", "?t": "1,10,2"}),
        ("http://a.org/?e=", {"host": "a.org", "?e": ""}),
        ("http://[broken/", {}),
    ],
)
def test_a_url_has_the_pairs_one_reads_in_it(url: str, pairs: dict[str, str]) -> None:
    assert key_values(url) == pairs


def test_segments_past_twelve_are_one() -> None:
    pairs = key_values("http://a.org/" + "/".join(map(str, range(15))))
    assert pairs["p12"] == "12/13/14"
    assert len(pairs) == 14


def test_keys_sort_as_they_stand_in_a_url() -> None:
    assert sorted(["?b", "p10", "?a", "p2", "host"], key=key_order) == ["host", "p2", "p10", "?a", "?b"]
