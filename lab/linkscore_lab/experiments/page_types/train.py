"""From labelled pages to a model: weights of pages, standard signals, two classifiers, calibration."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkscore_lab.experiments.page_types.examples import Example
from linkscore_lab.experiments.page_types.signs import SIGNS
from linkscore_lab.experiments.page_types.svm import Array, fit_platt, fit_svm
from linkscore_scoring.features.layout.signals import SIGNALS
from linkscore_scoring.policies.focus.page_types import MAX_DEVIATIONS, PageTypeModel, model_from

COST = 0.01
GENERATED_WEIGHT = 3.0
KINDS = ("INDEX", "THREAD")
GENERATED = "generated"
_FULL_PAGES = 50
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
            model = model_from(_fit(rows.some(rows.sites != name), cost))
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
