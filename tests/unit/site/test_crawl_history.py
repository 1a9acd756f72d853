"""What fetches brought, by shape and tag path: feedback late, repeated, before the page, without the page."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkscore_scoring.hashing import hash64
from linkscore_scoring.site.crawl_history import MAX_BINS, CrawlHistory, History, Tally, merged
from linkscore_scoring.types import FeedbackObservation, LinkBatch, PageObservation
from linkscore_scoring.urls.pattern_tree import UrlPatterns

LINK_PATH = 7


class Site:
    """A tree of patterns and the history of a few fetches."""

    def __init__(self, **bounds: int) -> None:
        self.patterns = UrlPatterns()
        self.history = CrawlHistory(**bounds)

    def pattern(self, url: str) -> int:
        return self.patterns.insert(url)

    def fetch(
        self,
        url: str,
        *,
        novel: int = 0,
        known: int = 0,
        links: tuple[str, ...] = (),
        requested: str = "",
        refetch: bool = False,
    ) -> float | None:
        found = [self.pattern(link) for link in links]
        n = len(links)
        batch = LinkBatch(
            links, [hash64(u) for u in links], [LINK_PATH] * n, [0] * n, [1] * n, found, [""] * n
        )
        asked = requested or url
        page = PageObservation(
            1, hash64(url), url, hash64(asked), 0, self.pattern(asked), [], failed=False, refetch=refetch,
            long_chars=novel + known, novel_chars=novel, links=batch, fresh=[True] * n,
        )  # fmt: skip
        return self.history.observe(page, LINK_PATH, self.patterns, list)

    def report(self, url: str, reward: float, *, was_fetched: bool = False, key: int | None = None) -> None:
        event = FeedbackObservation(
            2, hash64(url) if key is None else key, url, self.pattern(url), [(1, LINK_PATH)], reward
        )
        self.history.feedback(event, self.patterns, list, was_fetched=was_fetched)

    def total(self) -> Tally:
        return self.history.site().total()


def test_a_fetch_counts_in_every_shape_of_its_url() -> None:
    site = Site()
    site.fetch("http://a.org/x/1", novel=400)
    texts = {site.patterns.text(node): h.total().text for node, h in site.history.shapes.items()}
    assert texts == {"": 0.5, "a.org": 0.5, "a.org/x": 0.5, "a.org/x/#": 0.5}
    assert site.history.tag_paths[LINK_PATH].total().text == 0.5


def test_feedback_before_its_page_is_one_fetch_and_told_when_the_page_comes() -> None:
    site = Site()
    site.report("http://a.org/x", 0.75)
    assert site.fetch("http://a.org/x", novel=400) == 0.75
    total = site.total()
    assert (total.fetched, total.reported, total.reward, total.text, total.silent) == (1, 1, 0.75, 0.5, 0)
    assert site.fetch("http://a.org/y") is None


def test_rewards_count_once_twenty_fetches_have_feedback() -> None:
    site = Site()
    for n in range(19):
        site.report(f"http://a.org/{n}", 1.0)
    assert not site.history.by_reward
    site.report("http://a.org/19", 0.0)
    assert site.history.by_reward
    assert site.history.recent(2) == (0.5, 2)
    site.fetch("http://a.org/new")
    assert site.history.recent(2) == (0.0, 1)  # the newest is not reported yet
    assert site.history.recent(100) == (0.95, 20)


def test_links_of_the_same_shape_are_growth_and_of_others_a_promise() -> None:
    site = Site()
    for n in range(3):
        site.fetch(f"http://a.org/good/{n}", novel=1200)  # 0.75 each
    links = ("http://a.org/cal/2", "http://a.org/good/9")
    site.fetch("http://a.org/cal/1", known=50, links=links)
    shape = site.history.shapes[site.patterns.finest("http://a.org/cal/1")].total()
    # the later half of good/# is two fetches: (1.5 + 2 x 0.75) / (2 + 2); the site's mean is 0.75 by then
    assert (shape.grown, shape.hub) == (1, pytest.approx(0.75))
    assert site.history.shapes[0].total().grown == 2


def test_a_shape_that_was_folded_has_one_history() -> None:
    site = Site()
    for n in range(12):
        site.fetch(f"http://a.org/tag/{'abcdefghijkl'[n]}", novel=400)
    now = site.history.shapes_now(site.patterns)
    node = site.patterns.finest("http://a.org/tag/zz")
    assert (site.patterns.text(node), now[node].total().fetched) == ("a.org/tag/*", 12)
    assert site.history.groups_now(site.patterns)[node, LINK_PATH].total().text == 6.0


def test_memory_is_bounded() -> None:
    site = Site(max_fetches=50, max_groups=20)
    for n in range(300):
        site.fetch(f"http://a.org/{chr(97 + n % 26)}{chr(97 + n // 26)}/p", novel=100)
    history = site.history
    assert max(len(history.shapes), len(history.groups)) <= 21
    assert 40 < len(list(history.judged())) <= 50
    assert site.total().fetched == 300


def history_of(*texts: float, start: int = 1, step: int = 1) -> History:
    history = History()
    for i, text in enumerate(texts):
        history.add(start + i * step, [1.0, text, *[0.0] * 6], f"u{i}")
    return history


def test_late_feedback_is_counted_at_its_fetch() -> None:
    history = history_of(*[0.0] * 4, step=10)
    history.add(11, [*[0.0] * 6, 1.0, 0.75])
    early, late = history.halves()
    assert (early.reported, early.reward, late.reported, history.examples) == (1, 0.75, 0, ["u1", "u2", "u3"])


def test_groups_fetched_in_turn_join_in_order_of_time() -> None:
    first, second = history_of(1.0, 1.0, 0.0, 0.0, step=2), history_of(1.0, 1.0, 0.0, 0.0, start=2, step=2)
    early, late = merged([second, first]).halves()
    assert (early.text, late.text) == (4, 0)


@given(st.lists(st.floats(0, 1), max_size=200))
def test_totals_are_exact_and_halves_to_the_bin(texts: list[float]) -> None:
    history = history_of(*texts)
    total, (early, late) = history.total(), history.halves()
    assert (total.fetched, early.fetched + late.fetched) == (len(texts), len(texts))
    assert total.text == pytest.approx(sum(texts))
    widest = max((counts[1] for counts in history.bins), default=0)
    assert len(history.bins) <= MAX_BINS
    assert abs(early.fetched - late.fetched) <= widest
