"""tools/breaking.py fails on a break of the wire contract, and when it cannot compare."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUF = Path(sys.executable).with_name("buf")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the contract and its baseline."""
    shutil.copytree(ROOT / "proto", tmp_path / "proto")
    return tmp_path


def compare(checkout: Path, *arguments: str) -> int:
    command = [sys.executable, str(ROOT / "tools" / "breaking.py"), *arguments, str(BUF)]
    return subprocess.run(command, cwd=checkout, check=False, capture_output=True).returncode


def append(checkout: Path, text: str) -> None:
    with (checkout / "proto/linkscore/v1/common.proto").open("a") as out:
        out.write(text)


def test_the_contract_breaks_nothing_released(checkout: Path) -> None:
    assert compare(checkout) == 0


def test_an_addition_is_no_break(checkout: Path) -> None:
    append(checkout, "\n// New.\nmessage Added {}\n")
    assert compare(checkout) == 0


def test_a_removed_message_is_a_break_until_it_is_released(checkout: Path) -> None:
    append(checkout, "\n// New.\nmessage Added {}\n")
    assert compare(checkout, "--release") == 0
    shutil.copy(ROOT / "proto/linkscore/v1/common.proto", checkout / "proto/linkscore/v1")
    assert compare(checkout) == 1
    assert compare(checkout, "--release") == 0
    assert compare(checkout) == 0


def test_a_missing_or_damaged_baseline_fails(checkout: Path) -> None:
    baseline = checkout / "proto" / "released.binpb"
    baseline.write_bytes(b"not a contract")
    assert compare(checkout) == 1
    baseline.unlink()
    assert compare(checkout) == 1


def test_a_contract_that_does_not_compile_fails(checkout: Path) -> None:
    append(checkout, "message {\n")
    assert compare(checkout) == 1
