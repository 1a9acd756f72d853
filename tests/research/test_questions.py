"""The question suite: sixty questions over ten sites, in two halves."""

from __future__ import annotations

from collections import Counter

from linkscore_research.wanted.questions import FETCHES, Answered, site_names, table_of, tasks_of
from linkscore_scoring.urls.identity import identity


def test_ten_sites_have_six_questions_each() -> None:
    assert Counter(len(tasks_of(name)) for name in site_names()) == {6: 10}


def test_the_page_of_a_question_is_named_by_its_identity() -> None:
    pages = [page for name in site_names() for task in tasks_of(name) for page in task.pages]
    assert [identity(page) for page in pages] == pages
    assert len(set(pages)) == len(pages)


def test_both_halves_have_a_third_of_the_questions_at_least() -> None:
    judged = sum(task.is_judged for name in site_names() for task in tasks_of(name))
    assert 20 <= judged <= 40


def test_shares_are_of_the_questions_of_an_order() -> None:
    fetches = [1, FETCHES, 0, 0]
    rows = [Answered("a", f"q{n}", "topic", False, count) for n, count in enumerate(fetches)]
    columns = [list(column.cells) for column in table_of(rows).columns]
    assert columns == [["topic"], ["4"], ["0.25"], ["0.50"], ["0.50"]]
