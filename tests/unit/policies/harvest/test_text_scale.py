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
    assert scale_of().half_chars == pytest.approx(400)


def test_the_scale_is_an_eighth_of_the_upper_quartile_of_the_pages_text() -> None:
    """Of 96 pages of 512 characters and 4 of 4,096 from before, the quartile is 512."""
    assert scale_of(*[512] * 96).half_chars == pytest.approx(64)


def test_pages_without_text_do_not_count() -> None:
    assert scale_of(*[512] * 96, *[0] * 1_000).half_chars == pytest.approx(64)


def test_long_text_does_not_raise_the_scale_above_that_of_most_sites() -> None:
    assert scale_of(*[50_000] * 100).half_chars == 400


def test_it_is_looked_at_again_after_a_tenth_more_pages() -> None:
    scale = scale_of(*[512] * 100)
    scale.add(100)
    assert not scale.look()
    for _ in range(900):
        scale.add(128)
    assert scale.look()
    assert scale.half_chars == pytest.approx(16)


def test_a_scale_restored_goes_on_as_it_would_have() -> None:
    scale, again = scale_of(*[100] * 30), TextScale()
    again.load_state(scale.to_state())
    for one in (scale, again):
        one.add(900)
        one.move(100, 0)
        one.look()
    assert again.to_state() == scale.to_state()
