"""Settings of workers that are servers of a cluster, and what each of them gets of these."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from linkscore_scoring.errors import FieldProblem
from linkscore_server.cluster.settings import ClusterSettings
from linkscore_server.workers.settings import WorkerSettings

_PORTS = 1 << 16


@dataclass(frozen=True, kw_only=True)
class MemberSettings(WorkerSettings, ClusterSettings):
    """Of a server whose processes are servers of a cluster."""

    @property
    def is_log_shared(self) -> bool:
        """See `WorkerSettings.is_log_shared`."""
        return bool(self.kafka_hosts) or super().is_log_shared

    @property
    def has_members(self) -> bool:
        """Whether each worker is a server of a cluster."""
        return self.workers > 1 and bool(self.kafka_hosts)

    def of_worker(self, number: int) -> MemberSettings:
        """Return the settings of one worker: a port for the others, and a folder, of its own."""
        return dataclasses.replace(
            self,
            data_dir=str(Path(self.data_dir) / f"worker-{number}"),
            peers_listen=_counted_on(self.peers_listen, number),
            advertise=_counted_on(self.advertise, number),
        )

    def problems(self) -> list[FieldProblem]:
        """See `Settings.problems`."""
        found = super().problems()
        if not self.has_members or found:
            return found
        if not self.peers_listen and self.role != "front":
            rule = "must be set with workers > 1: worker 0 is reached by the others there, worker 1 a port on"
            return [FieldProblem("peers_listen", rule)]
        return [
            FieldProblem(name, f"needs {self.workers} ports from a given one on, got {address!r}")
            for name, address in (("peers_listen", self.peers_listen), ("advertise", self.advertise))
            if address and not 0 < _port_of(address) <= _PORTS - self.workers
        ]


def _counted_on(address: str, number: int) -> str:
    return address and f"{address.rpartition(':')[0]}:{_port_of(address) + number}"


def _port_of(address: str) -> int:
    return int(address.rpartition(":")[2])
