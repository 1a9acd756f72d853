"""What the container image leaves out, and where `make image-test` has nothing to do it with."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from tools import image_test, slim_venv


def test_what_linkscore_imports_anywhere_is_compiled_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "linkscore_small"
    package.mkdir()
    (package / "__init__.py").write_text("def learn():\n    import imported_late, of_another_extra\n")
    (tmp_path / "imported_late.py").write_text("import imported_by_it\n")
    (tmp_path / "imported_by_it.py").touch()
    (tmp_path / "imported_by_nobody.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    names = ["linkscore_small/__init__.py", "imported_late.py", "imported_by_it.py"]
    assert slim_venv.used(tmp_path) == {tmp_path / name for name in names}


def test_without_tools_for_containers_a_line_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("STORAGE_DRIVER", "BUILDAH_ISOLATION"):
        monkeypatch.setenv(name, "")  # taken back after the test
    monkeypatch.setattr(shutil, "which", lambda tool: None)
    monkeypatch.setattr(sys, "argv", ["image_test.py"])
    assert image_test.main() == 0
    said = capsys.readouterr().out
    assert said.startswith("image: skipped, it needs buildah, podman, runc (Debian: apt-get install")
