"""One batch of records on its way from a message to staged visits; runs beside the request path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkscore.v1 import browse_log_service_pb2 as pb
from linkscore_scoring.engine.events import BrowseBatchImported
from linkscore_scoring.errors import FieldProblem, InvalidInput
from linkscore_server.browse_logs.visits import Visits

MAX_BATCH_ID_BYTES = 128  # as the contract says
MAX_REASONS = 32  # as the contract says
MAX_LEFT_OUT = 1_000_000_000
"""A bound: records that a sender left out of one batch for one reason. Sums of them stay far from 64 bits."""
_MAX_PROBLEMS = 10  # of one batch that are named: a bound on the answer
_BEFORE_1970 = -1.0  # the time of a record without one: no time of a visit, so a bad line
_RECORDS = """
    SELECT t, nullif(client, '') AS client, nullif(url, '') AS url,
        CASE WHEN referrer NOT IN ('', '-') THEN referrer END AS referrer,
        nullif(user_agent, '') AS user_agent, nullif(method, '') AS method, status,
        nullif(content_type, '') AS content_type, client = '' OR t < 0 AS bad
    FROM given"""


def check(message: pb.ImportBrowseRecordsRequest, most_records: int) -> None:
    """Check what is cheap to check of a batch; raises InvalidInput."""
    problems = []
    if not message.batch_id:
        problems.append(FieldProblem("batch_id", "is required", "REQUIRED"))
    if (size := len(message.batch_id.encode())) > MAX_BATCH_ID_BYTES:
        problems.append(FieldProblem("batch_id", f"must be at most {MAX_BATCH_ID_BYTES} bytes, got {size}"))
    if (n := len(message.records)) > most_records:
        rule = f"must be at most {most_records}, got {n}"
        problems.append(FieldProblem("records", rule))
    if (n := len(message.left_out)) > MAX_REASONS:
        problems.append(FieldProblem("left_out", f"must be at most {MAX_REASONS}, got {n}"))
    problems += [
        FieldProblem(f"left_out[{reason!r}]", f"must be at most {MAX_LEFT_OUT}, got {count}")
        for reason, count in message.left_out.items()
        if count > MAX_LEFT_OUT
    ]
    if problems:
        raise InvalidInput(problems[:_MAX_PROBLEMS])


def staged(
    message: pb.ImportBrowseRecordsRequest,
    store: Visits,
    site_of: Callable[[str], str],
    foreign: bool,
) -> BrowseBatchImported:
    """Make the visits of a batch durable but unseen; returns the event that will show them.

    Raises OSError if they could not be made durable.
    """
    from linkscore_server.browse_logs.reading import rule_sql  # DuckDB is slow to import

    outcomes, days = store.stage(
        message.batch_id,
        {"given": _rows(message.records)},
        _RECORDS,
        rule_sql(message.hosts),
        site_of=site_of,
        foreign=foreign,
    )
    outcomes.update({name: count for name, count in message.left_out.items() if name and count})
    return BrowseBatchImported(message.batch_id, days, dict(outcomes))


def _rows(records: Sequence[pb.BrowseRecord]) -> dict[str, NDArray[Any]]:
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


def _texts(values: Sequence[str]) -> NDArray[Any]:
    texts = np.empty(len(values), dtype=object)
    texts[:] = values
    return texts
