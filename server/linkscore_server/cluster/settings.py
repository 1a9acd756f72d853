"""Settings of a process in a cluster, and what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass

from linkscore_scoring.errors import FieldProblem
from linkscore_server.settings import address_problems, setting
from linkscore_server.storage.kafka.settings import KafkaSettings


@dataclass(frozen=True, kw_only=True)
class ClusterSettings(KafkaSettings):
    """Of a server of several processes over the same brokers."""

    peers_listen: str = setting(
        "",
        "address `host:port` where the other servers of the cluster reach this one, of several workers the "
        "first, and each further one a port on; empty: this server has all crawls",
    )
    advertise: str = setting(
        "", "address `host:port` that the other servers use, where it differs from peers_listen"
    )
    role: str = setting(
        "all",
        "part of this server in the cluster. `all`: answers calls and has a share of the crawls; `front`: "
        "answers calls by asking the others; `owner`: answers only the others, at peers_listen",
    )
    session_s: float = setting(
        15.0,
        "seconds without a sign of life after which the others take over this server's share; must be longer "
        "than the brokers need to replace one of theirs",
    )

    @property
    def is_clustered(self) -> bool:
        """Whether other processes over the same brokers are part of the same server."""
        return bool(self.peers_listen) or self.role == "front"

    def problems(self) -> list[FieldProblem]:
        """See `Settings.problems`."""
        return super().problems() + self._peer_problems() + self._role_problems()

    def _peer_problems(self) -> list[FieldProblem]:
        if not self.peers_listen:
            return []
        if not self.kafka_hosts:
            return [FieldProblem("peers_listen", "needs log = kafka://")]
        found = address_problems("peers_listen", self.peers_listen, unix=False)
        return found + address_problems("advertise", self.advertise or self.peers_listen, unix=False)

    def _role_problems(self) -> list[FieldProblem]:
        if self.role not in ("all", "front", "owner"):
            return [FieldProblem("role", f"must be all, front or owner, got {self.role!r}")]
        if self.role != "all" and not self.kafka_hosts:
            return [FieldProblem("role", f"{self.role} needs log = kafka://")]
        if self.role == "owner" and not self.peers_listen:
            return [FieldProblem("peers_listen", "must be set with role = owner: it is asked by the others")]
        if self.role == "front" and self.peers_listen:
            return [FieldProblem("peers_listen", "must be empty with role = front: nobody asks it")]
        return []
