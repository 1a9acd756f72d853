"""Scores are the same under every Python: from 3.12 on `sum` of floats compensates, so none feeds a score.

`sums.left_sum` adds from left to right everywhere. A bare `sum` is for whole numbers, and shows it.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import linkscore_scoring
from linkscore_scoring.sums import left_sum, shrunk

ROOT = Path(linkscore_scoring.__file__).parent
FILES = sorted(path for path in ROOT.rglob("*.py") if "testing" not in path.relative_to(ROOT).parts)
# Calls that give whole numbers, everywhere.
INTEGERS = {"len", "bool", "int", "any", "all"}
# What else is counted in whole numbers: the last name of it, by file. mypy knows (`reveal_type`).
COUNTS = {
    "clustering/class_tokens.py": {"df"},
    "clustering/others/irobot_regions.py": {"leaves"},
    "copies/contents.py": {"own"},
    "copies/keys.py": {"column"},
    "engine/reports/advice.py": {"found"},
    "engine/fetch_plan.py": {"under_way"},
    "engine/fetches.py": {"block_chars"},
    "engine/sites.py": {"bytes"},
    "engine/reports/traps.py": {"count"},
    "engine/shard.py": {"memory_bytes"},
    "policies/focus/layout/link_signals.py": {"plain", "anchor"},
    "policies/focus/layout/record_signals.py": {
        "plain",
        "anchor",
        "link_leads",
        "is_cut",
        "chars",
        "_LINE_CHARS",
    },
    "policies/focus/layout/regions.py": {"chars"},
    "policies/focus/layout/signals.py": {"plain", "anchor", "chars", "tags", "cut"},
    "policies/focus/layout/title_signals.py": {"lead", "head"},
    "features/text_quality.py": {"times"},
    "learners/progressive_validation.py": {"is_labelled"},
    "pagination/confirmation.py": {"_held"},
    "policies/anthelion/released.py": {"lengths"},
    "policies/composite.py": {"relearned"},
    "policies/focus/forum_model.py": {"n", "turns", "window", "latest", "tail", "before"},
    "policies/irobot/sitemap.py": {"chars", "unique"},
    "policies/source/source_ucc.py": {"crawled"},
    "policies/tpm/rtdm.py": {"size"},
    "policies/tpm/target_map.py": {"target"},
    "limits/coverage.py": {"is_new"},
    "revisits/changes.py": {"_sizes"},
    "revisits/companion.py": {"fresh"},
    "site/model.py": {"block_chars"},
    "site/texts.py": {"longest", "size"},
}


def is_whole(node: ast.expr, counts: set[str]) -> bool:
    """Whether an expression shows that it is a whole number."""
    match node:
        case ast.Compare() | ast.UnaryOp(op=ast.Not()):
            return True
        case ast.Constant(value=value):
            return isinstance(value, int)
        case ast.BoolOp(values=values):
            return all(is_whole(value, counts) for value in values)
        case ast.BinOp(
            left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.FloorDiv() | ast.Mod(), right=right
        ):
            return is_whole(left, counts) and is_whole(right, counts)
        case ast.IfExp(body=body, orelse=orelse):
            return is_whole(body, counts) and is_whole(orelse, counts)
        case ast.Call(func=func):
            return name_of(func) in INTEGERS | counts
        case ast.Subscript(value=value):
            return is_whole(value, counts)
        case ast.Name() | ast.Attribute():
            return name_of(node) in counts
    return False


def name_of(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def adds_whole_numbers(call: ast.Call, counts: set[str]) -> bool:
    """Whether what a call of `sum` adds up shows that it is whole numbers."""
    values = call.args[0]
    match values:
        case ast.GeneratorExp(elt=element) | ast.ListComp(elt=element):
            return is_whole(element, counts)
        case ast.Call(func=ast.Name(id="map"), args=[function, *_]):
            is_attribute = isinstance(function, ast.Call) and name_of(function.func) == "attrgetter"
            name = function.args[0].value if is_attribute else name_of(function)
            return name in INTEGERS | counts
        case ast.Call(func=ast.Attribute(attr="values", value=mapping)):
            return is_whole(mapping, counts)
    return is_whole(values, counts)


def bare_sums(text: str) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "sum":
            yield node


def handed_on(text: str) -> int:
    """Return how often `sum` is named and not called: `map(sum, rows)` does not show what is added up."""
    named = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name) and node.id == "sum")
    return len([*named]) - len([*bare_sums(text)])


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_bare_sum_is_of_whole_numbers(file: Path) -> None:
    counts = COUNTS.get(file.relative_to(ROOT).as_posix(), set())
    calls = bare_sums(file.read_text())
    wrong = [ast.unparse(call) for call in calls if not adds_whole_numbers(call, counts)]
    assert wrong == [], "of floats it is linkscore_scoring.sums.left_sum"
    assert handed_on(file.read_text()) == 0, "of floats it is linkscore_scoring.sums.left_sum"


@pytest.mark.parametrize(
    "text", ["sum(rewards)", "sum(w * w for w in v)", "sum(len(a) / 2 for a in b)", "sum(x.values())"]
)
def test_a_bare_sum_of_floats_is_found(text: str) -> None:
    (call,) = bare_sums(text)
    assert not adds_whole_numbers(call, set())


def test_a_sum_that_is_handed_on_is_found() -> None:
    assert [handed_on(text) for text in ("map(sum, rows)", "f(key=sum)", "sum(map(len, rows))")] == [1, 1, 0]


def test_the_sum_is_that_of_a_loop_to_the_last_bit() -> None:
    """As of the built-in before 3.12; what that is from 3.12 on is another number here."""
    rng = random.Random(1)
    for n in (0, 1, 2, 1_000):
        values = [rng.uniform(-1, 1) * 10 ** rng.randrange(12) for _ in range(n)]
        total: float = 0
        for value in values:
            total += value
        assert left_sum(values) == total
    assert left_sum([0.1] * 10) != 1.0
    assert (left_sum([]), type(left_sum([]))) == (0, int)


def test_a_mean_is_shrunk_to_its_prior_by_hand() -> None:
    """Three of four observations were 1 and the prior is .3 for two: (3 + 2 x .3) / (4 + 2)."""
    assert shrunk(3.0, 4.0, 0.3, 2.0) == pytest.approx(0.6)
    assert shrunk(0.0, 0.0, 0.3, 2.0) == pytest.approx(0.3), "of nothing the prior is left"
    assert shrunk(3.0, 4.0, 0.3, 0.0) == 0.75, "without a prior it is the mean"
    # Below it another mean: (1 + 2 x .6) / (1 + 2).
    assert shrunk(1.0, 1.0, shrunk(3.0, 4.0, 0.3, 2.0), 2.0) == pytest.approx(2.2 / 3.0)
