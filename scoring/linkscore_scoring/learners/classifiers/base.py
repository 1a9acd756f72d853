"""What an online classifier is: sparse rows in, probabilities out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.errors import CorruptState

DIM = 1 << 18
"""Features of a classifier unless it is told otherwise: 4 MB a table of two rows; chosen, not measured."""

_CERTAIN = 1e-9  # distance that probabilities keep from 0 and 1, so that log odds are finite

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Features:
    """Sparse rows as columns of equal length; entries of a row need not be neighbours, repeated ones add up.

    Attributes
    ----------
    n
        Number of rows; a row without entries is fine.
    rows, indices
        (nnz,) int64: row and feature of each entry; features are in [0, dim).
    values
        (nnz,) float64.
    """

    n: int
    rows: Ints
    indices: Ints
    values: Floats

    def __len__(self) -> int:
        return self.n

    def sums(self, terms: Floats) -> Floats:
        """Return the sum of one term per entry over each row, (n,) float64; a row sums alike in any batch."""
        return np.asarray(np.bincount(self.rows, weights=terms, minlength=self.n), dtype=np.float64)

    def each(self) -> Iterator[tuple[Ints, Floats]]:
        """Yield the distinct features of each row in rising order, and their values."""
        order = np.argsort(self.rows, kind="stable")
        ends = np.cumsum(np.bincount(self.rows, minlength=self.n))
        for part in np.split(order, ends[:-1]) if self.n else ():
            indices, places = np.unique(self.indices[part], return_inverse=True)
            sums = np.bincount(places, weights=self.values[part], minlength=len(indices))
            yield indices, np.asarray(sums, dtype=np.float64)


def features_of(rows: list[dict[int, float]]) -> Features:
    """Return the features of some rows given as mappings from feature to value.

    Examples
    --------
    >>> X = features_of([{3: 1.0, 5: 2.0}, {3: 4.0}])
    >>> X.rows.tolist(), X.indices.tolist(), X.values.tolist()
    ([0, 0, 1], [3, 5, 3], [1.0, 2.0, 4.0])
    """
    lengths = [len(row) for row in rows]
    return Features(
        len(rows),
        np.repeat(np.arange(len(rows), dtype=np.int64), lengths),
        np.array([index for row in rows for index in row], dtype=np.int64),
        np.array([value for row in rows for value in row.values()], dtype=np.float64),
    )


class Classifier(ABC):
    """An online binary classifier over hashed features; bounded by `dim`, deterministic, no clock, no draws.

    A batch is learned row by row in its order, so that batches may be cut anywhere. Labels may come late,
    twice, or contradict earlier ones. Class attribute `balanced`: rows of the rarer class should
    weigh more; not so for learners that describe each class by itself.

    Parameters
    ----------
    dim
        Number of features.
    """

    name: ClassVar[str]
    balanced: ClassVar[bool] = True

    def __init__(self, *, dim: int = DIM) -> None:
        self.dim = dim

    def learn(self, X: Features, y: Floats, weight: Floats | None = None) -> None:
        """Learn rows in order; cost O(nnz), about 20 us a row for the numpy learners.

        Parameters
        ----------
        y
            (n,) 1 for relevant, 0 for not.
        weight
            (n,) how often each row counts, > 0; 1 if left out.
        """
        weights = np.ones(len(X)) if weight is None else weight
        for (indices, values), label, share in zip(X.each(), y, weights, strict=True):
            self.learn_row(indices, values, bool(label), float(share))

    @abstractmethod
    def learn_row(self, indices: Ints, values: Floats, relevant: bool, weight: float) -> None:
        """Learn one row; `indices` are distinct."""

    @abstractmethod
    def predict_prob(self, X: Features) -> Floats:
        """Return the probability of being relevant, (n,) float64 in [0, 1]; about 0.5 before any label."""

    def contributions(self, X: Features) -> Floats:
        """Return what each entry adds to the log odds, (nnz,) float64; zeros if the learner cannot say."""
        return np.zeros(len(X.indices))

    @abstractmethod
    def soften(self, keep: float) -> None:
        """Let what was learned count less, `keep` in (0, 1], so that labels of a changed world count more."""

    @abstractmethod
    def to_state(self) -> dict[str, Any]:
        """Return what was learned as plain values."""

    @abstractmethod
    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the knowledge of `to_state`.

        Raises
        ------
        CorruptState
            If the state is not one of this learner.
        """


def sigmoid(x: Floats) -> Floats:
    """Return 1 / (1 + exp(-x)) without overflow."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * x)), dtype=np.float64)


def logit(prob: Floats) -> Floats:
    """Return ln(p / (1 - p)), p kept 1e-9 away from 0 and 1."""
    p = np.clip(prob, _CERTAIN, 1.0 - _CERTAIN)
    return np.asarray(np.log(p / (1.0 - p)), dtype=np.float64)


def packed_columns(table: Floats, blank: Floats) -> dict[str, bytes]:
    """Return the columns of a (k, dim) table that differ from the column `blank`, (k, 1), bit for bit."""
    touched = np.flatnonzero((table != blank).any(axis=0))
    return {"columns": touched.astype("<i8").tobytes(), "cells": table[:, touched].astype("<f8").tobytes()}


def unpack_columns(table: Floats, blank: Floats, state: dict[str, Any]) -> None:
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
