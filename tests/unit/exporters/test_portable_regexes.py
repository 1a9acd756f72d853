"""What RE2, Java, Python and JavaScript read alike is kept, the rest is refused by name."""

from __future__ import annotations

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkscore_scoring.exporters.portable import NotPortable, branches, joined, literal


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"^https?://a\.org/t/[0-9]+$", r"^https?://a\.org/t/[0-9]+$"),
        (r"\Aa\d+?\z", "^a[0-9]+$"),
        (r"\w\W\s", r"[0-9A-Za-z_][^0-9A-Za-z_][\x09\x0a\x0c\x0d\x20]"),
        (r"(a|b){2,3}(?P<id>\d)*", "(?:a|b){2,3}(?:[0-9])*"),
        (r"[[:alpha:]_-]", "[A-Za-z_\\x2d]"),
        (r"[]a]", r"[\x5da]"),
        (r"[^&#/]", r"[^\x26\x23/]"),
        (r"[a[b&&c~]", r"[a\x5bb\x26\x26c\x7e]"),
        ("a&b'c\"d <>`", r"a\x26b\x27c\x22d\x20\x3c\x3e\x60"),
        ("\n\r\u2028é", r"\x0a\x0d\u2028\u00e9"),
        (r"\x41\x{e9}\x{2f}", r"A\u00e9/"),
        ("a{x", r"a\{x"),
        ("}]", r"\}\]"),
        ("", ""),
    ],
)
def test_what_is_portable_is_written_one_way(pattern: str, expected: str) -> None:
    assert joined(branches(pattern)) == expected


@pytest.mark.parametrize(
    ("pattern", "named"),
    [
        (r"\pL", r"\\p"),
        (r"\bx", r"\\b"),
        (r"\Qa\E", r"\\Q"),
        ("(?i)a", r"\(\?i"),
        ("(?i:a)", r"\(\?i"),
        ("(?=a)", r"\(\?="),
        ("(?<=a)", r"\(\?<"),
        (r"(a)\1", r"\\1"),
        ("a**", "repetition of a repetition"),
        ("a++", "repetition of a repetition"),
        ("*a", r"\*a"),
        ("^*", "repeated anchor"),
        ("(a", "ends early"),
        ("a)", "unbalanced"),
        ("[a", r"\[a"),
        ("[z-a]", "range"),
        ("[[:punct:]]", "punct"),
        ("a{3,2}", "min repeat"),
        ("a{99999999999999}", "repetition"),
        ("\\", r"\\\\"),
        (r"\x4", r"x4"),
        ("\U0001f600", "1F600"),
        (r"\x{1F600}", "1F600"),
        ("(" * 99 + ")" * 99, "nested"),
    ],
)
def test_what_is_not_is_named(pattern: str, named: str) -> None:
    with pytest.raises(NotPortable, match=named):
        joined(branches(pattern))


@given(st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"])))
def test_a_literal_fits_itself_and_is_printable_ascii_without_quotes(text: str) -> None:
    pattern = "".join(literal(text))
    assert re.fullmatch(pattern, text)
    assert set(pattern) <= set(string.ascii_letters + string.digits + string.punctuation) - set("'\"<>&`")


PIECES = [*"ab01^$.|?*+()[]{}-:&,dwsxPzA<>=!i\\", "(?:", "[^", "\\d", "{2}", "é"]
SOUP = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


@given(SOUP, st.lists(st.text("ab01é-&[]^", max_size=6), max_size=6))
def test_whatever_is_written_fits_what_re2_fits(pattern: str, texts: list[str]) -> None:
    """RE2 itself is the judge; what it refuses may be refused or not."""
    re2 = pytest.importorskip("re2")
    try:
        written = re.compile(joined(branches(pattern)))
    except NotPortable:
        return
    options = re2.Options()
    options.log_errors = False
    try:
        meant = re2.compile(pattern, options)
    except re2.error:
        return
    for text in texts:
        assert bool(written.search(text)) == bool(meant.search(text)), (pattern, written.pattern, text)
