"""Arrays as plain values: shape, dtype and bytes; of what is mostly zero, the other cells only."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.errors import CorruptState

State = dict[str, Any]
"""Plain values by name."""


def pack_array(array: NDArray[Any]) -> State:
    """Return a dense array as shape, little-endian dtype and bytes."""
    plain = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
    return {"shape": list(array.shape), "dtype": plain.dtype.str, "data": plain.tobytes()}


def unpack_array(state: State) -> NDArray[Any]:
    """Return the array `pack_array` stored.

    Raises
    ------
    CorruptState
        If shape, dtype and length disagree.
    """
    try:
        flat = np.frombuffer(state["data"], dtype=np.dtype(state["dtype"]))
        return flat.reshape(state["shape"]).astype(flat.dtype.newbyteorder("="))
    except (KeyError, TypeError, ValueError) as exc:
        raise CorruptState(f"array state: shape, dtype and data must agree, got {exc}") from exc


def pack_sparse(matrix: NDArray[np.float64]) -> State:
    """Return a mostly zero matrix of shape (n, m) as its non-zero cells in row order."""
    cells = np.flatnonzero(matrix)
    values = np.ascontiguousarray(matrix).ravel()[cells]
    return {"shape": list(matrix.shape), "cells": pack_array(cells), "values": pack_array(values)}


def unpack_sparse(state: State) -> NDArray[np.float64]:
    """Return the matrix `pack_sparse` stored.

    Raises
    ------
    CorruptState
        If a cell lies outside the shape or the parts disagree.
    """
    try:
        matrix = np.zeros(state["shape"], dtype=np.float64)
        matrix.reshape(-1)[unpack_array(state["cells"])] = unpack_array(state["values"])
    except (KeyError, TypeError, ValueError, IndexError) as exc:
        raise CorruptState(f"matrix state: cells and values must fit the shape, got {exc}") from exc
    return matrix
