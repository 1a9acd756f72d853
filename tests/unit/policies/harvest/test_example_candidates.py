"""Which pages are kept to be asked about, and how groups follow their URL patterns."""

from __future__ import annotations

import pytest

from linkscore_scoring.policies.harvest.rewards import ExampleCandidate, ExampleCandidates
from linkscore_scoring.policies.harvest.tunables import Tunables
from linkscore_scoring.state import packed, unpacked
from linkscore_scoring.urls.pattern_tree import UrlPatterns


def page(key: int, label: float = 0.0, layout_label: float = 0.0) -> ExampleCandidate:
    return ExampleCandidate(key, f"http://h/{key}", 0.5, label, layout_label)


def kept(pages: ExampleCandidates) -> list[int]:
    return [member.key for member in pages.members()]


@pytest.mark.parametrize(
    ("label", "layout_label", "uncertainty"),
    [(0.5, 0.5, 1.0), (0.0, 0.0, 0.0), (0.9, 0.9, 0.2), (0.0, 0.8, 0.8), (1, 1, 0)],
)
def test_uncertainty_is_a_label_near_one_half_or_a_layout_at_odds_with_the_url(
    label: float, layout_label: float, uncertainty: float
) -> None:
    assert page(1, label, layout_label).uncertainty == pytest.approx(uncertainty)


def test_three_pages_of_a_pattern_are_kept_the_most_uncertain_and_then_the_latest() -> None:
    pages, patterns = ExampleCandidates(), UrlPatterns()
    for key in range(1, 7):
        pages.add(0, page(key, label=0.5 if key == 1 else 0.0), patterns)
    assert kept(pages) == [1, 5, 6]
    assert pages.groups(patterns)[0].pages == 6


def test_the_uncertainty_of_a_group_is_the_mean_over_its_latest_pages() -> None:
    pages, patterns = ExampleCandidates(), UrlPatterns()
    """Running means up to 16 pages, then 1/16 of the way to each page."""
    for key, look in enumerate([0.8, 0.2, 0.0, 0.0, 0.0]):
        pages.add(0, page(key, 0.0, look), patterns)
    assert pages.groups(patterns)[0].uncertainty == pytest.approx(0.2)
    for key in range(5, 17):
        pages.add(0, page(key), patterns)
    assert pages.groups(patterns)[0].uncertainty == pytest.approx(1 / 16 * 15 / 16)
    pages.relabelled()
    assert pages.groups(patterns)[0].uncertainty == pytest.approx(1 / 3), "of the three that are kept"


def test_groups_whose_patterns_merged_are_one() -> None:
    pages, patterns = ExampleCandidates(), UrlPatterns()
    urls = [f"http://h/p{chr(97 + n)}" for n in range(9)]
    for key, url in enumerate(urls[:8]):
        pages.add(patterns.insert(url), page(key), patterns)
    assert len(pages.groups(patterns)) == 8
    merged = patterns.insert(urls[8])
    before = packed(pages.to_state())
    assert {pattern: group.pages for pattern, group in pages.groups(patterns).items()} == {merged: 8}
    assert packed(pages.to_state()) == before, "asking changes nothing"
    pages.add(merged, page(8), patterns)
    assert kept(pages) == [6, 7, 8]


def test_the_smallest_group_goes_when_there_are_too_many() -> None:
    pages, patterns = ExampleCandidates(Tunables(at_once=2)), UrlPatterns()
    a, b, c = (patterns.insert(f"http://h/{name}/x") for name in "abc")
    for key, pattern in enumerate([a, a, b, c]):
        pages.add(pattern, page(key), patterns)
    assert {pattern: group.pages for pattern, group in pages.groups(patterns).items()} == {a: 2, c: 1}


def test_a_judged_page_is_forgotten_and_still_counted() -> None:
    pages, patterns = ExampleCandidates(), UrlPatterns()
    pages.add(0, page(1), patterns)
    pages.forget(1)
    assert (kept(pages), pages.groups(patterns)[0].pages) == ([], 1)


def test_a_state_round_trip_keeps_everything() -> None:
    pages, other, patterns = ExampleCandidates(), ExampleCandidates(), UrlPatterns()
    for key in range(6):
        pages.add(patterns.insert(f"http://h/{key % 2}/x"), page(key, key / 7, 0.9), patterns)
    other.load_state(unpacked(packed(pages.to_state())))
    assert other.to_state() == pages.to_state()
