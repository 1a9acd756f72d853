"""A missing extra is added from where linkscore was installed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from linkscore_cli import extras


class Installed:
    """A distribution with what pip noted of where it is from."""

    def __init__(self, noted: dict[str, Any] | None) -> None:
        self._noted = noted

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self._noted is None else json.dumps(self._noted)


def command(monkeypatch: pytest.MonkeyPatch, noted: dict[str, Any] | None) -> str:
    monkeypatch.setattr(extras, "distribution", lambda name: Installed(noted))
    return extras.install_command("server")


def test_an_extra_of_a_clone_or_a_wheel_is_installed_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "my clone"
    folder.mkdir()
    noted: dict[str, Any] = {"url": folder.as_uri(), "dir_info": {}}
    assert command(monkeypatch, noted) == f"pip install '{folder}[server]'"
    noted["dir_info"]["editable"] = True
    assert command(monkeypatch, noted) == f"pip install -e '{folder}[server]'"
    wheel = tmp_path / "linkscore-0.1.0-py3-none-any.whl"
    wheel.touch()
    assert (
        command(monkeypatch, {"url": wheel.as_uri(), "archive_info": {}}) == f"pip install '{wheel}[server]'"
    )
