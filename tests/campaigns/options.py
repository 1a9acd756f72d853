"""Settings drawn anew for each start of a server: what is on the disk was written under others."""

from __future__ import annotations

import random

CHOICES: dict[str, tuple[object, ...]] = {
    "snapshot_events": (1, 3, 10, 10, 40, 5_000),
    "snapshot_s": (0.0, 0.05, 5.0),
    "segment_bytes": (300, 4_000, 4_000, 64 << 20),
    "keep_log": ("all", "snapshots"),
    "site_memory_mb": (1, 900),
    "learning_processes": (0, 1, 2),
    "idle_crawl_s": (0.05, 1_800.0),
    "max_items_in_work": (1, 64),
    "target_delay_s": (5.0, 60.0),
    "min_free_mb": (0, 1),
}
"""Values of each setting; one that stands twice comes as often. None changes what is answered."""


def drawn(rng: random.Random) -> dict[str, object]:
    """Return a value of every setting."""
    return {name: rng.choice(values) for name, values in CHOICES.items()}
