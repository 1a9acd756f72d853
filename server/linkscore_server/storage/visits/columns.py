"""Records of a message as columns for DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkscore.v1 import browse_log_service_pb2 as pb
from linkscore_scoring.errors import FieldProblem

Columns = dict[str, NDArray[Any]]
_BEFORE_1970 = -1.0


def columns_of(records: Sequence[pb.BrowseRecord]) -> Columns:
    """Return rows as columns; cost 3 us a record."""
    times = [r.time.seconds + r.time.nanos / 1e9 if r.HasField("time") else _BEFORE_1970 for r in records]
    return {
        "t": np.array(times, dtype=np.float64),
        "client": _texts([r.client_id for r in records]),
        "url": _texts([r.url for r in records]),
        "referrer": _texts([r.referrer for r in records]),
        "user_agent": _texts([r.user_agent for r in records]),
        "method": _texts([r.method for r in records]),
        "status": np.array([r.status_code for r in records], dtype=np.int64),
        "content_type": _texts([r.content_type for r in records]),
    }


def columns_of_table(table: pb.BrowseColumns) -> Columns:
    """Return the columns of a checked table; cost .3 us a record."""
    texts = _texts(["", *table.texts])
    n = len(table.epoch_ms)
    unknown = _texts([""] * n)
    return {
        "t": np.array(table.epoch_ms, dtype=np.float64) / 1e3,
        "client": texts[np.array(table.clients, dtype=np.int64) + 1],
        "url": texts[np.array(table.urls, dtype=np.int64) + 1],
        "referrer": texts[np.array(table.referrers, dtype=np.int64)],
        "user_agent": unknown,
        "method": unknown,
        "status": np.zeros(n, dtype=np.int64),
        "content_type": unknown,
    }


def table_problems(table: pb.BrowseColumns) -> list[FieldProblem]:
    """Return what is wrong with a table: columns of other lengths, indices out of range."""
    n, texts = len(table.epoch_ms), len(table.texts)
    problems = []
    for name, most in (("clients", texts), ("urls", texts), ("referrers", texts + 1)):
        column = getattr(table, name)
        if len(column) != n:
            rule = f"must be as long as epoch_ms, {n}, got {len(column)}"
            problems.append(FieldProblem(f"columns.{name}", rule))
        elif n and (largest := int(np.array(column, dtype=np.int64).max())) >= most:
            rule = f"must be indices of {texts} texts, got {largest}"
            problems.append(FieldProblem(f"columns.{name}", rule))
    return problems


def _texts(values: Sequence[str]) -> NDArray[Any]:
    texts = np.empty(len(values), dtype=object)
    texts[:] = values
    return texts
