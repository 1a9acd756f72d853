"""Each cleaning rule leaves out what it says, is counted once, and the first that fits counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkscore_server.browse_logs.reading import log_file
from support.browse_logs.visit_logs import as_json, row, visits_of

LEFT_OUT = {
    "bad_line": [{"client": ""}, {"time": "soon"}, {"time": -5}],
    "method": [{"method": "POST"}, {"method": "HEAD", "status": 404}],
    "status": [{"status": 404}, {"status": 500, "user_agent": "Googlebot/2.1"}],
    "bot": [
        {"user_agent": "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"},
        {"user_agent": "curl/8.0"},
        {"user_agent": "Python-urllib/3.11"},
        {"user_agent": "UniversalFeedParser/4.2"},
    ],
    "asset": [
        {"url": "http://a.org/logo.PNG"},
        {"url": "http://a.org/s.css?v=3"},
        {"url": "http://a.org/robots.txt"},
        {"url": "http://a.org/api", "content_type": "application/json; charset=utf-8"},
    ],
    "bad_url": [{"url": "/path"}, {"url": "ftp://a.org/"}, {"url": "http://a.org:port/"}, {"url": "-"}],
}
KEPT = [
    {"url": "http://a.org/page.html"},
    {"url": "http://a.org/p.php?next=logo.png"},
    {"url": "http://a.org/v1.2/about"},
    {"url": "http://a.org/1", "status": 304},
    {"url": "http://a.org/2", "status": 0},
    {"url": "http://a.org/3", "user_agent": "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/120"},
    {"url": "http://a.org/4", "content_type": "text/html; charset=utf-8"},
    {"url": "http://a.org/5", "user_agent": "", "method": ""},
]


def outcomes(rows: list[dict[str, object]], path: Path, **cleaning: object) -> dict[str, int]:
    made = [row(n, "c", f"/{n}", content_type="") | change for n, change in enumerate(rows)]
    path.write_bytes(as_json(made))
    return visits_of(log_file(path), **cleaning)[1]


@pytest.mark.parametrize("rule", LEFT_OUT)
def test_a_rule_leaves_out_what_it_says(rule: str, tmp_path: Path) -> None:
    assert outcomes(LEFT_OUT[rule], tmp_path / "a.jsonl") == {rule: len(LEFT_OUT[rule])}


def test_pages_of_people_are_kept(tmp_path: Path) -> None:
    assert outcomes(KEPT, tmp_path / "a.jsonl") == {"": len(KEPT)}


def test_only_the_hosts_asked_for_are_kept(tmp_path: Path) -> None:
    rows = [{"url": "http://A.org/x"}, {"url": "http://b.org/a.org/"}, {"url": "http://a.org:8080/x"}]
    assert outcomes(rows, tmp_path / "a.jsonl", hosts=["a.org"]) == {"": 1, "host": 2}
