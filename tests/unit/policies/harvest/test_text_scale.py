"""How much text is much on a site, by hand."""

from __future__ import annotations

import pytest

from linkscore_scoring.policies.harvest.own_text import TextScale


def scale_of(*pages: int) -> TextScale:
    scale = TextScale()
    for chars in pages:
        scale.add(chars)
    scale.look()
    return scale


def test_a_new_site_has_the_scale_of_most_sites() -> None:
    assert scale_of().half_chars == 400


def test_the_scale_is_a_quarter_of_the_mean_text_of_pages() -> None:
    """Of 28 pages of 512 characters, and 4 from before of 400 x 4."""
    assert scale_of(*[512] * 28).half_chars == pytest.approx((28 * 128 + 4 * 400) / 32)


def test_pages_without_text_do_not_count() -> None:
    assert scale_of(*[512] * 28, *[0] * 484).half_chars == pytest.approx((28 * 128 + 4 * 400) / 32)


def test_a_page_that_lost_its_text_counts_no_more() -> None:
    scale = scale_of(*[512] * 28, *[900] * 4)
    for _ in range(4):
        scale.move(900, 0)
    scale.look()
    assert scale.half_chars == pytest.approx((28 * 128 + 4 * 400) / 32)


def test_long_text_does_not_raise_the_scale_above_that_of_most_sites() -> None:
    assert scale_of(*[50_000] * 96).half_chars == 400


def test_it_is_looked_at_eight_times_while_pages_double() -> None:
    scale, looks = TextScale(), 0
    for _ in range(255):
        scale.add(100)
        looks += scale.look()
    assert looks == 15 + 4 * 8


def test_a_scale_restored_goes_on_as_it_would_have() -> None:
    scale, again = scale_of(*[100] * 30), TextScale()
    again.load_state(scale.to_state())
    for one in (scale, again):
        one.add(900)
        one.move(100, 0)
        one.look()
    assert again.to_state() == scale.to_state()


def test_a_histogram_of_before_is_read_as_the_sums_it_stands_for() -> None:
    """36 pages of 64 characters and one of 4,096, beside the 4 that every site began with."""
    again, bins = TextScale(), [[24, 5.0], [12, 36.0]]
    again.load_state({"half_chars": 10.0, "bins": bins, "pages": 60, "next": 66})
    assert again.half_chars == 10.0
    kept = again.to_state()
    assert (kept["chars"], kept["with_text"], kept["pages"]) == (36 * 64 + 4_096, 37, 60)
