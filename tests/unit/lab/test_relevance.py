"""Relevance: by label or URL."""

from __future__ import annotations

from typing import Any

import pytest

from linkscore_lab.datasets.site import (
    ByType,
    ByUrl,
)
from linkscore_scoring.errors import InvalidInput


@pytest.mark.parametrize(
    ("pattern", "found"),
    [("a=1", True), (r"/t\?b", True), ("^/t", False), ("^https://s.test/t$", False), (r"^.*a=\d$", True)],
)
def test_a_pattern_is_found_anywhere_in_the_stored_url(pattern: str, found: bool) -> None:
    assert ByUrl(pattern).reward("https://s.test/t?b=2&a=1", "") == found


@pytest.mark.parametrize(
    ("kind", "given", "rule"),
    [
        (ByUrl, "(", "relevant_url: must be a regular expression"),
        (ByUrl, "", "relevant_url: must be a regular expression, got nothing"),
        (ByType, [" "], "relevant: must name at least one type"),
    ],
)
def test_bad_patterns_and_empty_types_are_refused(kind: type[ByUrl | ByType], given: Any, rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule):
        kind(given)
