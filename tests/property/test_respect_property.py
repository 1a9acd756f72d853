"""Whatever a site sends: what it reserves is read without an error, and patterns mean what a regex would."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from linkscore_scoring.limits.respect import (
    FILES,
    MAX_CHARS,
    MAX_RULES,
    NOFOLLOW,
    USES,
    matches,
    read_rules,
    reserved_at,
    respect_facts,
    said_by_head,
    said_by_headers,
)
from linkscore_scoring.types import SentPage

SAID = {*USES, NOFOLLOW}
LINES = st.lists(
    st.sampled_from(
        [
            "User-agent: *",
            "User-agent: b",
            "Allow: /",
            "Content-Signal: /a ai-train=no",
            "content-signal: search=no",
        ]
    )
    | st.text(max_size=30)
)


@given(st.sampled_from(FILES), st.binary(max_size=400) | LINES.map(lambda lines: "\n".join(lines).encode()))
def test_any_file_gives_rules_within_their_bounds(path: str, body: bytes) -> None:
    rules = read_rules(path, body, "") or []
    assert len(rules) <= MAX_RULES
    assert sum(len(pattern) for pattern, _, _ in rules) <= MAX_CHARS
    assert reserved_at(rules, "/a") <= SAID


@given(st.lists(st.tuples(st.text(max_size=20), st.text(max_size=60)), max_size=5))
def test_any_headers_are_read(headers: list[tuple[str, str]]) -> None:
    assert said_by_headers([*headers, ("X-Robots-Tag", "noindex")]) <= SAID
    assert "search" in said_by_headers([*headers, ("X-Robots-Tag", "noindex")])


@given(st.binary(max_size=300), st.sampled_from(["", "gzip", "br", "zstd", "deflate", "\x00"]))
def test_any_body_is_read(body: bytes, encoding: str) -> None:
    assert said_by_head(body, encoding) <= SAID
    assert respect_facts(SentPage(0, "http://a.test/", (), body, encoding)).keys() <= {"reserved"}


@given(st.text("ab/*$", max_size=12), st.text("ab/$", max_size=16))
def test_a_pattern_means_what_a_regex_would(pattern: str, path: str) -> None:
    parts = pattern.removesuffix("$").split("*")
    meant = "(?s)" + ".*".join(map(re.escape, parts)) + (r"\Z" if pattern.endswith("$") else "")
    assert matches(pattern, path) == (re.match(meant, path) is not None)
