"""Regret by choice of constants, and what leaving one site out says of it."""

from __future__ import annotations

from click.testing import CliRunner

from linkscore_lab.tuning.__main__ import tune
from linkscore_lab.tuning.regret import GRID, best, choices, chosen, left_out, loss, worst
from linkscore_scoring.policies.harvest import Harvest
from linkscore_scoring.policies.harvest.tunables import Tunables

DEFAULT, OTHER = (), (("bulk", 0.5),)


def test_every_value_tried_is_another_than_the_default() -> None:
    assert all(value != getattr(Tunables(), name) for name, values in GRID.items() for value in values)
    assert choices({"bulk": (0.0, 0.5)}) == [(), (("bulk", 0.0),), (("bulk", 0.5),)]


def test_a_choice_holds_as_long_as_it_is_tried() -> None:
    with chosen(OTHER):
        assert Harvest.tunables.bulk == 0.5
    assert Harvest.tunables == Tunables()


def test_the_worst_tenth_is_one_site_at_least() -> None:
    assert (worst([0.1, 0.5]), loss([0.1, 0.5])) == (0.5, 0.4)


def test_what_is_chosen_without_a_site_is_judged_on_it() -> None:
    """With all three the other is best; without the last one the default is, and has .9 there."""
    table = {DEFAULT: {"a": 0.1, "b": 0.1, "c": 0.9}, OTHER: {"a": 0.2, "b": 0.2, "c": 0.0}}
    assert best(table) == OTHER
    assert best(table, without="c") == DEFAULT
    assert left_out(table) == [0.2, 0.2, 0.9]


def test_the_command_judges_on_sites_nothing_was_chosen_on() -> None:
    result = CliRunner().invoke(tune, ["--judge", "--zoo", "1"])
    assert result.exit_code == 0
    assert "as they are" in result.output


def test_without_sites_there_is_nothing_to_choose_on() -> None:
    assert "no site" in CliRunner().invoke(tune, ["--zoo", "0"]).output
