"""Whose text is it: lists, articles, copies, boilerplate."""

from __future__ import annotations

from linkscore_scoring.site.texts import TextOwners

LIST, ARTICLE, COPY, OTHER = 1, 2, 3, 4


def test_the_article_takes_its_excerpt_from_the_list() -> None:
    texts = TextOwners()
    texts.see(LIST, LIST, [10, 20], [100, 100])
    change = texts.see(ARTICLE, ARTICLE, [10, 11], [100, 300])
    assert (change.new_chars, change.own_chars, change.lost) == (300, 400, {LIST: 100})


def test_a_longer_version_counts_its_extra_text_as_new() -> None:
    texts = TextOwners()
    texts.see(LIST, LIST, [10], [100])
    change = texts.see(ARTICLE, ARTICLE, [10], [500])
    assert (change.new_chars, change.own_chars, change.lost) == (400, 500, {LIST: 100})


def test_an_article_takes_its_text_from_a_list_that_showed_all_of_it() -> None:
    texts = TextOwners()
    texts.see(LIST, LIST, [10, 20, 30], [300, 300, 300])
    assert texts.see(ARTICLE, ARTICLE, [10], [300]).lost == {LIST: 300}
    assert texts.see(OTHER, OTHER, [20], [300]).own_chars == 300


def test_a_page_that_shows_most_of_another_or_parts_of_two_takes_nothing() -> None:
    texts = TextOwners()
    texts.see(LIST, LIST, [10, 20, 30], [300, 300, 300])
    texts.see(ARTICLE, ARTICLE, [40, 41, 42], [300, 300, 300])
    assert texts.see(COPY, COPY, [10, 20], [300, 300]).own_chars == 0
    assert texts.see(OTHER, OTHER, [30, 40], [300, 300]).own_chars == 0


def test_the_canonical_page_takes_all_from_a_copy_that_names_it() -> None:
    texts = TextOwners()
    texts.see(COPY, ARTICLE, [10], [300])
    change = texts.see(ARTICLE, ARTICLE, [10], [300])
    assert (change.own_chars, change.lost) == (300, {COPY: 300})
    assert texts.see(OTHER, ARTICLE, [10], [300]).lost == {}


def test_on_the_third_page_text_is_boilerplate_and_belongs_to_nobody() -> None:
    texts = TextOwners()
    texts.see(1, 1, [10], [100])
    texts.see(2, 2, [10], [100])
    change = texts.see(3, 3, [10], [100])
    assert (change.own_chars, change.lost) == (0, {1: 100})
    assert texts.see(4, 4, [10], [100]).lost == {}
