"""Layouts are extracted where a policy of the crawl reads them."""

from __future__ import annotations

from typing import ClassVar

import pytest

from linkscore_scoring.engine import config as config_module
from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.policies.baselines.breadth_first import BreadthFirst
from linkscore_scoring.policies.registry import policy_class


def test_a_crawl_reads_layouts_if_one_of_its_policies_does(monkeypatch: pytest.MonkeyPatch) -> None:
    class Reads(BreadthFirst):
        reads_layout: ClassVar[bool] = True

    monkeypatch.setattr(
        config_module, "policy_class", lambda name: Reads if name == "reads" else policy_class(name)
    )
    plain, reads = PolicyChoice("breadth_first"), PolicyChoice("reads")
    assert not CrawlConfig("c", policy=plain).reads_layout
    assert CrawlConfig("c", policy=reads).reads_layout
    assert CrawlConfig("c", policy=plain, extra_policies=(plain, reads)).reads_layout
