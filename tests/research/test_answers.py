"""What examples and answers are worth, on one site of the synthetic corpus."""

from __future__ import annotations

from click.testing import CliRunner
from rich.console import Console

from linkscore_lab.replay.policies import read_policy
from linkscore_lab.replay.runs import NONE, Case
from linkscore_research.tuning.answers import NOTHING, AskingScorer, Row, answers, table_of
from linkscore_research.tuning.sites import wanted_on
from linkscore_research.zoo import CHOOSING


def test_a_person_answers_so_many_questions_and_no_page_twice() -> None:
    experiment, task = next(sites := wanted_on([], CHOOSING[:1]))
    people: list[AskingScorer] = []

    def person(setup: object) -> AskingScorer:
        people.append(AskingScorer(setup, wanted=task.wanted, answers=3, drawn=1))  # type: ignore[arg-type]
        return people[-1]

    experiment.make_scorer = person
    experiment.run(Case(task, NONE, read_policy("harvest"), seed=1))
    assert next(sites, None) is None
    [one] = people
    examples = one.model.config.examples
    assert len(examples) + one.model.feedbacks == 3
    assert len({example.key for example in examples}) == len(examples) > 0
    assert all(example.key in task.wanted for example in examples)


def test_the_table_counts_sites_where_telling_made_it_worse() -> None:
    rows = [
        Row(site, told, valid, 0.5)
        for site, nothing, few in [("a", 0.9, 0.95), ("b", 0.9, 0.88), ("c", 0.9, 0.895)]
        for told, valid in [(NOTHING, nothing), ("5 answers, asked", few)]
    ]
    console = Console(width=120, record=True)
    console.print(table_of(rows))
    assert "1 of 3" in console.export_text()


def test_without_sites_there_is_nothing_to_measure() -> None:
    assert "no site" in CliRunner().invoke(answers, []).output
