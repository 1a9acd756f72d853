"""Buckets are valued once, however often they are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import FeedbackGiven
from linkscore_scoring.engine.queries import CrawlQueries


def test_a_bucket_given_often_is_valued_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model = CrawlModel(CrawlConfig("c"), ticket_key=b"k" * 32)
    model.apply(1, FeedbackGiven("", "a.org", "http://a.org/", b"", 1.0, 1e9))
    asked: list[str] = []

    def value(buckets: Sequence[str], site: Any) -> Any:
        asked.extend(buckets)
        return np.array([len(bucket) for bucket in buckets], dtype=np.float64)

    monkeypatch.setattr(model.shard("a.org").served, "value", value)
    given = ["a.org/xx", "a.org/x", "b.org/xxx", "a.org/xx", "a.org/x"]
    order, values = CrawlQueries(model).rank_buckets(given)
    assert asked == ["xx", "x"]
    assert values.tolist() == [2.0, 1.0, 0.0, 2.0, 1.0]
    assert order.tolist() == [0, 3, 1, 4, 2]
