"""What is wanted keeps its rules, and each problem names its field."""

from __future__ import annotations

import pytest

from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.wanted import Wanted, WantedSample

TOPIC = PolicyChoice("topic")
QUERY = "pricing"
A_PAGE = "http://a.org/1"


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        (Wanted(), "wanted"),
        (Wanted(samples=(WantedSample(A_PAGE, A_PAGE, unwanted=True),)), "wanted"),
        (Wanted((QUERY, "")), "wanted.queries[1]"),
        (Wanted(("?! -",)), "wanted.queries[0]"),
        (Wanted((' {"query": "kayaks"} ',)), "wanted.queries[0]"),
        (Wanted(("x" * 100_000,)), "wanted.queries[0]"),
        (Wanted((QUERY,) * 21), "wanted.queries"),
        (
            Wanted(samples=(WantedSample(A_PAGE, A_PAGE), WantedSample(A_PAGE, A_PAGE, unwanted=True))),
            "wanted.samples[1].unwanted",
        ),
    ],
)
def test_what_cannot_work_is_refused_by_the_name_of_the_field(wanted: Wanted, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        CrawlConfig("c", TOPIC, wanted=wanted).check()
    assert [problem.field for problem in caught.value.problems] == [field]


def test_a_crawl_needs_a_policy_that_goes_by_words() -> None:
    with pytest.raises(InvalidInput, match="topic and keyword"):
        CrawlConfig("c", PolicyChoice("harvest"), wanted=Wanted((QUERY,))).check()
    CrawlConfig("c", PolicyChoice("focus", {"fallback": "topic"}), wanted=Wanted((QUERY,))).check()


def test_words_are_read_if_words_are_wanted_and_a_policy_reads_them() -> None:
    assert not CrawlConfig("c", TOPIC).words
    assert not CrawlConfig("c", PolicyChoice("keyword"), wanted=Wanted((QUERY,))).words
    assert CrawlConfig("c", TOPIC, wanted=Wanted((QUERY,))).words
