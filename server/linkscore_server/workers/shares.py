"""What a worker is started with: its share of the server's bounds, and its address, as one line."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import asdict

from linkscore_server.settings import Settings
from linkscore_server.workers.address import WorkerAddress


def share_of(settings: Settings, listen: str) -> Settings:
    """Return the settings of a worker at an address: its share of all bounds, and no metrics port."""
    n = settings.workers
    return dataclasses.replace(
        settings,
        listen=listen,
        metrics_listen="",
        site_memory_mb=max(1, settings.site_memory_mb // n),
        memory_mb=max(1, settings.memory_mb // n),
        max_inflight_bytes=max(settings.max_message_bytes, settings.max_inflight_bytes // n),
    )


def packed(settings: Settings, address: WorkerAddress) -> str:
    """Return settings and address as one line."""
    return json.dumps({"settings": asdict(settings), "address": asdict(address)})


def unpacked(line: str) -> tuple[Settings, WorkerAddress]:
    """Return the settings and the address of `packed`."""
    said = json.loads(line)
    address = said["address"]
    number, sockets, lock = address["number"], tuple(address["sockets"]), address["lock"]
    return Settings(**said["settings"]), WorkerAddress(number, sockets, lock)
