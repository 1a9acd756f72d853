"""Which directory serves: annexes take part if what they need is installed."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from linkscore_server import directories
from linkscore_server.directories import Directory, directory_of
from linkscore_server.settings import Settings

GROUP = "linkscore.directories"


def entry(value: str) -> EntryPoint:
    return EntryPoint("elsewhere", value, GROUP)


def test_an_annex_whose_extra_is_not_installed_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directories, "entry_points", lambda group: [entry("no_such_module:Annex [http]")])
    assert directory_of(Settings()) is Directory


def test_an_annex_that_is_broken_ends_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directories, "entry_points", lambda group: [entry("no_such_module:Annex")])
    with pytest.raises(ModuleNotFoundError):
        directory_of(Settings())
