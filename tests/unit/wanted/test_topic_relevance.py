"""Relevance of pages and links, by numbers computed by hand."""

from __future__ import annotations

import pytest

from linkscore_scoring.features.words import text_hashes, word_hash, words_of_texts
from linkscore_scoring.wanted import Topic, Wanted, WordCounts, expansion_of


def counted(*texts: str) -> WordCounts:
    counts = WordCounts()
    for text in texts:
        counts.add(words_of_texts("", "", text))
    return counts


def topic(*queries: str, counts: WordCounts | None = None) -> Topic:
    return Topic(Wanted(queries), counts or WordCounts(), {})


def test_bm25f_of_one_word_in_the_text() -> None:
    counts = counted("price list", "about us")  # mean text: 1 + 4 / 2 = 3 words
    page = words_of_texts("", "", "price price page today")
    frequency = 2 / (1 - 0.75 + 0.75 * 4 / 3)
    assert topic("price", counts=counts).relevance(page) == pytest.approx(frequency / (frequency + 1.2))


def test_a_word_in_the_title_counts_more_than_in_the_text() -> None:
    asked = topic("price")
    in_title = asked.relevance(words_of_texts("price", "", ""))
    in_heading = asked.relevance(words_of_texts("", "price", ""))
    in_text = asked.relevance(words_of_texts("", "", "price " + "other " * 20))
    assert 1.0 > in_title > in_heading > in_text > 0.0


def test_rare_words_of_a_query_decide() -> None:
    counts = counted(*["price of things"] * 20, "selection of things")
    asked = topic("price selection", counts=counts)
    rare, common = (asked.coverage(text_hashes(word)) for word in ("selection", "price"))
    assert rare > 0.9 > common
    assert rare + common == pytest.approx(1.0)


def test_a_page_about_one_of_two_queries_is_wanted_as_much_as_that_query() -> None:
    asked = topic("price", "limits")
    price, limits = words_of_texts("price", "", ""), words_of_texts("limits", "", "")
    assert asked.relevance(price) > 0.5
    assert asked.relevance(price) == pytest.approx(asked.relevance(limits))


def test_samples_name_words_that_are_theirs_and_rare() -> None:
    counts = counted(*["the page of a site"] * 10)
    wanted = words_of_texts("Kayak repair", "", "the kayak of a site")
    unwanted = words_of_texts("Repair of the car", "", "the car")
    found = expansion_of([(1.0, wanted), (-1.0, unwanted)], counts, at_most=2)
    assert max(found, key=lambda word: found[word]) == word_hash("kayak")
    assert word_hash("car") not in found
    assert sum(found.values()) == pytest.approx(1.0)
