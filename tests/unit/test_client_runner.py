"""`make test-clients` tests the languages whose tools are there, and says which it skipped."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"
RUNNER = TOOLS / "test_clients.py"


def run(*languages: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, RUNNER, *languages],
        env={"PATH": ""},
        check=False,
        capture_output=True,
        text=True,
    )


def test_a_language_without_its_tools_is_skipped_in_one_line() -> None:
    ran = run("go", "java")
    assert ran.stdout.splitlines() == [
        "go: skipped, there is no go",
        "java: skipped, there is no java and no mvn",
    ]
    assert ran.returncode == 0


def test_a_language_that_has_no_client_is_an_error() -> None:
    ran = run("cobol")
    assert "no client in cobol" in ran.stderr
    assert ran.returncode == 2


@pytest.fixture
def runner() -> ModuleType:
    return loaded(RUNNER)


def loaded(tool: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"tool_{tool.stem}", tool)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look
    spec.loader.exec_module(module)
    return module


def test_what_failed_is_named_and_nothing_hides_the_rest(
    runner: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plays = tmp_path / "linkscore"  # in place of the scenarios: the driver's words are what is run
    plays.write_text('#!/bin/sh\nshift 2\nexec "$@"\n')
    plays.chmod(0o755)
    monkeypatch.setattr(runner, "LINKSCORE", plays)
    languages = [
        runner.Language("well", (), ".", (), (("true",),), (("true",), ("true",))),
        runner.Language(
            "built badly", (), ".", (), (("true",), ("false",), ("touch", str(tmp_path / "late"))), ()
        ),
        runner.Language("plays badly", (), ".", (), (), (("true",), ("false", "-x"))),
    ]
    assert runner.failures(languages, runner.Clock()) == {
        "well": [],
        "built badly": ["false"],
        "plays badly": ["conformance of false -x"],
    }
    assert not (tmp_path / "late").exists()


def test_drivers_of_a_language_that_did_not_build_are_not_played(
    runner: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "LINKSCORE", tmp_path / "none")
    language = runner.Language("x", (), ".", (), (("false",),), (("true",),))
    assert runner.failures([language], runner.Clock()) == {"x": ["false"]}


def test_a_language_whose_packages_cannot_be_fetched_is_skipped(
    runner: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    language = runner.Language("x", (), ".", ("false", "fetch"), (("false",),), ())
    assert runner.failures([language], runner.Clock()) == {}
    assert capsys.readouterr().out == "x: skipped, false fetch does not succeed here\n"


def test_what_time_is_not_left_for_is_ended_and_said(
    runner: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    late = tmp_path / "late"
    slow = ("sh", "-c", f"sleep 60; touch {late}")
    languages = [
        runner.Language("slow", (), ".", (), (slow,), ()),
        runner.Language("behind", (), ".", (), (("true",),), ()),
    ]
    found = runner.failures(languages, runner.Clock(time.monotonic() + 0.5))
    assert not late.exists(), "it was waited for"
    assert found["slow"] is None
    assert capsys.readouterr().out.startswith(f"slow: no time left for {' '.join(slow)}\n")


def test_generated_code_that_is_changed_missing_or_left_over_is_named(tmp_path: Path) -> None:
    fresh, committed = tmp_path / "fresh", tmp_path / "committed"
    for folder, files in ((fresh, {"same": "1", "changed": "2", "v1/new": "3"}), (committed, {"same": "1"})):
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
    (committed / "changed").write_text("old")
    (committed / "left").touch()
    assert loaded(TOOLS / "check_generated.py").differing(fresh, committed) == ["changed", "left", "v1/new"]
