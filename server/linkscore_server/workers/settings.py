"""The setting that makes a server several processes, and what does not go with it."""

from __future__ import annotations

from dataclasses import dataclass

from linkscore_scoring.errors import FieldProblem
from linkscore_server.settings import Settings, setting


@dataclass(frozen=True, kw_only=True)
class WorkerSettings(Settings):
    """Of a server of several processes on one machine."""

    workers: int = setting(
        1,
        "server processes on this machine; they share crawls, port and memory bounds",
    )

    def problems(self) -> list[FieldProblem]:
        """See `Settings.problems`."""
        found = super().problems()
        if self.workers <= 1:
            return found
        for goes, why in (
            (self.data_dir != "memory", "with data_dir = memory: nothing is shared there"),
            (not self.listen.startswith("unix:"), "at a unix socket: one process listens there"),
        ):
            if not goes:
                found.append(FieldProblem("workers", f"must be 1 {why}"))
        return found
