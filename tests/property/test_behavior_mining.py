"""Whatever URLs a log holds: mining ends, its pages have a place, and the model survives its state."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from linkscore_scoring.browse_logs.behavior import (
    UNKNOWN_PAGE,
    BehaviorModel,
    mine_behavior,
)
from linkscore_scoring.browse_logs.counts import OUTSIDE, BrowseCounts
from linkscore_scoring.hashing import hash64
from linkscore_scoring.state import from_state, plain

SEGMENTS = st.one_of(
    st.sampled_from(["tag", "show.php", "2016", "ü%20x", "a+b", ""]),
    st.integers(0, 99).map(str),
    st.text(max_size=4),
)
QUERIES = st.one_of(
    st.just(""), st.sampled_from(["?t=1", "?t=2&s=10", "?s=10&t=3", "?bare", "?=", "?t=%zz&t=4"])
)
URLS = st.builds(
    lambda path, query: "http://h/" + "/".join(path) + query, st.lists(SEGMENTS, max_size=4), QUERIES
)


@st.composite
def logs(draw: st.DrawFn) -> BrowseCounts:
    """Draw the counts of a log of up to forty pages and ten days."""
    urls = draw(st.lists(URLS, min_size=1, max_size=40, unique=True))
    page = st.integers(0, len(urls) - 1)
    records = draw(
        st.lists(st.tuples(page, st.integers(OUTSIDE, len(urls) - 1), st.integers(0, 9)), max_size=60)
    )
    clicks, transits = Counter((p, day) for p, _, day in records), Counter((o, p) for p, o, _ in records)
    columns = [
        np.array([[*pair, n] for pair, n in counter.items()], dtype=np.int64).reshape(-1, 3).T
        for counter in (clicks, transits)
    ]
    return BrowseCounts(0, 10, urls, *columns[0], *columns[1])


@given(logs())
@settings(max_examples=40, deadline=None)
def test_any_log_can_be_mined(counts: BrowseCounts) -> None:
    model = mine_behavior(counts)
    assert (model is None) == (counts.clicks.sum() == 0)
    if model is None:
        return
    again = from_state(BehaviorModel, plain(model))
    for url in counts.urls:
        place = model.place(url, hash64(url))
        assert place.page != UNKNOWN_PAGE
        assert again.place(url, hash64(url)) == place
        assert np.isfinite(model.demand(place))
        assert model.demand(place) >= 0.0
        assert np.isfinite(model.gain(place))
        assert model.gain(place) >= 0.0
    assert model.stats.sizes[0] == len(counts.urls)
    assert model.texts[0] == ""
    assert all(model.texts[1:])


@given(st.text(max_size=60), st.integers(0, 2**64 - 1))
@settings(max_examples=50, deadline=None)
def test_any_text_has_a_place(url: str, key: int) -> None:
    urls = [f"http://h/show?t={n}" for n in range(30)]
    visits = np.arange(30, dtype=np.int64)
    ones = np.ones(30, dtype=np.int64)
    model = mine_behavior(BrowseCounts(0, 30, urls, visits, visits, ones, -ones, visits, ones))
    assert model is not None
    place = model.place(url, key)
    assert 0 <= place.node < len(model.nodes)
    assert np.isfinite(model.demand(place))
