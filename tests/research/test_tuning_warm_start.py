"""What experience of other sites is worth: siblings of the synthetic corpus, and the table."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from linkscore_research.tuning.warm_start import COLD, Row, table_of, turned_round, warm_start
from linkscore_research.zoo import CHOOSING, JUDGING, draw_sibling, draw_traits, sibling_seed
from linkscore_scoring.policies.experience import Experience, LinkGroup

SOFTWARE = (
    "item_url",
    "levels",
    "per_list",
    "shows",
    "paging",
    "sorts",
    "facets",
    "tags",
    "menu",
    "canonical",
)


def test_a_sibling_runs_the_same_software_and_is_another_site() -> None:
    for seed in CHOOSING[:20]:
        own, other = draw_traits(seed), draw_sibling(seed, 1)
        assert [getattr(own, name) for name in SOFTWARE] == [getattr(other, name) for name in SOFTWARE]
        assert own != other
        assert bool(own.authors) == bool(other.authors)
        assert bool(own.hidden) == bool(other.hidden)


def test_no_sibling_is_a_site_of_the_synthetic_corpus() -> None:
    known = {*CHOOSING, *JUDGING}
    assert not known & {sibling_seed(seed, k) for seed in known for k in (1, 2)}


def test_turned_round_every_reward_is_the_opposite() -> None:
    learned = Experience.of([LinkGroup(1, 2, 3.0, 0.25, 0.5)])
    assert turned_round(learned).groups == (LinkGroup(1, 2, 3.0, 0.75, 0.5),)


def test_the_table_counts_sites_that_got_worse_and_better() -> None:
    rows = [
        Row("a", COLD, 0.5, 0.5),
        Row("b", COLD, 0.5, 0.5),
        Row("a", "warm", 0.9, 0.7),
        Row("b", "warm", 0.4, 0.7),
    ]
    table = table_of(rows)
    assert [list(column.cells)[1] for column in table.columns] == [
        "warm", "0.650", "0.700", "1 of 2", "1 of 2", "-0.100",
    ]  # fmt: skip


@pytest.mark.slow
def test_the_command_judges_and_writes_its_rows(tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    result = CliRunner().invoke(warm_start, ["--judge", "--synthetic", "2", "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert "a sibling with feedback" in result.output
    assert len(out.read_text().splitlines()) == 2 * 8
    assert "no site" in CliRunner().invoke(warm_start, []).output
