"""Titles: another one is another mark, whatever numbers it has and however the page is packed."""

from __future__ import annotations

import gzip

from hypothesis import given
from hypothesis import strategies as st

from linkscore_scoring.engine.limits import SentPage
from linkscore_scoring.revisits.companion import SiteRevisitor
from linkscore_scoring.revisits.titles import FACT, title_mark, unpacked

WORDS = st.text("abcdefgh ", min_size=1, max_size=40).filter(str.strip)


@given(WORDS, WORDS, st.integers(0), st.integers(0))
def test_marks_differ_by_words_and_not_by_numbers(one: str, other: str, number: int, later: int) -> None:
    marks = [
        title_mark(f"<html><title>{text}</title>".encode())
        for text in (one, f"{one} {number}", f"({later}) {one}", f"{one} {number:,} - {later}:00")
    ]
    assert len(set(marks)) == 1
    assert marks[0] > 0
    if one.split() != other.split():
        assert title_mark(f"<title>{one}</title>".encode()) != title_mark(f"<title>{other}</title>".encode())


def test_a_late_title_is_a_title() -> None:
    assert title_mark(b"<style>" + b"x" * 100_000 + b"</style><title>News</title>") == title_mark(
        b"<title>News</title>"
    )


def test_a_title_without_words_is_none() -> None:
    assert title_mark(b"<title>12:05 | 3</title>") == title_mark(b"<title> </title>") == 0


@given(st.binary(max_size=300), st.sampled_from(["", "gzip", "br", "no such coding"]))
def test_no_body_is_too_broken(body: bytes, encoding: str) -> None:
    assert 0 <= title_mark(unpacked(body, encoding)) <= 0xFFFF
    assert 0 <= title_mark(unpacked(b"\x1f\x8b" + body, encoding)) <= 0xFFFF


def test_events_keep_the_mark_of_a_page_and_none_of_a_sitemap() -> None:
    body = b"<head><title>News</title></head><p>What is new.</p>"
    plain = SiteRevisitor.read(SentPage(9, body=body))
    packed = SiteRevisitor.read(SentPage(9, body=gzip.compress(body), content_encoding="gzip"))
    assert plain == packed == {FACT: title_mark(body)}
    assert FACT not in SiteRevisitor.read(SentPage(9, body=body, kind="sitemap"))
    assert SiteRevisitor.read(SentPage(9, body=b"<p>No title.</p>")) == {}
