"""What the library itself learns about URLs can be written for every crawler."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkscore_scoring.browse_logs.patterns import regex_of
from linkscore_scoring.exporters.files import FORMATS, portable
from linkscore_scoring.exporters.rules import SiteRules
from linkscore_scoring.policies.focus.expressions import literal as itf_literal
from linkscore_scoring.types import UrlRule
from linkscore_scoring.urls.identity import identity
from support.exporters.rule_readers import READERS

HOST = "forum.example"
VALUES = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="/?#&="), min_size=1)
PATTERNS = [
    {"host": f"={HOST}", "p0": "=t", "p1": "#", "p2": "-"},
    {"host": f"={HOST}", "p0": "=show.php", "?t": "#", "?f": "#"},
    {"host": f"={HOST}"},
]


@given(VALUES)
def test_values_of_browse_patterns_are_portable(value: str) -> None:
    pattern = portable(regex_of({"host": f"={HOST}", "p0": f"=x{value}", "?q": f"={value}"}))
    url = identity(f"http://{HOST}/x{quote(value, safe='')}?q={quote(value, safe='')}")
    assert re.search(pattern, url), (pattern, url)


@given(VALUES)
def test_literals_of_forum_patterns_are_portable(value: str) -> None:
    assert re.fullmatch(portable(itf_literal(value)), value)


@pytest.mark.parametrize("name", READERS)
def test_browse_patterns_are_followed_as_they_stand_in_pages_and_in_canonical_form(name: str) -> None:
    rules = tuple(UrlRule("behavior", regex_of(pattern)) for pattern in PATTERNS[:2])
    site = SiteRules(crawl="c", host=HOST, policy="p", seeds=(f"http://{HOST}/",), rules=rules)
    file = FORMATS[name](site)
    follows = READERS[name](file)
    assert file.notes == ()
    for url in (f"http://{HOST}/t/5", f"https://{HOST}/show.php?t=5&f=2", f"https://{HOST}/show.php?f=2&t=5"):
        assert follows(url), url
        assert follows(identity(url)), url
    for url in (f"http://{HOST}/u/5", f"https://{HOST}/show.php?t=5&f=2&sid=1", f"https://{HOST}/show.php"):
        assert not follows(url), url


def test_a_pattern_of_the_whole_host_can_be_told_by_path() -> None:
    rules = (UrlRule("behavior", regex_of(PATTERNS[2])),)
    site = SiteRules(crawl="c", host=HOST, policy="p", seeds=(f"http://{HOST}/",), rules=rules)
    file = FORMATS["stormcrawler"](site)
    assert file.notes == ()
    assert READERS["stormcrawler"](file)(f"http://{HOST}/any/thing?x=1")
