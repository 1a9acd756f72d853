"""What RE2, Java, Python and JavaScript read alike is kept, the rest is refused by name."""

from __future__ import annotations

import re

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from linkscore_scoring.exporters import portable


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"^https?://a\.org/t/[0-9]+$", r"^https?://a\.org/t/[0-9]+$"),
        ("a&b'c\"d <>`", r"a\x26b\x27c\x22d\x20\x3c\x3e\x60"),
        ("\n\r\u2028é", r"\x0a\x0d\u2028\u00e9"),
        (r"[^&/]\&\-\x{e9}", r"[^\x26/]\x26\-\u00e9"),
        ("a{x", r"a\{x"),
    ],
)
def test_what_is_portable_is_printable(pattern: str, expected: str) -> None:
    assert portable(pattern) == expected


@pytest.mark.parametrize(
    "pattern",
    [
        r"\pL",
        r"\bx",
        r"\Qa\E",
        "(?i)a",
        "(?=a)",
        r"(a)\1",
        "*a",
        "(a",
        "[a",
        "[z-a]",
        "[[:alpha:]]",
        "[]a]",
        "\\",
    ],
)
def test_what_is_not_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        portable(pattern)


PIECES = [*"ab01^$.|?*+()[]{}-:&,dwsxPzA<>=!i\\", "(?:", "[^", "\\d", "{2}", "é"]
SOUP = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


@given(SOUP, st.lists(st.text("ab01é-&[]^", max_size=6), max_size=6))
def test_whatever_is_written_fits_what_re2_fits(pattern: str, texts: list[str]) -> None:
    """RE2 itself is the judge; what it refuses may be refused or not."""
    options = re2.Options()
    options.log_errors = False
    try:
        written, meant = re.compile(portable(pattern), re.ASCII), re2.compile(pattern, options)
    except (ValueError, re2.error):
        return
    for text in texts:
        assert bool(written.search(text)) == bool(meant.search(text)), (pattern, written.pattern, text)
