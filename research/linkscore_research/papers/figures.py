"""Figures of the results by reference, for the words of the page, and what the words rest on.

A reference is ``NAME|ROW|COLUMN``: of the result of that name the rows that begin with these cells, joined by
commas, in the column of that heading. ``NAME#2`` is its second table alone, and ``*`` in a row any text.

A fact is a chain of comparisons, ``BFS < SOUrCe <= 1``, each true of every figure on its left with every one
on its right. It belongs to a table and a column, ``NAME|COLUMN``, and has rows, ``ROW|COLUMN``, and numbers.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import product

from linkscore_research.papers.results import Cell, PaperResult, shown

Results = Mapping[str, PaperResult]
Facts = Mapping[str, Sequence[str]]
_HOW = {"<": operator.lt, "<=": operator.le, "=": operator.eq}
_NUMBER = re.compile(r"\d*\.?\d+")
_SIGN = re.compile(r" (<=|<|=) ")
_REFERENCE = re.compile(r"\{([^{}|]+\|[^{}|]+\|[^{}|]+)\}")


def figures(results: Results, reference: str) -> list[Cell]:
    """Return the figures that a reference names, in the order of the rows."""
    name, row, column = reference.split("|")
    name, _, nth = name.partition("#")
    tables = results[name].tables if name in results else ()
    found = [
        cells[list(table.columns).index(column)]
        for table in (tables[int(nth) - 1 : int(nth)] if nth else tables)
        if column in table.columns
        for cells in table.rows
        if _begins(cells, row)
    ]
    if not found:
        raise ValueError(f"no figure {column!r} of {row!r} in the results of {name}")
    return found


def filled(results: Results, text: str) -> str:
    """Return a text with the first figure of each reference in braces in its place."""
    return _REFERENCE.sub(lambda match: shown(figures(results, match.group(1))[0]), text)


def untrue(results: Results, facts: Facts) -> list[str]:
    """Return the facts that the results refute."""
    said = ((where, fact) for where, each in facts.items() for fact in each)
    return [f"{where}: {fact}" for where, fact in said if not _is_so(results, where, fact)]


def _is_so(results: Results, where: str, fact: str) -> bool:
    terms = _SIGN.split(fact)
    values = [_numbers(results, where, term) for term in terms[::2]]
    return all(
        _HOW[sign](a, b)
        for left, sign, right in zip(values, terms[1::2], values[1:], strict=False)
        for a, b in product(left, right)
    )


def _numbers(results: Results, where: str, term: str) -> list[float]:
    if _NUMBER.fullmatch(term):
        return [float(term)]
    name, column = where.split("|")
    row, _, other = term.partition("|")
    return [_number(cell, where, term) for cell in figures(results, f"{name}|{row}|{other or column}")]


def _number(cell: Cell, where: str, term: str) -> float:
    if not isinstance(cell, float | int):
        raise ValueError(f"{cell!r} is no figure, of {term!r} in {where}")
    return cell


def _begins(cells: Iterable[Cell], row: str) -> bool:
    words = list(map(shown, cells))
    return any(fnmatchcase(", ".join(words[:n]), row) for n in range(1, len(words) + 1))
