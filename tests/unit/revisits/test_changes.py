"""What counts as a change of a page, and what is furniture: text, titles, prices and dates."""

from __future__ import annotations

import gzip
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkscore_scoring.revisits.pages import (
    TITLE,
    Stamps,
    read_facts,
    structured_mark,
    title_mark,
)
from linkscore_scoring.types import SentPage

WORDS = st.text("abcdefgh ", min_size=1, max_size=40).filter(str.strip)
JSON = '<script type="application/ld+json">{"@type": "Product", %s, "offers": [{%s}]}</script>'
FORMS: dict[str, Callable[[object], str]] = {
    "JSON-LD text": lambda value: JSON % ('"name": "x"', f'"price": "{value}"'),
    "JSON-LD number": lambda value: JSON % ('"name": "x"', f'"lowPrice" : {value}'),
    "microdata content": lambda value: f'<meta itemprop="price" content="{value}">',
    "microdata text": lambda value: f"<b class=x itemprop='price'>{value}</b>",
    "microdata without quotes": lambda value: f"<b itemprop=price>{value}</b>",
    "date": lambda value: f'<time itemprop="startDate" datetime="2026-11-{value}">soon</time>',
    "availability": lambda value: JSON % (f'"availability":"https://schema.org/{value}"', '"url": "x"'),
}
CENTS = st.decimals(1, 9_999, places=2)


def test_stamp_that_every_fetch_brings_is_no_change_once_it_is_known() -> None:
    stamps = Stamps()
    found = [stamps.without(40 + fetch % 3) for fetch in range(200)]
    assert all(found[:7])
    assert not any(found[8:])
    assert sum(map(bool, found)) / len(found) <= 0.05


def test_own_text_beside_a_stamp_counts_without_it() -> None:
    stamps = Stamps()
    for _ in range(20):
        stamps.without(40)
    assert stamps.without(440) == pytest.approx(400, abs=4)


def test_changes_of_all_sizes_are_no_stamp() -> None:
    stamps = Stamps()
    assert all(stamps.without(20 + 37 * fetch % 900) for fetch in range(100))


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


def test_events_keep_the_title_of_a_page_and_none_of_a_sitemap() -> None:
    body = b"<head><title>News</title></head><p>What is new.</p>"
    plain = read_facts(SentPage(9, body=body))
    packed = read_facts(SentPage(9, body=gzip.compress(body), content_encoding="gzip"))
    assert plain == packed == {TITLE: title_mark(body)}
    assert TITLE not in read_facts(SentPage(9, body=body, kind="sitemap"))
    assert read_facts(SentPage(9, body=b"<p>No title.</p>")) == {}


@pytest.mark.parametrize("form", FORMS)
@given(one=CENTS, around=st.text("<>\"' abc", max_size=50))
def test_a_value_has_one_mark_whatever_is_around_it(form: str, one: object, around: str) -> None:
    before = structured_mark(FORMS[form](one).encode())
    assert 0 < before <= 0xFF
    assert structured_mark((around.replace("<", "") + FORMS[form](one) + "<p>" + around).encode()) == before


@pytest.mark.parametrize("form", FORMS)
def test_two_of_a_hundred_other_values_at_most_are_not_told_apart(form: str) -> None:
    before = structured_mark(FORMS[form]("5.00").encode())
    assert sum(structured_mark(FORMS[form](f"{n}.50").encode()) == before for n in range(100)) <= 2


@pytest.mark.parametrize(
    "furniture",
    [
        '"dateModified": "2026-11-%d"',
        '"userInteractionCount": %d',
        '"aggregateRating": {"ratingValue": 4.%d, "reviewCount": %d}',
        '"sku": "%d", "url": "http://a.org/?session=%d"',
    ],
)
def test_counters_and_times_of_a_build_are_no_change(furniture: str) -> None:
    marks = {
        structured_mark((JSON % (furniture.replace("%d", str(n)), '"price": 3')).encode()) for n in (1, 2, 3)
    }
    assert len(marks) == 1
    assert marks != {0}


@pytest.mark.parametrize(
    "hostile",
    [
        b"itemprop=" * 1_000_000,
        b'itemprop="price" ' * 500_000,
        b'<script type="application/ld+json">' + b'"price": ' * 1_000_000,
        b'<script type="application/ld+json">' + b'"price": "' + b"9" * 8_000_000,
        b"application/ld+json" * 400_000,
        b'application/ld+json</script>"price": 3' * 200_000,
    ],
)
def test_hostile_pages_of_megabytes_are_read_no_further_than_the_bounds(hostile: bytes) -> None:
    assert structured_mark(hostile) == structured_mark(hostile + hostile)


@given(st.binary(max_size=300))
def test_no_body_is_too_broken(body: bytes) -> None:
    assert 0 <= structured_mark(b'itemprop="price"' + body + b"application/ld+json" + body) <= 0xFF
