"""Failpoints of a batch of visits: each name stands once in the code."""

from __future__ import annotations

from pathlib import Path

from linkscore_server.browse_logs.visits import files, shared

NAMES = (*files.FAILPOINTS, *shared.FAILPOINTS)


def test_each_name_is_passed_at_one_place() -> None:
    code = "".join(path.read_text() for path in Path(files.__file__).parents[1].rglob("*.py"))
    passed = {name: code.count(f'failpoints.reached("{name}")') for name in NAMES}
    assert passed == dict.fromkeys(NAMES, 1)
    assert code.count("failpoints.reached(") == len(passed)
