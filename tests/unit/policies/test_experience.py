"""The document of what a crawl learned, and what is refused as one."""

from __future__ import annotations

import json

import pytest

from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.policies.answers import ANYTHING, MAX_BYTES, MAX_GROUPS, Experience, LinkGroup

GOOD = [0, 0, 1, 0, 0]
GROUP = LinkGroup(shape=0xAB, link_path=ANYTHING, fetches=12.5, reward=0.75, hub=0.0)


def document(**changes: object) -> bytes:
    found = json.loads(Experience.of([GROUP]).to_bytes())
    return json.dumps(found | changes).encode()


def test_of_too_many_groups_the_most_fetched_stay_and_the_document_is_in_bounds() -> None:
    groups = [
        LinkGroup(2**64 - n, 2**64 - n, 1_000_000.1234 + n, 0.1234, 0.1234) for n in range(1, MAX_GROUPS + 9)
    ]
    learned = Experience.of(groups)
    assert len(learned.groups) == MAX_GROUPS
    assert min(group.fetches for group in learned.groups) == groups[8].fetches
    assert len(learned.to_bytes()) <= MAX_BYTES
    assert Experience.from_bytes(learned.to_bytes()) == learned


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        (b"", "must be a document of"),
        (b"\xff\xfe", "must be a document of"),
        (b"[" * 100_000, "must be a document of"),
        (b"[]", "must be a document of"),
        (document(format="rules"), "must be a document of"),
        (document(version=2), r"version 1: Invalid enum value 2"),
        (document(groups={}), r"Expected `array`, got `object` - at `\$.groups`"),
        (document(groups=[GOOD] * (MAX_GROUPS + 1)), "of length <= 1000"),
        (b" " * (MAX_BYTES + 1), f"must be at most {MAX_BYTES} bytes"),
        (document(groups=[["ab", 0, 1, 0, 0]]), r"at `\$.groups\[0\]"),
        (document(groups=[[0, 0, 0, 0, 0]]), r"at `\$.groups\[0\]"),
        (document(groups=[[0, 0, 1, 1.5, 0]]), r"at `\$.groups\[0\]"),
        (document(groups=[[0, 0, 10**400, 0, 0]]), r"at `\$.groups\[0\]"),
        (document(groups=[[0, 0, float("inf"), 0, 0]]), "malformed"),
        (document(groups=[[0, 0, 1, 10**400, 0]]), r"at `\$.groups\[0\]"),
        (document(groups=[[0, 0, 1, 0, float("nan")]]), "malformed"),
        (document(groups=[[0, 0, True, 0, 0]]), r"at `\$.groups\[0\]"),
        (document(groups=[[0, 0, 1, 0]]), r"at `\$.groups\[0\]"),
    ],
    ids=range(18),
)
def test_what_is_no_document_is_refused_with_the_reason(given: bytes, rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule):
        Experience.from_bytes(given)
