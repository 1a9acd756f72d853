"""Settings of logs on Kafka, and what is wrong with them; the client is not loaded."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from linkscore_cli.extras import install_command
from linkscore_scoring.errors import FieldProblem
from linkscore_server.settings import Settings, address_problems, setting
from linkscore_server.storage.kafka import properties
from linkscore_server.text_files import text_of

SCHEME = "kafka://"


@dataclass(frozen=True, kw_only=True)
class KafkaSettings(Settings):
    """Of a server whose `log` is ``kafka://HOST:PORT,...``."""

    kafka_properties: str = setting(
        "",
        "file of `name = value` lines for the Kafka client (librdkafka), such as TLS and SASL",
    )
    kafka_prefix: str = setting("linkscore", "prefix of the names of this server's topics")
    kafka_replicas: int = setting(
        3, "copies of each topic on different brokers; all but one must confirm a page"
    )

    @property
    def kafka_hosts(self) -> str:
        """Brokers that the log is kept by, ``host:port,host:port``; empty: it is kept in files."""
        return self.log.removeprefix(SCHEME) if self.log.startswith(SCHEME) else ""

    def client_properties(self) -> dict[str, str]:
        """Return what the file of properties says, nothing if there is none."""
        if not self.kafka_properties:
            return {}
        return properties.parse(text_of(Path(self.kafka_properties)))

    def problems(self) -> list[FieldProblem]:
        """See `Settings.problems`."""
        return super().problems() + (self._kafka_problems() if self.log.startswith(SCHEME) else [])

    def _kafka_problems(self) -> list[FieldProblem]:
        hosts = self.kafka_hosts.split(",")
        if not all(host and not address_problems("log", host, unix=False) for host in hosts):
            return [FieldProblem("log", f"must be file or kafka://HOST:PORT,HOST:PORT, got {self.log!r}")]
        if not properties.is_installed():
            return [FieldProblem("log", f"needs the kafka extra: {install_command('kafka')}")]
        found = [
            FieldProblem(name, f"must be {must} with log = kafka://")
            for name, must, is_so in (
                ("keep_log", "all", self.keep_log == "all"),
                ("data_dir", "a folder", self.data_dir != "memory"),
            )
            if not is_so
        ]
        if not re.fullmatch(r"[A-Za-z0-9._-]{1,100}", self.kafka_prefix):
            found.append(
                FieldProblem("kafka_prefix", f"must be letters, digits, . _ -, got {self.kafka_prefix!r}")
            )
        try:
            refused = properties.refusal(self.client_properties())
        except (OSError, ValueError) as exc:
            refused = str(exc)
        if refused:
            found.append(FieldProblem("kafka_properties", f"{self.kafka_properties}: {refused}"))
        return found
