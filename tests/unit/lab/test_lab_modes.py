"""The Scrapy settings of each order."""

from __future__ import annotations

import re

import pytest

from linkscore_lab.crawls import crawl as modes


@pytest.mark.parametrize("name", ["demo-1-Harvest", "x" * 80 + "-7", "--odd name/é-1"])
def test_a_crawl_id_is_one_the_service_takes_and_keeps_what_differs(name: str) -> None:
    made = modes.crawl_id(name)
    assert re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,62}", made)
    assert made[-2:] == name.lower()[-2:]


def test_breadth_first_is_scrapys_own_and_asks_no_service() -> None:
    mode = modes.make_mode("breadth_first", "host:1", "crawl")
    assert mode.settings["DEPTH_PRIORITY"] == 1
    assert not [name for name in mode.settings if name.startswith("LINKSCORE_")]


def test_a_policy_is_asked_of_the_service() -> None:
    mode = modes.make_mode("harvest", "host:1", "crawl", feedback=True)
    asked = {name: value for name, value in mode.settings.items() if name.startswith("LINKSCORE_")}
    assert asked == {"LINKSCORE_TARGET": "host:1", "LINKSCORE_CRAWL": "crawl", "LINKSCORE_POLICY": "harvest"}
    assert mode.feedback


def test_more_settings_win() -> None:
    mode = modes.with_settings(modes.breadth_first(), {"CONCURRENT_REQUESTS": 8, "DEPTH_PRIORITY": 0})
    assert (mode.settings["CONCURRENT_REQUESTS"], mode.settings["DEPTH_PRIORITY"]) == (8, 0)
