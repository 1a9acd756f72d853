"""No expression is made of text that comes from outside, and reading it takes steps in proportion to it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkscore_console.words import matches
from linkscore_scoring.pagination.page_links import _last_classes as last_classes
from linkscore_server.tokens import Caller, Role
from support.regex_steps import grows

ROOT = Path(__file__).parents[2]
ROOMS = (
    *(
        ROOT / f"{room}/linkscore_{room}"
        for room in ("scoring", "server", "console", "cli", "lab", "frontier")
    ),
    ROOT / "clients/python/linkscore",
)
METHODS = {"match", "fullmatch", "search", "findall", "finditer", "sub", "subn", "split"}

MADE = {
    "linkscore_scoring.exporters.portable": "sees whether `re` takes what it wrote; matches nothing",
}
"""Modules that may make an expression of a text, and why."""

BOUNDED = {
    "linkscore_scoring.exporters.files:_NEGATED": "reads expressions of rules, of _MAX_CHARS at most",
    "linkscore_scoring.features.markup:_TAG": "reads what lxml wrote, where each < has its >",
    "linkscore_scoring.pagination.paged_urls:_WORD": "reads _NAME_CHARS characters before a number",
}
"""Expressions whose steps grow faster than what they read, and what bounds that."""


class Use(NamedTuple):
    """An expression and the method it is used with."""

    module: str
    name: str
    pattern: re.Pattern[Any]
    method: str


def _files() -> Iterator[tuple[str, Path]]:
    for room in ROOMS:
        for file in sorted(room.rglob("*.py")):
            if "_pb2" not in file.name:
                parts = (room.name, *file.relative_to(room).with_suffix("").parts)
                yield ".".join(part for part in parts if part != "__init__"), file


def _is_re(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr in METHODS | {"compile"}
    )


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_re(node))


def _is_constant(pattern: ast.expr) -> bool:
    """Say whether it is made of constants of the module alone."""
    names = {node.id for node in ast.walk(pattern) if isinstance(node, ast.Name)}
    return all(name.isupper() for name in names)


@cache
def _uses() -> list[Use]:
    found = []
    for module, file in _files():
        text = file.read_text()
        if module in MADE or not re.search(r"\bre\.", text):
            continue
        tree = ast.parse(text)
        if not (calls := list(_calls(tree))):
            continue
        space = vars(import_module(module))
        methods = _methods(tree)
        for call, name, taken in _named(tree, calls):
            pattern, *flags = (_value(part, space) for part in [call.args[0], *_flags(call)])
            compiled = re.compile(pattern, *flags)
            found += [
                Use(module, name or f"line {call.lineno}", compiled, method)
                for method in taken or methods.get(name) or {"search"}
            ]
    return found


def _flags(call: ast.Call) -> list[ast.expr]:
    named = [keyword.value for keyword in call.keywords if keyword.arg == "flags"]
    is_compiled = isinstance(call.func, ast.Attribute) and call.func.attr == "compile"
    return call.args[1:2] if is_compiled and len(call.args) > 1 else named


def _value(node: ast.expr, space: dict[str, Any]) -> Any:
    return eval(compile(ast.Expression(node), "<expression>", "eval"), space)


def _methods(tree: ast.AST) -> dict[str, set[str]]:
    """Return the methods that are called, by name of what they are called on."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in METHODS and isinstance(node.value, ast.Name):
            found.setdefault(node.value.id, set()).add(node.attr)
    return found


def _named(tree: ast.AST, calls: list[ast.Call]) -> Iterator[tuple[ast.Call, str, set[str]]]:
    """Give each call with the name its expression gets and the methods that are taken of it at once."""
    names: dict[int, str] = {}
    taken: dict[int, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in METHODS:
            taken[id(node.value)] = node.attr
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            value = node.value.value if isinstance(node.value, ast.Attribute) else node.value
            names[id(value)] = getattr(target, "id", "")
    for call in calls:
        assert isinstance(call.func, ast.Attribute)
        own = taken.get(id(call)) if call.func.attr == "compile" else call.func.attr
        yield call, names.get(id(call), ""), {own} if own else set()


def test_no_expression_is_made_of_a_text() -> None:
    made = {
        f"{module}:{call.lineno}"
        for module, file in _files()
        if module not in MADE and re.search(r"\bre\.", text := file.read_text())
        for function in ast.walk(ast.parse(text))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for call in _calls(function)
        if not _is_constant(call.args[0])
    }
    assert made == set(), "of a text that comes from outside re2 makes expressions that never backtrack"


def test_nothing_matches_by_fnmatch() -> None:
    assert [module for module, file in _files() if re.search(r"\bfnmatch", file.read_text())] == []


@pytest.mark.parametrize("module", sorted({use.module for use in _uses()}))
def test_steps_grow_with_the_text_and_no_faster(module: str) -> None:
    growing = {
        f"{use.module}:{use.name}": f"{use.method}: {how}"
        for use in _uses()
        if use.module == module and (how := grows(use.pattern, use.method))
    }
    bounded = {name for name in BOUNDED if name.startswith(f"{module}:")}
    assert set(growing) == bounded, growing


def test_a_shape_of_many_stars_is_compared_in_one_go() -> None:
    """It hung the console for ever: `(.*x)` thirty times, made of a site's own address."""
    stars = "a.org/" + "x*" * 200
    assert not matches(stars + "/N", "http://" + "a.org/" + "x" * 2_000)
    assert matches(stars + "/N", f"http://{stars}/N1")
    assert matches("a.org/*/b*", "http://a.org/x/b")
    assert not matches("a.org/*/b*", "http://a.org/x")
    assert not matches("*b", "http://a.org/")
    assert matches("*b", "http://a.org/xb/c")


@given(st.text("ab*", max_size=8), st.text("ab", max_size=12))
def test_crawls_of_tokens_fit_as_shells_have_it(pattern: str, crawl: str) -> None:
    as_expression = ".*".join(map(re.escape, pattern.split("*")))
    fits = re.fullmatch(as_expression, crawl) is not None
    assert Caller("name", Role.READ, (pattern,)).may_touch(crawl) == fits


@given(st.text("[]ab", max_size=12))
def test_the_last_classes_of_a_place_are_those_in_the_brackets_that_end_it(place: str) -> None:
    found = re.search(r"\[([^\]]*)\]$", place)
    assert last_classes(place) == (found[1] if found else "")
