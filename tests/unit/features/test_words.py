"""Words of pages, anchors and URLs: which there are, and that only hashes of them are kept."""

from __future__ import annotations

from linkscore_scoring.engine.events import PageFetched, decode, encode
from linkscore_scoring.features.html import extract
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.features.words import (
    matching_words,
    text_hashes,
    url_hashes,
    url_words,
    word_hash,
    words_of,
)

PAGE = b"""<html><head><title>Shadow Selection</title><style>p{}</style></head><body>
<h1>About <a href="/sets">selection sets</a></h1>
<nav><a href="/menu">a menu that is no text of the page at all</a></nav>
<p>The drawing editor remembers which objects were selected.</p><p>short</p></body></html>"""


def read(body: bytes, words: bool = True) -> PageFeatures:
    return extract(body, url="http://a.org/", content_type="text/html; charset=utf-8", words=words)


def counts(page: PageFeatures, word: str) -> list[float]:
    """Return how often a word stands in title, headings and text."""
    assert page.words is not None
    hashes, columns = page.words.columns()
    (stem,) = words_of(word)
    rows = [columns[i].tolist() for i, found in enumerate(hashes.tolist()) if found == word_hash(stem)]
    return rows[0] if rows else [0.0, 0.0, 0.0]


def test_words_that_browsers_do_not_show_do_not_count() -> None:
    hidden = "".join(
        f"<{tag}><p>A fallback of many words for other browsers.</p></{tag}>"
        for tag in ("iframe", "noembed", "noframes", "noscript", "template")
    )
    found = read(b"<svg><title>Fallback</title></svg>" + hidden.encode() + b"</html>" + PAGE)
    assert counts(found, "fallback") == [0.0, 0.0, 0.0]
    assert (counts(found, "shadow"), counts(found, "drawing")) == ([1.0, 0.0, 0.0], [0.0, 0.0, 1.0])


def test_words_are_counted_in_title_headings_and_long_texts_outside_anchors() -> None:
    page = read(PAGE)
    assert page.words is not None
    assert page.words.lengths == [2, 3, 8]
    assert counts(page, "selection") == [1, 1, 1]
    assert counts(page, "remembers") == [0, 0, 1]
    assert counts(page, "menu") == counts(page, "short") == [0, 0, 0]


def test_an_event_keeps_hashes_and_no_word() -> None:
    raw = encode(PageFetched("", "a.org", "http://a.org/", "http://a.org/", 200, "", b"", 0.0, read(PAGE)))
    again = decode(raw)
    assert isinstance(again, PageFetched)
    assert again.features is not None
    assert again.features.words == read(PAGE).words
    assert b"editor" not in raw
    assert b"Shadow" not in raw


def test_words_of_a_url_are_those_of_path_and_query() -> None:
    assert url_words("http://selection.org/a/PriceList_2?q=caf%C3%A9#x") == [
        "a",
        "price",
        "list",
        "2",
        "q",
        "cafe",
    ]
    assert url_words("http://[bad") == []
    assert url_hashes("http://a.org/prices") == text_hashes("Price")


def test_accents_and_vowel_signs_neither_tell_words_apart_nor_part_them() -> None:
    assert words_of("naive STRASSE education محمد") == words_of("naïve Straße E\u0301ducation مُحَمَّد")
    # The last of three words: its normal form takes half a minute.
    assert words_of("हिन्दी समाचार a" + "\u0300\u0316" * 100_000)[2:] == ["a"]


def test_matching_words_are_written_as_they_stand_there() -> None:
    terms = {word_hash(word) for word in words_of("selection sets")}
    assert matching_words("All Sets of everything", terms) == ["sets"]
    assert matching_words("http://a.org/SelectionSet/1", terms, is_url=True) == ["selection", "set"]
