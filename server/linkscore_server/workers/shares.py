"""What a worker is started with: its share of the server's bounds, and its place, as one line."""

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
        max_items_in_work=max(1, settings.max_items_in_work // n),
    )


def packed(settings: Settings, place: WorkerAddress) -> str:
    """Return settings and place as one line."""
    return json.dumps({"settings": asdict(settings), "place": asdict(place)})


def unpacked(line: str) -> tuple[Settings, WorkerAddress]:
    """Return the settings and the place of `packed`."""
    said = json.loads(line)
    place = said["place"]
    return Settings(**said["settings"]), WorkerAddress(
        place["number"], tuple(place["sockets"]), place["lock"]
    )
