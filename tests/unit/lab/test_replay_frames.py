"""Frames say what runs say: rows of equal length, by the place of their run; DuckDB reads them."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np

from linkscore_lab.metrics import even_points
from linkscore_lab.replay.frames import composition_frame, curves_frame, explanations_frame, runs_frame
from linkscore_lab.replay.results import RunResult, ScoreExplanation


def crawled(policy: str, curve: list[int], **more: Any) -> RunResult:
    fields = {
        "site": "shop",
        "task": "new_text",
        "mode": "none",
        "seed": 1,
        "start": "http://a/",
        "budget": 9,
    }
    fields |= {"seconds": 0.5, "n_reachable": 9, "n_wanted": 4, "order_digest": "d"}
    fields |= {"metrics": {"recall": curve[-1] / 4 if curve else None}}
    return RunResult(policy=policy, curve=curve, fetched=len(curve), **(fields | more))


WHY = ScoreExplanation("http://a/1", 0.5, "list", "it paid")
RUNS = [
    crawled("harvest", [0, 1, 2], composition={"item": [1] * len(even_points(3))}, explanations=[WHY]),
    crawled("random", [0], metrics={"recall": 0.0, "area_5pct": 0.25}),
    crawled("none", []),
]


def test_a_run_is_a_row_and_a_metric_a_column() -> None:
    frame = runs_frame(RUNS)
    assert {len(column) for column in frame.values()} == {3}
    assert frame["policy"].tolist() == ["harvest", "random", "none"]
    assert frame["fetched"].tolist() == [3, 1, 0]
    assert frame["recall"].tolist()[:2] == [0.5, 0.0]
    assert np.isnan(frame["recall"][2])
    assert np.isnan(frame["area_5pct"]).tolist() == [True, False, True]


def test_a_fetch_is_a_row_of_the_curves() -> None:
    frame = curves_frame(RUNS)
    assert {name: column.tolist() for name, column in frame.items()} == {
        "run": [0, 0, 0, 1],
        "n": [1, 2, 3, 1],
        "found": [0, 1, 2, 0],
    }


def test_a_page_type_is_counted_at_each_point() -> None:
    frame = composition_frame(RUNS)
    assert frame["n"].tolist() == list(even_points(3))
    assert set(frame["page_type"].tolist()) == {"item"}
    assert set(frame["run"].tolist()) == {0}


def test_an_explanation_is_a_row() -> None:
    frame = explanations_frame(RUNS)
    assert {name: column.tolist() for name, column in frame.items()} == {
        "run": [0],
        "url": ["http://a/1"],
        "score": [0.5],
        "bucket": ["list"],
        "summary": ["it paid"],
    }


def test_no_run_is_no_row() -> None:
    for make in (runs_frame, curves_frame, composition_frame, explanations_frame):
        assert {len(column) for column in make([]).values()} == {0}


def test_duckdb_joins_frames() -> None:
    runs, curves = runs_frame(RUNS), curves_frame(RUNS)
    with duckdb.connect() as con:
        con.register("runs", runs)
        con.register("curves", curves)
        query = "SELECT policy, max(found) FROM runs JOIN curves USING (run) GROUP BY ALL ORDER BY ALL"
        assert con.execute(query).fetchall() == [("harvest", 2), ("random", 0)]
