"""TF-IDF weights of bags of paths (Xu 2018, equations 1 and 2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Norm = Literal["l1", "l2"]


@dataclass(frozen=True)
class Vectorizer:
    """Frozen TF-IDF space: new pages are weighted with the document frequencies of the learned sample.

    Source: Xu 2018, section 3.2, equations 1 and 2. Differences from the paper: the paper does not say how a
    page outside the sample is weighted; here unseen paths are dropped *before* normalising, so a page of
    known paths has norm 1 whatever else it carries. The ``l2`` variant is ours.
    """

    vocabulary: tuple[str, ...]
    df: tuple[int, ...]
    n_pages: int
    norm: Norm = "l1"

    @cached_property
    def _column(self) -> dict[str, int]:
        return {path: i for i, path in enumerate(self.vocabulary)}

    @cached_property
    def idf(self) -> NDArray[np.float64]:
        """Inverse document frequencies, (n_paths,) float64, never below ln 2."""
        return np.log(self.n_pages / np.asarray(self.df, dtype=np.float64) + 1.0)

    def transform(self, bags: Sequence[Mapping[str, int]]) -> NDArray[np.float64]:
        """Return the weights, shape (n_bags, n_paths) float64; a bag without known paths is a zero row.

        Cost O(total bag size + n_bags x n_paths).
        """
        column_of, weights = self._column.get, np.zeros((len(bags), len(self.vocabulary)), dtype=np.float64)
        for row, bag in zip(weights, bags, strict=True):
            held, leaves = list[int](), list[int]()
            for path, count in bag.items():
                column = column_of(path)
                if column is not None:
                    held.append(column)
                    leaves.append(count)
            columns, tf = np.array(held, dtype=np.intp), np.array(leaves, dtype=np.float64)
            row[columns] = np.log(tf + 1.0) * self.idf[columns]  # eq. 1; a path that is not there weighs 0
        return normalised(weights, self.norm)


def fit_vectorizer(
    bags: Sequence[Mapping[str, int]], *, min_df: int = 4, norm: Norm = "l1", max_paths: int = 4_000
) -> Vectorizer:
    """Learn the TF-IDF space of a sample."""
    df = Counter(path for bag in bags for path in bag)
    frequent = sorted((path for path, count in df.items() if count >= min_df), key=lambda p: (-df[p], p))
    vocabulary = tuple(sorted(frequent[:max_paths]))
    return Vectorizer(vocabulary, tuple(df[path] for path in vocabulary), len(bags), norm)


def normalised(weights: NDArray[np.float64], norm: Norm) -> NDArray[np.float64]:
    """Return rows scaled to norm 1; zero rows stay zero (they are outliers, see `zero_rows`)."""
    if norm == "l1":
        size = weights.sum(axis=1, keepdims=True)
    else:
        size = np.sqrt((weights * weights).sum(axis=1, keepdims=True))
    return weights / np.where(size > 0.0, size, 1.0)  # eq. 2


def zero_rows(matrix: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which pages kept no feature, (n,) bool; at mutual distance 0 they would fake a cluster."""
    return np.asarray(~matrix.any(axis=1), dtype=np.bool_)
