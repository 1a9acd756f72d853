"""Rooms of the server read one way; none reads the lab, and only its commands read the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

import linkscore_server
from support.imports import imports_of

pytestmark = pytest.mark.whole

ROOT = Path(linkscore_server.__file__).parent
# Rooms in the order of who reads whom: each reads those named, itself, and the library.
MAY_READ = {
    "text_files": set(),
    "tokens": {"text_files"},
    "tls": set(),
    "tls_files": set(),
    "settings": {"text_files", "tls_files", "tokens"},
    "plugins": set(),
    "tasks": set(),
    "addresses": set(),
    "child_processes": {"tasks"},
    "pieces": set(),
    "residency": {"pieces"},
    "storage": {"tasks", "plugins", "pieces", "residency", "settings"},
    "observability": {"tasks"},
    "crawls": {"tasks", "settings", "child_processes", "pieces", "residency", "storage", "observability"},
    "grpc": {"tasks", "settings", "tokens", "child_processes", "storage", "observability", "crawls"},
    "services": {"settings", "observability", "crawls"},
    "directories": {"settings", "storage", "observability", "crawls", "grpc"},
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
        "directories",
        "grpc",
    },
    "commands": {"settings", "storage", "observability", "crawls", "directories", "app"},
    "__main__": set(),
}
# Says how an extra is installed; reads metadata of the distribution and imports nothing of ours.
OF_THE_DISTRIBUTION = "linkscore_cli.extras"
# Annexes, found by their entry points, in the same order: no room of the core reads one.
CORE = set(MAY_READ)
MAY_READ |= {
    "storage/kafka": {"tasks", "settings", "storage", "text_files"},
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
    "revisits": {"crawls", "grpc", "services", "tasks"},
    "tables": {"crawls", "grpc", "storage"},
    "regroup": {"commands", "storage"},
    "objects": {"commands", "settings", "storage", "storage/kafka"},
    "json_port": {"addresses", "tasks", "settings", "tls_files", "grpc", "services", "app"},
    "routing": {"tasks", "settings", "observability", "crawls", "grpc", "directories"},
    "cluster": {
        "tasks",
        "settings",
        "tls",
        "storage",
        "storage/kafka",
        "crawls",
        "grpc",
        "directories",
        "routing",
    },
    "workers": {
        "addresses",
        "tasks",
        "settings",
        "storage",
        "observability",
        "directories",
        "routing",
        "app",
    },
    "members": {
        "addresses",
        "settings",
        "storage",
        "storage/kafka",
        "directories",
        "routing",
        "cluster",
        "workers",
    },
}
# Commands of the server, found by their entry points, are on the side of whoever calls a server.
CALL_A_SERVER = {"commands", "browse_logs", "__main__"}
SPEAK_GRPC = {"grpc", "json_port", "routing", "cluster", "tls", "app", "commands"}
SPEAK_THE_CONTRACT = {"grpc", "routing", "browse_logs", "rule_files", "revisits", "commands"}


def files_of(room: str) -> list[Path]:
    """Return the files of a package, or the one of a module, without those of rooms within."""
    found = sorted((ROOT / room).rglob("*.py")) or [ROOT / f"{room}.py"]
    return [file for file in found if room_of(str(file.relative_to(ROOT))) == room]


def room_of(path: str) -> str:
    """Return the room that a file or a module is of, the innermost, by its path or dotted name."""
    path = path.removesuffix(".py").replace(".", "/")
    return max((room for room in MAY_READ if f"{path}/".startswith(f"{room}/")), key=len, default="")


def imported_by(room: str) -> dict[str, str]:
    """Return what the files of a room import, each with one file that does."""
    return {name: str(file.relative_to(ROOT)) for file in files_of(room) for name in imports_of(file)}


@pytest.mark.parametrize("room", MAY_READ)
def test_a_room_reads_only_those_below_it(room: str) -> None:
    others = set(MAY_READ) - MAY_READ[room] - {room}
    wrong = {
        f"{file} -> {name}"
        for name, file in imported_by(room).items()
        if name.startswith("linkscore_server.") and room_of(name.partition(".")[2]) in others
    }
    assert wrong == set()


def test_every_room_has_its_place_in_the_order() -> None:
    rooms = {path.stem for path in ROOT.iterdir() if (path / "__init__.py").exists() or path.suffix == ".py"}
    assert rooms - {"__init__"} == {room.partition("/")[0] for room in MAY_READ}


@pytest.mark.parametrize("room", sorted(CORE))
def test_no_room_of_the_core_reads_an_annex(room: str) -> None:
    assert MAY_READ[room] <= CORE


@pytest.mark.parametrize("room", MAY_READ)
def test_no_room_reads_the_lab(room: str) -> None:
    assert [name for name in imported_by(room) if name.split(".")[0] == "linkscore_lab"] == []


@pytest.mark.parametrize("room", sorted(set(MAY_READ) - CALL_A_SERVER))
def test_no_room_but_the_commands_reads_the_command_line_or_the_client(room: str) -> None:
    wrong = {
        f"{file} -> {name}"
        for name, file in imported_by(room).items()
        if (name.split(".")[0] == "linkscore_cli" and not name.startswith(OF_THE_DISTRIBUTION))
        or (name.split(".")[0] == "linkscore" and not name.startswith("linkscore.v1"))
    }
    assert wrong == set()


@pytest.mark.parametrize("room", sorted(set(MAY_READ) - SPEAK_THE_CONTRACT))
def test_only_services_and_imports_know_the_contract(room: str) -> None:
    assert [name for name in imported_by(room) if name.startswith("linkscore.v1")] == []


@pytest.mark.parametrize("room", sorted(set(MAY_READ) - SPEAK_GRPC))
def test_only_services_speak_grpc(room: str) -> None:
    assert [name for name in imported_by(room) if name.split(".")[0].startswith("grpc")] == []
