"""From labelled pages to a model: weights of pages, standard signals, two linear classifiers, calibration."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from linkscore_research.page_types.examples import Example
from linkscore_scoring.features.layout import SIGNALS
from linkscore_scoring.policies.focus.policy import MAX_DEVIATIONS, PageTypeModel

SIGNS: dict[str, tuple[int, int]] = {
    # titles
    "unlinked_headings": (-1, 1),
    "linked_heading_share": (1, -1),
    # what times belong to
    "time_with_headline": (1, -1),
    "time_with_text": (-1, 1),
    "time_with_both": (1, -1),
    "time_with_inner": (-1, 1),
    # a person, and words
    "is_person": (-1, -1),
    "actions": (-1, 1),
    "counts": (1, 0),
}


Array = NDArray[np.float64]

# Bounds of L-BFGS-B: exact enough that the same input gives the same rounded weights.
_MAX_STEPS = 3_000
# See `_MAX_STEPS`.
_TOLERANCE = 1e-12


def fit_svm(
    rows: Array, is_kind: NDArray[np.bool_], weights: Array, signs: Sequence[int], *, cost: float
) -> tuple[Array, float]:
    """Return weights (n_signals,) and bias that minimise |w|^2 / 2 + cost x weighted squared hinge loss.

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


# Measured, research/notebook/page-types.md: .01 and .03 differ by .002, .003 is worse.
COST = 0.01
# Generated pages weigh as much as three sites (research/notebook/page-types.md). Chosen with them in view.
GENERATED_WEIGHT = 3.0
KINDS = ("INDEX", "THREAD")
GENERATED = "generated"
# A kind with fewer pages counts less, see `page_weights`. Chosen, not measured.
_FULL_PAGES = 50
# Digits of a weight in the file. Chosen, not measured.
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Rows:
    """Examples as columns; entry pages count as index pages, or not at all, as the paper has it."""

    sites: NDArray[np.str_]
    kinds: NDArray[np.str_]
    signals: Array
    weights: Array

    @classmethod
    def of(cls, examples: Sequence[Example]) -> Rows:
        """Return the examples without entry pages, weighted by `page_weights`."""
        used = [example for example in examples if example.kind != "ENTRY"]
        return cls(
            np.array([example.site for example in used]),
            np.array([example.kind for example in used]),
            np.array([example.signals for example in used], dtype=np.float64).reshape(len(used), -1),
            page_weights(used)
            * np.where([example.site == GENERATED for example in used], GENERATED_WEIGHT, 1.0),
        )

    def some(self, which: NDArray[np.bool_]) -> Rows:
        """Return some of the rows."""
        return Rows(self.sites[which], self.kinds[which], self.signals[which], self.weights[which])


def page_weights(examples: Sequence[Example]) -> Array:
    """Return weights that let sites count alike, in a site kinds, and in a kind templates by root of pages.

    A kind with fewer than 50 pages counts less, by the root of its share of that: one odd page must not be a
    third of a site.
    """
    rows: dict[str, dict[str, dict[str, list[int]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for i, example in enumerate(examples):
        rows[example.site][example.kind][example.template].append(i)
    weights = np.zeros(len(examples))
    for kinds in rows.values():
        for templates in kinds.values():
            pages = {name: sum(examples[i].pages for i in found) for name, found in templates.items()}
            whole = sum(n**0.5 for n in pages.values())
            full = min(1.0, (sum(pages.values()) / _FULL_PAGES) ** 0.5)
            for name, found in templates.items():
                weights[found] = full * pages[name] ** 0.5 / whole / len(found)
    return weights


def train(rows: Rows, *, cost: float = COST) -> dict[str, Any]:
    """Return the plain values of a model; calibrated on margins of each stored site by a model without it."""
    plain = _fit(rows, cost)
    stored = rows.some(rows.sites != GENERATED)
    names = sorted(set(stored.sites))
    if len(names) > 1:
        margins = np.zeros((len(stored.sites), 2))
        for name in names:
            here = stored.sites == name
            model = msgspec.convert(_fit(rows.some(rows.sites != name), cost), PageTypeModel)
            margins[here] = margins_of(model, stored.signals[here])
        for column, kind in enumerate(KINDS):
            slope, offset = fit_platt(margins[:, column], stored.kinds == kind, stored.weights)
            plain[kind.lower()] |= {"slope": _round(slope), "offset": _round(offset)}
    return plain


def train_all(rows: Rows, leave_out: Sequence[str], *, cost: float = COST) -> dict[str, Any]:
    """Return the model of all sites and one without each of `leave_out`, as the package keeps them."""
    without = {name: train(rows.some(rows.sites != name), cost=cost) for name in sorted(leave_out)}
    return {"signals": list(SIGNALS), "all": train(rows, cost=cost), "without": without}


def margins_of(model: PageTypeModel, signals: Array) -> Array:
    """Return the margins of many pages, (n_pages, 2)."""
    return np.array([model.classify(row)[1] for row in signals]).reshape(-1, 2)


def _fit(rows: Rows, cost: float) -> dict[str, Any]:
    mean = np.average(rows.signals, axis=0, weights=rows.weights)
    scale = np.sqrt(np.average((rows.signals - mean) ** 2, axis=0, weights=rows.weights))
    scale = np.where(scale > 1e-6, scale, 1.0)
    standard = np.clip((rows.signals - mean) / scale, -MAX_DEVIATIONS, MAX_DEVIATIONS)
    plain: dict[str, Any] = {"mean": _rounded(mean), "scale": _rounded(scale)}
    for side, kind in enumerate(KINDS):
        signs = [_sign(SIGNS, name, side) for name in SIGNALS]
        weights, bias = fit_svm(standard, rows.kinds == kind, rows.weights, signs, cost=cost)
        plain[kind.lower()] = {
            "weights": _rounded(weights),
            "bias": _round(bias),
            "slope": 2.0,
            "offset": 0.0,
        }
    return plain


def _sign(signs: Mapping[str, tuple[int, int]], name: str, side: int) -> int:
    return signs[name][side] if name in signs else 0


def _rounded(values: Array) -> list[float]:
    return [_round(value) for value in values]


def _round(value: float) -> float:
    return round(float(value), _DIGITS) + 0.0
