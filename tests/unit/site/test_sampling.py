"""The sampling plan: one link per link path."""

from __future__ import annotations

from linkscore_scoring.site.learning import SamplingPlan
from linkscore_scoring.state import packed, unpacked
from linkscore_scoring.types import links_of_page


def _plan(*pages: dict[int, list[int]]) -> SamplingPlan:
    """Return a plan after pages, each with the numbers of its links by link path."""
    plan = SamplingPlan()
    for page in pages:
        keys = [key for of_path in page.values() for key in of_path]
        paths = [path for path, of_path in page.items() for _ in of_path]
        urls, zeros = [f"u{key}" for key in keys], [0] * len(keys)
        plan.add_page(links_of_page(urls, keys, paths, zeros, urls, source=0, depth=1), [1, 2])
    return plan


def test_drawn_fetched_and_failed_urls_are_not_drawn_again() -> None:
    plan = _plan({1: [11, 11]}, {1: [11], 2: [21], 3: [31]})
    plan.mark_fetched([21, 11])
    assert (plan.is_drawn(31), plan.is_drawn(21)) == (True, False)
    again = SamplingPlan()
    again.load_state(unpacked(packed(plan.to_state())))
    assert again.to_state() == plan.to_state()
