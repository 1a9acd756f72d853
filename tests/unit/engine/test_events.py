"""Events are the same after they went through bytes, and other bytes are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.events import (
    ConfigChanged,
    Event,
    FeedbackGiven,
    LearningFailed,
    LearningRequested,
    ModelActivated,
    PageFetched,
    decode,
    encode,
)
from linkscore_scoring.errors import CorruptState
from linkscore_scoring.features.types import Links, PageFeatures, PathTrie

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NUMBERS = st.lists(st.integers(0, 2**64 - 1), max_size=4)
TEXTS = st.lists(TEXT, max_size=4)
TIME = st.floats(0, 1e10)
REWARD = st.floats(0, 1)


@st.composite
def links(draw: st.DrawFn) -> Links:
    rows = draw(st.lists(st.tuples(TEXT, TEXT, TEXT, st.integers(0, 3), TEXT, st.integers(0, 9)), max_size=5))
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(6)]
    return Links(*columns, draw(TEXTS), draw(st.dictionaries(TEXT, st.integers(0, 9), max_size=2)))


PAGES = st.builds(
    PageFeatures,
    TEXT,
    TEXT,
    st.builds(PathTrie, NUMBERS, TEXTS, TEXTS, NUMBERS),
    NUMBERS,
    NUMBERS,
    links(),
    TEXT,
    TEXT,
    st.booleans(),
    TEXT,
    st.integers(0, 9),
    st.integers(0, 2**64 - 1),
    TEXTS,
)
EVENTS = st.one_of(
    st.builds(
        PageFetched, TEXT, TEXT, TEXT, TEXT, st.integers(0, 599), TEXT, st.binary(), TIME, st.none() | PAGES
    ),
    st.builds(FeedbackGiven, TEXT, TEXT, TEXT, st.binary(), REWARD, TIME),
    st.builds(LearningRequested, TEXT),
    st.builds(LearningFailed, TEXT, st.integers(0, 99)),
    st.builds(ModelActivated, TEXT, st.integers(0, 99), st.dictionaries(TEXT, NUMBERS, max_size=3)),
)


@given(EVENTS)
def test_an_event_is_the_same_after_bytes(event: Event) -> None:
    assert decode(encode(event)) == event


def test_a_configuration_is_the_same_after_bytes() -> None:
    config = CrawlConfig("c", PolicyChoice("source_ucc", {"alpha": 0.3}), "domain", seed=7)
    event = decode(encode(ConfigChanged(config.to_state())))
    assert isinstance(event, ConfigChanged)
    assert CrawlConfig.from_state(event.config) == config


@given(st.binary(max_size=60))
def test_other_bytes_are_refused(raw: bytes) -> None:
    with pytest.raises(CorruptState):
        decode(raw)
