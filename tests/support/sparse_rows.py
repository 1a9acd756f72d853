"""Rows for classifiers."""

from __future__ import annotations

import numpy as np

from linkscore_scoring.learners.online import Features


def features_of(rows: list[dict[int, float]]) -> Features:
    """Return the features of some rows given as mappings from feature to value."""
    lengths = [len(row) for row in rows]
    return Features(
        len(rows),
        np.repeat(np.arange(len(rows), dtype=np.int64), lengths),
        np.array([index for row in rows for index in row], dtype=np.int64),
        np.array([value for row in rows for value in row.values()], dtype=np.float64),
    )
