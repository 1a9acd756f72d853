"""Policies of other packages are found by their entry points."""

from __future__ import annotations

import logging
from importlib.metadata import EntryPoint

import pytest

from linkscore_scoring.policies import registry
from linkscore_scoring.policies.base import Policy
from linkscore_scoring.policies.baselines import BreadthFirst


class Outside(BreadthFirst):
    name = "outside"


class Abstract(Policy):
    name = "abstract"


def entry_point(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, registry.GROUP)


def test_policies_of_entry_points_are_found_and_unusable_ones_are_left_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    entries = [
        entry_point("outside", f"{__name__}:Outside"),
        entry_point("abstract", f"{__name__}:Abstract"),
        entry_point("no_class", f"{__name__}:entry_point"),
        entry_point("broken", "no_such_module_anywhere:X"),
    ]
    monkeypatch.setattr(registry, "entry_points", lambda group: entries)
    monkeypatch.setattr(registry, "_external", dict(registry._external))
    with caplog.at_level(logging.ERROR):
        registry.register_installed.__wrapped__()
    assert issubclass(registry.policy_class("outside"), Outside)
    said = " ".join(record.getMessage() for record in caplog.records)
    assert all(name in said for name in ("abstract", "no_class", "broken"))
