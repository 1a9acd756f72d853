"""Every rule exporter passes the suite of the library."""

from __future__ import annotations

from typing import Any

import pytest

from linkscore.v1.site_model_service_pb2 import RuleFormat
from linkscore_scoring.errors import NotFound
from linkscore_scoring.exporters import exporter, exporters
from linkscore_scoring.exporters.base import RuleFile, SiteRules
from linkscore_scoring.testing.exporters import EXPORTER_CHECKS, check_exporter


@pytest.mark.parametrize("check", EXPORTER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", sorted(exporters()))
def test_every_exporter_passes(name: str, check: Any) -> None:
    assert check(name, exporter(name)) is None


def test_the_formats_of_the_contract_are_those_there_are() -> None:
    assert {f"RULE_FORMAT_{name.upper()}" for name in exporters()} == {
        name for name, number in RuleFormat.items() if number
    }


def test_an_unknown_format_is_named_with_those_there_are() -> None:
    with pytest.raises(NotFound, match=r"'wget'.*browsertrix, heritrix, json"):
        exporter("wget")


def careless(site: SiteRules) -> RuleFile:
    lines = [f"# {site.crawl} {site.host} {site.policy} {site.event_seq} {site.state}"]
    return RuleFile("x.txt", "text/plain", "\n".join([*lines, *(rule.pattern for rule in site.rules), ""]))


def test_an_exporter_that_pastes_text_is_found_out() -> None:
    with pytest.raises(AssertionError, match=r"toy: .* begins a line"):
        check_exporter("toy", careless)
