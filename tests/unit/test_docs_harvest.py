"""The page of how harvest decides has the constants and the formula of the code."""

from __future__ import annotations

import re
from dataclasses import asdict
from math import log, sqrt
from pathlib import Path

import pytest

from linkscore_scoring.policies.harvest import HarvestParams, Tunables
from support.boards import Board

PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "harvest.md"


def test_the_constants_beside_the_terms_are_those_of_the_code() -> None:
    known = asdict(HarvestParams()) | asdict(Tunables())
    rows = re.findall(r"^\| `\w+` \|.*\| ([^|]+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    said = {name: float(number) for row in rows for name, number in re.findall(r"`(\w+)` ([\d.]+)", row)}
    assert len(said) > 10
    assert {name: known[name] for name in said} == said


LIST, NEXT = "html/body/ul/li/a", "html/body/div/a[next]"


def test_a_score_is_what_the_page_says() -> None:
    """By the terms of an explanation: six of twenty posts were fetched, two of nine lists, seven wait."""
    board = Board("harvest")
    board.page("/", [(f"/list/{n}", NEXT) for n in range(9)])
    for n in range(2):
        board.page(f"/list/{n}", [(f"/post/{n}{i}", LIST) for i in range(10)])
    for n in range(6):
        board.page(f"/post/0{n}", texts=[(f"post {n}", 3_600)])
    of = {term.name: term.value for term in board.explain("/list/8")[0].explanation.terms}
    n, pulls, waiting = of["fetched"], 9, 7
    assert of["bulk"] == pytest.approx(1 + 0.2 * waiting / (waiting + 30))
    bonus = sqrt(2 * log(pulls + 1) / (1 + n))
    trust = 0.2 * (1 - 2 / (2 + n) * (1 - waiting / (waiting + 5)))
    assert of["exploration"] == pytest.approx(0.02 * bonus * waiting / (waiting + 5) + trust)
    value = of["mean_reward"] * of["bulk"] + of["hub"] + of["exploration"] + of["curiosity"]
    assert board.scores("/list/8") == pytest.approx([value / (1 + value)])
