"""The page of how harvest decides has the constants and the formula of the code."""

from __future__ import annotations

import re
from dataclasses import asdict
from math import log, sqrt
from pathlib import Path

import pytest

from linkscore_scoring.policies.harvest import Harvest, HarvestParams, Tunables
from linkscore_scoring.policies.harvest.arms import nodes_of
from linkscore_scoring.site.learning import LearningConfig, SiteBounds
from linkscore_scoring.site.model import SiteModel

PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "harvest.md"


def test_the_constants_beside_the_terms_are_those_of_the_code() -> None:
    known = asdict(HarvestParams()) | asdict(Tunables())
    rows = re.findall(r"^\| `\w+` \|.*\| ([^|]+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    said = {name: float(number) for row in rows for name, number in re.findall(r"`(\w+)` ([\d.]+)", row)}
    assert len(said) > 10
    assert {name: known[name] for name in said} == said


def test_a_score_without_labels_is_what_the_page_says() -> None:
    harvest, arm = Harvest(HarvestParams()), (1, 2)
    for _ in range(10):
        harvest.arms.credit(nodes_of(*arm), reward=0.6, hub=0.1)
    harvest.arms.found({arm: 15})
    # Shrunk to .6 from a prior of .3, and to .1 from .3, by two pulls at each of four nodes.
    reward, hub = (goal + (0.3 - goal) * (2 / 12) ** 4 for goal in (0.6, 0.1))
    bulk = 1 + 0.2 * 15 / (15 + 30)
    bonus = sqrt(2 * log(10 + 1) / (1 + 10))
    trust = 0.2 * (1 - 2 / (2 + 10) * (1 - 15 / (15 + 5)))
    value = reward * bulk + 0.25 * hub + 0.02 * bonus * 15 / (15 + 5) + trust
    site = SiteModel("a.org", LearningConfig(), SiteBounds())
    assert harvest.value(["h1.2"], site).tolist() == pytest.approx([value / (1 + value)])


def test_a_list_pays_what_the_page_says() -> None:
    harvest, post, listing = Harvest(HarvestParams()), (1, 2), (3, 4)
    for _ in range(30):
        harvest.arms.credit(nodes_of(*post), reward=0.9, hub=0.0)
        harvest.arms.credit(nodes_of(*listing), reward=0.0, hub=0.5)
    ((reward, hub, *_),) = harvest.arms.arm_stats([listing])
    a, links = 0.8 * 0.45, 20 * hub
    paid = (reward + links) / (1 + links / a) - reward
    assert paid > 0.25 * hub
    value = reward + paid + 0.2 * (1 - 2 / (2 + 30))
    site = SiteModel("a.org", LearningConfig(), SiteBounds())
    assert harvest.value(["h3.4"], site).tolist() == pytest.approx([value / (1 + value)])
