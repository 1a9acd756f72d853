"""Settings are read once, and a typing error does not silently change a live crawl."""

from __future__ import annotations

from pathlib import Path

import pytest
from scrapy.settings import Settings

from linkscore.scrapy.config import Config, crawl_id


def read(**given: object) -> Config:
    return Config.from_settings(Settings(given), spider_name="News Spider")


def test_nothing_is_required() -> None:
    config = read()
    assert (config.target, config.observe_only, config.crawl) == ("localhost:7411", False, "news-spider")
    assert config == Config(crawl="news-spider")


def test_every_setting_is_read() -> None:
    config = read(
        LINKSCORE_TARGET="h:1",
        LINKSCORE_OBSERVE_ONLY="1",
        LINKSCORE_CRAWL="mine",
        LINKSCORE_POLICY=("source_ucc", {"alpha": 0.2}),
        LINKSCORE_TIMEOUT="0.5",
        LINKSCORE_REFRESH="9",
        LINKSCORE_TOKEN="t",
        LINKSCORE_TLS=True,
        LINKSCORE_REPORT_EMPTY=False,
        LINKSCORE_OBEY_SKIP=True,
        LINKSCORE_LEARN="on_demand",
        LINKSCORE_WANTED={"query": "pricing", "languages": ["en"]},
    )
    policy, wanted = ("source_ucc", {"alpha": 0.2}), {"query": "pricing", "languages": ["en"]}
    assert config == Config("h:1", True, "mine", policy, 0.5, 9, "t", True, False, True, "on_demand", wanted)


def test_the_files_of_experience_are_read_and_named_if_they_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "board.json").write_bytes(b"{}")
    assert read(LINKSCORE_EXPERIENCE=[str(tmp_path / "board.json")]).experience == (b"{}",)
    with pytest.raises(ValueError, match=r"LINKSCORE_EXPERIENCE: cannot read '.*none' \(No such file"):
        read(LINKSCORE_EXPERIENCE=[str(tmp_path / "none")])


def test_all_problems_are_named_at_once() -> None:
    with pytest.raises(ValueError, match="LINKSCORE_TARGTE") as caught:
        read(
            LINKSCORE_TARGTE="x",
            LINKSCORE_TIMEOUT=0,
            LINKSCORE_REFRESH=0,
            LINKSCORE_LEARN="never",
            LINKSCORE_POLICY=("harvest", {"no": 1}),
            LINKSCORE_WANTED={"quarry": "pricing"},
        )
    assert str(caught.value).count("LINKSCORE_") == 6


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.b", "a-b"), ("-x", "x"), ("__", "scrapy"), ("É", "scrapy"), ("n" * 70, "n" * 63)],
)
def test_a_spider_name_becomes_a_crawl_id(name: str, expected: str) -> None:
    assert crawl_id(name) == expected
