"""Settings are read once, and a typing error does not silently change a live crawl."""

from __future__ import annotations

from pathlib import Path

import pytest
from scrapy.settings import Settings

from linkscore.scrapy.config import Config, crawl_id
from linkscore_lab.conformance import make_certificates


def read(**given: object) -> Config:
    return Config.from_settings(Settings(given), spider_name="News Spider")


def test_every_setting_is_read() -> None:
    config = read(
        LINKSCORE_TARGET="h:1",
        LINKSCORE_OBSERVE_ONLY="1",
        LINKSCORE_CRAWL="mine",
        LINKSCORE_POLICY=("source_ucc", {"alpha": 0.2}),
        LINKSCORE_TIMEOUT="0.5",
        LINKSCORE_TOKEN="t",
        LINKSCORE_TLS=True,
        LINKSCORE_REPORT_EMPTY=False,
        LINKSCORE_OBEY_SKIP=True,
        LINKSCORE_WANTED='{"queries": ["pricing", "limits"]}',  # as on the command line
    )
    policy, wanted = ("source_ucc", {"alpha": 0.2}), {"queries": ["pricing", "limits"]}
    said = {
        "target": "h:1",
        "observe_only": True,
        "crawl": "mine",
        "policy": policy,
        "timeout": 0.5,
        "token": "t",
        "tls": True,
        "report_empty": False,
        "obey_skip": True,
        "wanted": wanted,
    }
    assert vars(config) == vars(read(LINKSCORE_CRAWL="mine")) | said


def test_the_files_of_experience_are_read_and_named_if_they_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "board.json").write_bytes(b"{}")
    there = read(LINKSCORE_EXPERIENCE=[str(tmp_path / "board.json")])
    assert there.crawl_options()["experience"] == [b"{}"]
    with pytest.raises(ValueError, match=r"LINKSCORE_EXPERIENCE: cannot read '.*none' \(No such file"):
        read(LINKSCORE_EXPERIENCE=[str(tmp_path / "none")])


@pytest.mark.parametrize("target", ["http://h:7411", "localhost", "h:port", "", ":7411", "h:0"])
def test_an_address_of_no_form_is_named(target: str) -> None:
    with pytest.raises(ValueError, match=r"^LINKSCORE_TARGET: must be host:port[^\n]*localhost:7411"):
        read(LINKSCORE_TARGET=target)


def test_tls_may_name_the_file_of_an_authority(tmp_path: Path) -> None:
    given = str(make_certificates(tmp_path) / "ca.pem")
    assert read(LINKSCORE_TLS=given).client_options()["tls"] == given
    assert [read(LINKSCORE_TLS=value).tls for value in (True, "1")] == [True, True]
    assert [read(LINKSCORE_TLS=value).tls for value in ("false", 0, "", None)] == [False] * 4
    (tmp_path / "none").write_text("")
    with pytest.raises(ValueError, match=r"LINKSCORE_TLS: no certificate in '.*none', must be a PEM file"):
        read(LINKSCORE_TLS=str(tmp_path / "none"))
    with pytest.raises(ValueError, match=r"LINKSCORE_TLS: cannot read '.*none.pem' \(No such file"):
        read(LINKSCORE_TLS=str(tmp_path / "none.pem"))


def test_a_token_is_in_a_setting_or_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret")
    given = str(tmp_path / "token")
    assert read(LINKSCORE_TOKEN_FILE=given).client_options()["token_file"] == given
    with pytest.raises(ValueError, match="LINKSCORE_TOKEN_FILE: cannot read"):
        read(LINKSCORE_TOKEN_FILE=given + "s")
    with pytest.raises(ValueError, match="only one of them may be set"):
        read(LINKSCORE_TOKEN_FILE=given, LINKSCORE_TOKEN="t")


def test_all_problems_are_named_at_once() -> None:
    with pytest.raises(
        ValueError, match="LINKSCORE_TARGTE: no such setting, did you mean LINKSCORE_TARGET"
    ) as caught:
        read(
            LINKSCORE_TARGTE="x",
            LINKSCORE_TIMEOUT=0,
            LINKSCORE_POLICY=("harvest", {"no": 1}),
            LINKSCORE_WANTED={"quarry": "pricing"},
        )
    assert str(caught.value).count("LINKSCORE_") == 5


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.b", "a-b"), ("-x", "x"), ("__", "scrapy"), ("É", "scrapy"), ("n" * 70, "n" * 63)],
)
def test_a_spider_name_becomes_a_crawl_id(name: str, expected: str) -> None:
    assert crawl_id(name) == expected
