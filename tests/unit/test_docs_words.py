"""The documentation is held to its style: every rule finds what it forbids, and the pages pass."""

from __future__ import annotations

import pytest
from tools import words

pytestmark = pytest.mark.whole

GOOD = """# 12 ways to run 40 servers

<!-- told:
anew -->
A crawler asks the server which [queue](x.md#12-13-14) is next.
The server answers with `bucket-17`, as in 0.1.0.

```console
linkscore told 1 2 3 4 5 6 7 8 9
```

| column | 1 | 2 | 3 |
|---|---|---|---|
| 4 | 5 | 6 | 7 |

- One item of a list is a paragraph
  that goes on in a second line.
- Another is one of its own.
"""
LONG = " ".join(["word"] * 36)


def rules(text: str, page: str = "docs/guides/some.md") -> list[str]:
    return [f"{finding.line}: {finding.rule}" for finding in words.findings(page, text)]


def test_a_good_page_has_no_findings() -> None:
    assert rules(GOOD) == []
    assert words.figures(GOOD)[:3] == ("38", "0.0", "17")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A crawl is told its pages.", "1: say given, shown, learned from"),
        ("Told nothing, it looks\nfor text.", "1: say without labels"),
        ("## It stands here", "1: say is"),
        ("| a | in earnest |", "1: say for real"),
        ("Of two buckets the server takes the older.", "1: put the subject first"),
        (f"Short.\n\n{LONG}.", "3: sentence of 36 words"),
        (f"- {LONG}.\n- One.", "1: sentence of 36 words"),
        ("One word more. " * 30, "1: paragraph of 90 words"),
        ("A line. " * 10 + "\nIt takes 30 s.", "1: 4.2 numbers in 100 words"),
        ("A few words more.\n\n" * 226, "1: page of 904 words"),
    ],
)
def test_a_bad_page_is_found(text: str, found: str) -> None:
    assert rules(text) == [found]


def test_of_course_may_begin_a_sentence_and_code_may_too() -> None:
    assert rules(f"Of course it may. {' '.join(['word'] * 20)}. `linkscore` {' '.join(['word'] * 20)}.") == []


def test_a_page_of_reference_may_have_numbers_and_as_many_words_as_it_needs() -> None:
    many = "It takes 30 s and 40 MB.\n\n" * 200
    assert rules(many, "docs/reference/operations.md") == []
    assert rules(many, "docs/reference/policies/harvest.md") == ["1: page of 1400 words"]


def test_a_release_of_the_changelog_has_a_limit_and_the_file_has_none() -> None:
    short, long = "A few words more.\n\n" * 70, "A few words more.\n\n" * 80
    assert rules(f"## 0.2.0\n{short}\n## 0.1.0\n{short}", "CHANGELOG.md") == []
    assert rules(f"## 0.2.0\n{short}\n## 0.1.0\n{long}", "CHANGELOG.md") == ["143: release of 320 words"]


def test_a_finding_says_where_it_is() -> None:
    (finding,) = words.findings("docs/start/scrapy.md", "One.\n\nIt is told.")
    assert str(finding) == "docs/start/scrapy.md:3: say given, shown, learned from: told"


@pytest.mark.parametrize("page", words.pages(words.ROOT))
def test_the_pages_keep_the_rules(page: str) -> None:
    text = (words.ROOT / page).read_text(encoding="utf-8")
    assert [str(finding) for finding in words.findings(page, text)] == []
