"""Rooms of the server read one way; none reads the lab, and only its commands read the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_layers import imports_of

import linkscore_server

pytestmark = pytest.mark.whole

ROOT = Path(linkscore_server.__file__).parent
# Rooms in the order of who reads whom: each reads those named, itself, and the library.
MAY_READ = {
    "text_files": set(),
    "tokens": {"text_files"},
    "tls": set(),
    "tls_files": set(),
    "kafka_properties": set(),
    "settings": {"text_files", "tls_files", "tokens", "kafka_properties"},
    "plugins": set(),
    "tasks": set(),
    "addresses": set(),
    "child_processes": {"tasks"},
    "residency": set(),
    "storage": {"tasks", "plugins", "residency"},
    "observability": {"tasks"},
    "crawls": {"tasks", "settings", "child_processes", "residency", "storage", "observability"},
    "grpc": {"tasks", "settings", "tokens", "child_processes", "storage", "observability", "crawls"},
    "services": {"settings", "observability", "crawls"},
    "browse_logs": {
        "tasks",
        "settings",
        "child_processes",
        "storage",
        "observability",
        "crawls",
        "grpc",
        "services",
    },
    "rule_files": {"grpc", "services"},
    "routing": {"tasks", "settings", "observability", "crawls", "grpc"},
    "cluster": {"tasks", "settings", "tls", "storage", "observability", "crawls", "grpc", "routing"},
    "app": {
        "addresses",
        "tasks",
        "settings",
        "tokens",
        "tls",
        "plugins",
        "storage",
        "observability",
        "crawls",
        "services",
        "grpc",
        "routing",
        "cluster",
    },
    "workers": {"addresses", "tasks", "settings", "storage", "observability", "routing", "app"},
    "commands": {"settings", "storage", "observability", "crawls", "app", "workers"},
    "__main__": set(),
}
# Commands of the server, found by their entry points, are on the side of whoever calls a server.
CALL_A_SERVER = {"commands", "browse_logs", "__main__"}
SPEAK_GRPC = {"grpc", "routing", "cluster", "tls", "app", "commands"}
SPEAK_THE_CONTRACT = {"grpc", "routing", "app", "browse_logs", "rule_files", "commands"}


def files_of(room: str) -> list[Path]:
    """Return the files of a package, or the one of a module."""
    return sorted((ROOT / room).rglob("*.py")) or [ROOT / f"{room}.py"]


def imported_by(room: str) -> dict[str, str]:
    """Return what the files of a room import, each with one file that does."""
    return {name: str(file.relative_to(ROOT)) for file in files_of(room) for name in imports_of(file)}


@pytest.mark.parametrize("room", MAY_READ)
def test_a_room_reads_only_those_below_it(room: str) -> None:
    others = set(MAY_READ) - MAY_READ[room] - {room}
    wrong = {
        f"{file} -> {name}"
        for name, file in imported_by(room).items()
        if name.startswith("linkscore_server.") and name.split(".")[1] in others
    }
    assert wrong == set()


def test_every_room_has_its_place_in_the_order() -> None:
    rooms = {path.stem for path in ROOT.iterdir() if (path / "__init__.py").exists() or path.suffix == ".py"}
    assert rooms - {"__init__"} == set(MAY_READ)


@pytest.mark.parametrize("room", MAY_READ)
def test_no_room_reads_the_lab(room: str) -> None:
    assert [name for name in imported_by(room) if name.split(".")[0] == "linkscore_lab"] == []


@pytest.mark.parametrize("room", sorted(set(MAY_READ) - CALL_A_SERVER))
def test_no_room_but_the_commands_reads_the_command_line_or_the_client(room: str) -> None:
    wrong = {
        f"{file} -> {name}"
        for name, file in imported_by(room).items()
        if name.split(".")[0] == "linkscore_cli"
        or (name.split(".")[0] == "linkscore" and not name.startswith("linkscore.v1"))
    }
    assert wrong == set()


@pytest.mark.parametrize("room", sorted(set(MAY_READ) - SPEAK_THE_CONTRACT))
def test_only_services_and_imports_know_the_contract(room: str) -> None:
    assert [name for name in imported_by(room) if name.startswith("linkscore.v1")] == []


@pytest.mark.parametrize("room", sorted(set(MAY_READ) - SPEAK_GRPC))
def test_only_services_speak_grpc(room: str) -> None:
    assert [name for name in imported_by(room) if name.split(".")[0].startswith("grpc")] == []
