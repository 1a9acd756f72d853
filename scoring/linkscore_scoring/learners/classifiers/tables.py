"""Tables of a learner as bytes: only the columns that were touched, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.errors import CorruptState

Table = NDArray[np.float64]


def packed_columns(table: Table, blank: Table) -> dict[str, bytes]:
    """Return the columns of a (k, dim) table that differ from the column `blank`, (k, 1)."""
    touched = np.flatnonzero((table != blank).any(axis=0))
    return {"columns": touched.astype("<i8").tobytes(), "cells": table[:, touched].astype("<f8").tobytes()}


def unpack_columns(table: Table, blank: Table, state: dict[str, Any]) -> None:
    """Fill a table with the columns of `packed_columns`.

    Raises
    ------
    CorruptState
        If the columns do not fit the table.
    """
    try:
        columns = np.frombuffer(state["columns"], dtype="<i8")
        cells = np.frombuffer(state["cells"], dtype="<f8").reshape(len(table), len(columns))
        table[:] = blank
        table[:, columns] = cells
    except (KeyError, TypeError, ValueError, IndexError) as exc:
        raise CorruptState(f"classifier table: {exc}") from exc
