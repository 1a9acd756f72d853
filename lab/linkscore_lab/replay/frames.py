"""Results of replays as data frames: columns of equal length by name.

They are plain dictionaries of arrays, so this needs none of the libraries that read them:
``pandas.DataFrame(frame)``, ``polars.DataFrame(frame)``, or DuckDB by the name of the variable.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkscore_lab.metrics import even_points
from linkscore_lab.replay.results import RunResult

Frame = dict[str, NDArray[Any]]
"""Columns of equal length; texts are of dtype object, and what is not known of a number is NaN."""

_TEXTS = ("site", "task", "mode", "policy", "start", "order_digest")
_NUMBERS = ("seed", "budget", "fetched", "n_reachable", "n_wanted", "n_examples", "in_flight")
_TIMES = ("seconds", "cpu_seconds", "took")


def runs_frame(runs: Sequence[RunResult]) -> Frame:
    """Return a row for each crawl: what was crawled and how, and every metric as a column.

    Parameters
    ----------
    runs
        Of `linkscore_lab.replay.run`, or `runs` of a result file.

    Returns
    -------
    Frame
        ``run`` is the place of the crawl in `runs`, by which the other frames name it.
    """
    frame: Frame = {"run": np.arange(len(runs))}
    frame |= {name: _texts(getattr(run, name) for run in runs) for name in _TEXTS}
    frame |= {name: np.array([getattr(run, name) for run in runs], np.int64) for name in _NUMBERS}
    frame |= {name: np.array([getattr(run, name) for run in runs], np.float64) for name in _TIMES}
    metrics = dict.fromkeys(name for run in runs for name in run.metrics)
    return frame | {name: np.array([_number(run.metrics.get(name)) for run in runs]) for name in metrics}


def curves_frame(runs: Sequence[RunResult]) -> Frame:
    """Return a row for each fetch of each crawl: wanted pages among the first `n` fetches."""
    lengths = [len(run.curve) for run in runs]
    return {
        "run": np.repeat(np.arange(len(runs)), lengths),
        "n": _joined(np.arange(1, length + 1) for length in lengths),
        "found": _joined(np.array(run.curve, np.int64) for run in runs),
    }


def composition_frame(runs: Sequence[RunResult]) -> Frame:
    """Return a row for each crawl, page type and number of fetches at which types were counted."""
    rows = [
        (at, kind, n, count)
        for at, run in enumerate(runs)
        for kind, counts in run.composition.items()
        for n, count in zip(even_points(run.fetched), counts, strict=True)
    ]
    numbers = np.array([(at, n, count) for at, _, n, count in rows], np.int64).reshape(-1, 3)
    return {
        "run": numbers[:, 0],
        "page_type": _texts(kind for _, kind, _, _ in rows),
        "n": numbers[:, 1],
        "fetched": numbers[:, 2],
    }


def explanations_frame(runs: Sequence[RunResult]) -> Frame:
    """Return a row for each link whose score was explained."""
    rows = [(at, one) for at, run in enumerate(runs) for one in run.explanations]
    return {
        "run": np.array([at for at, _ in rows], np.int64),
        "url": _texts(one.url for _, one in rows),
        "score": np.array([one.score for _, one in rows], np.float64),
        "bucket": _texts(one.bucket for _, one in rows),
        "summary": _texts(one.summary for _, one in rows),
    }


def _number(metric: float | None) -> float:
    return np.nan if metric is None else float(metric)


def _texts(values: Iterable[str]) -> NDArray[Any]:
    return np.array(list(values), dtype=object)


def _joined(columns: Iterable[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate([np.zeros(0, np.int64), *columns])
