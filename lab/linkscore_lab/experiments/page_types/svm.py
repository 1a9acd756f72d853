"""Linear support vector machine whose weights have signs known beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

Array = NDArray[np.float64]

_MAX_STEPS = 3_000
_TOLERANCE = 1e-12


def fit_svm(
    rows: Array, is_kind: NDArray[np.bool_], weights: Array, signs: Sequence[int], *, cost: float
) -> tuple[Array, float]:
    """Return weights (n_signals,) and bias that minimise |w|^2 / 2 + cost x weighted squared hinge loss.

    Parameters
    ----------
    rows
        Standardised signals, (n_pages, n_signals).
    is_kind
        Which pages are of the kind, (n_pages,).
    weights
        Of the pages, (n_pages,); those of the kind and the others count alike in sum.
    signs
        1: weight >= 0, -1: weight <= 0, 0: weight 0.
    cost
        Price of errors; the pages weigh as much as there are of them.

    Notes
    -----
    L2-regularised squared hinge, as scikit-learn's ``LinearSVC`` minimises, but with bounds on the weights
    and a free bias; L-BFGS-B, which is exact enough to be reproduced.
    """
    share = np.where(is_kind, weights / weights[is_kind].sum(), weights / weights[~is_kind].sum())
    share = cost * len(rows) * share / 2
    side = np.where(is_kind, 1.0, -1.0)

    def loss(point: Array) -> tuple[float, Array]:
        short = np.maximum(0.0, 1.0 - side * (rows @ point[:-1] + point[-1]))
        slope = -2.0 * share * short * side
        gradient = np.append(point[:-1] + rows.T @ slope, slope.sum())
        return float(point[:-1] @ point[:-1] / 2 + share @ short**2), gradient

    ranges = {1: (0.0, None), -1: (None, 0.0), 0: (0.0, 0.0)}
    bounds: list[Any] = [*(ranges[sign] for sign in signs), (None, None)]
    start = np.zeros(rows.shape[1] + 1)
    found = minimize(
        loss, start, jac=True, bounds=bounds, method="L-BFGS-B",
        options={"maxiter": _MAX_STEPS, "maxfun": 2 * _MAX_STEPS, "ftol": _TOLERANCE, "gtol": 1e-7},
    )  # fmt: skip
    return found.x[:-1], float(found.x[-1])


def fit_platt(margins: Array, is_kind: NDArray[np.bool_], weights: Array) -> tuple[float, float]:
    """Return slope and offset of the logistic curve that turns margins into probabilities (Platt 1999).

    The targets are smoothed by half a percent in place of Platt's counts: pages are weighted.
    """
    target = np.where(is_kind, 0.995, 0.005)
    share = np.where(is_kind, weights / weights[is_kind].sum(), weights / weights[~is_kind].sum())

    def loss(point: Array) -> tuple[float, Array]:
        logit = np.clip(point[0] * margins + point[1], -30, 30)
        prob = 1 / (1 + np.exp(-logit))
        value = share @ (np.logaddexp(0, logit) - target * logit)
        error = share * (prob - target)
        return float(value), np.array([error @ margins, error.sum()])

    found = minimize(loss, np.array([2.0, 0.0]), jac=True, bounds=[(0.1, 20), (-10, 10)], method="L-BFGS-B")
    return float(found.x[0]), float(found.x[1])
