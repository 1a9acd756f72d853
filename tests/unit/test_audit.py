"""`make audit` is green only where a database was asked and knew of nothing."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from tools import audit

_NONE = '{"dependencies": [{"name": "a", "version": "1", "vulns": []}]}'
_ONE = '{"dependencies": [{"name": "a", "version": "1", "vulns": [{"id": "X-1", "fix_versions": ["2"]}]}]}'


@pytest.mark.parametrize(
    ("says", "code", "line"),
    [
        (f"echo '{_NONE}'", 0, "0 known weaknesses"),
        (f"echo '{_ONE}'; exit 1", 1, "a 1: X-1, fixed in 2"),
        ("echo no route to the database >&2; exit 1", 2, "NOT audited"),
    ],
)
def test_an_audit_says_what_came_of_it(
    says: str, code: int, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tool = tmp_path / "tool"
    tool.write_text(f"#!/bin/sh\n{says}\n")
    tool.chmod(stat.S_IRWXU)
    lock = audit.ROOT / "requirements" / "dev.lock"
    assert audit.audit(lock, [str(tool)], audit.python_findings) == code
    assert line in capsys.readouterr().out


def test_without_the_tool_nothing_was_audited(capsys: pytest.CaptureFixture[str]) -> None:
    lock = audit.ROOT / "native" / "Cargo.lock"
    assert audit.audit(lock, ["no-such-tool"], audit.rust_findings) == audit.NOT_DONE
    assert capsys.readouterr().out.count("\n") == 1
