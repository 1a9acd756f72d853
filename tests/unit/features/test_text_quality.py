"""Measures of how well a page reads, by numbers counted by hand, and what they are worth."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from linkscore_scoring.features.extracted import page_from_extracted
from linkscore_scoring.features.html import extract
from linkscore_scoring.features.types import Limits, Words
from linkscore_scoring.features.words import Measures, TextQuality, measure, quality_of, words_of

GOOD = Measures(
    words=400.0,
    in_anchors=0.2,
    repeated_blocks=0.0,
    top_grams=0.1,
    repeated_grams=0.0,
    ended=0.9,
    word_chars=5.0,
    alphabetic=0.95,
    symbols=0.0,
)


def measured(*blocks: str) -> Measures:
    return measure(blocks, words_of(" ".join(dict.fromkeys(blocks))), 0.0)


def test_text_within_all_bounds_is_worth_1() -> None:
    assert quality_of(GOOD) == TextQuality(1.0, 1.0, 1.0, 1.0)
    assert quality_of(GOOD).value == 1.0


@pytest.mark.parametrize(
    ("name", "value", "part", "worth"),
    [
        ("words", 25.0, "length", 0.5),
        ("in_anchors", 2 / 3, "links", 0.5),
        ("repeated_blocks", 0.4, "repetition", 0.5),
        ("top_grams", 4.0, "repetition", 0.25),
        ("repeated_grams", 2.0, "repetition", 0.5),
        ("ended", 0.06, "readability", 0.5),
        ("word_chars", 1.5, "readability", 0.5),
        ("word_chars", 20.0, "readability", 0.5),
        ("word_chars", 0.0, "readability", 1.0),
        ("alphabetic", 0.4, "readability", 0.5),
        ("symbols", 0.2, "readability", 0.5),
    ],
)
def test_a_part_falls_in_proportion_beyond_its_bound(
    name: str, value: float, part: str, worth: float
) -> None:
    found = quality_of(GOOD._replace(**{name: value}))
    assert found == replace(quality_of(GOOD), **{part: pytest.approx(worth)})
    assert found.value == pytest.approx(worth)


def test_blocks_said_before_are_repeated() -> None:
    found = measured("Read more about kayaks", "Read more about kayaks", "Glue the crack at once")
    assert found.repeated_blocks == pytest.approx(1 / 3)


def test_labels_below_every_comment_are_repeated_blocks_and_no_repeated_phrases() -> None:
    labels = ["Your name to display (optional):", "Your email address will only be used for sending it."]
    comments = [f"{' '.join(f'word{n}x{i}' for i in range(60))}." for n in range(4)]
    body = "".join(f"<p>{text}</p>" for comment in comments for text in (comment, *labels))
    page = extract(body.encode(), url="http://h/", words=Words.COUNTED | Words.QUALITY)
    assert page.words is not None
    found = Measures(*page.words.measures)
    assert found.repeated_grams == 0.0
    assert 0.05 < found.repeated_blocks < 0.2
    assert quality_of(found).repetition == 1.0


def test_the_top_pair_of_words_counts_with_all_its_characters() -> None:
    found = measure(["ab cd ab cd xy"], ["ab", "cd", "ab", "cd", "xy"], 0.0)
    assert found.top_grams == pytest.approx(0.8 / 0.20)  # `ab cd` twice: 8 of 10 characters


def test_characters_in_several_repeated_phrases_count_once() -> None:
    words = [*"abcdef", *"abcdef", "g", "h"]  # `abcde` and `bcdef` both occur twice
    found = measure([" ".join(words)], words, 0.0)
    assert found.repeated_grams == pytest.approx(12 / 14 / 0.15)


def test_words_without_order_repeat_no_phrase() -> None:
    draw = Random(1)
    words = [f"w{draw.randrange(5_000)}" for _ in range(2_000)]
    found = measure([" ".join(words)], words, 0.0)
    assert found.repeated_grams == 0.0
    assert found.top_grams < 0.1


def test_sentences_end_in_any_script() -> None:
    for text in ("It floats.", "¿Flota?", "«Plave.»", "それは浮く。", "वह तैरता है।"):
        assert measured(text).ended == 1.0, text
    assert measured("Home, products, contact").ended == 0.0


def test_scripts_without_blanks_have_no_length_of_words() -> None:
    text = "壊れたカヤックは家で修理できる。接着剤と忍耐が必要だと皆が知っている。"
    page = extract(f"<p>{text * 5}</p>".encode(), url="http://h/", words=Words.COUNTED | Words.QUALITY)
    assert page.words is not None
    assert Measures(*page.words.measures).word_chars == 0.0


def test_nothing_is_worth_nothing() -> None:
    assert quality_of(measured()).value == 0.0


def test_a_page_is_measured_from_its_body_if_asked() -> None:
    prose = "A kayak that leaks can be repaired at home, with glue and patience."
    body = f"<p>{prose}</p><a href='/x'>{'x' * len(prose)}</a>".encode()
    page = extract(body, url="http://h/", words=Words.COUNTED | Words.QUALITY)
    assert page.words is not None
    found = Measures(*page.words.measures)
    assert (found.words, found.in_anchors, found.ended) == (13, 0.5, 1.0)
    plain = extract(body, url="http://h/", words=Words.COUNTED)
    assert plain.words is not None
    assert plain.words.measures == []


def test_text_blocks_that_a_crawler_sends_are_measured_too() -> None:
    blocks = ["A kayak that leaks can be repaired at home.", "Glue and patience are all it needs."]
    page = page_from_extracted(
        "http://h/", [], [], blocks, "", limits=Limits(), words=Words.COUNTED | Words.QUALITY
    )
    assert page.words is not None
    assert Measures(*page.words.measures).ended == 1.0
