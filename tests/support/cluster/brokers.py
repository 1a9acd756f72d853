"""Three real brokers on this machine, from Maven's jars: each a process that may be killed or stopped."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

JARS = Path(__file__).parents[2] / "kafka/target/jars"
"""Where `make test-kafka` copies the jars to."""

_HEAP = "-Xmx384m"
_START_S = 400.0
"""Longest start of three brokers; they took 24 to 41 s on two busy cores."""

USER, PASSWORD = "crawler", "secret-of-tests"
"""Of the listener that asks for them."""

_SCRAMS = "SCRAM-SHA-256", "SCRAM-SHA-512"
_MODULES = "org.apache.kafka.common.security"
_LOGINS = "".join(
    f"listener.name.sasl_plaintext.{kind.lower()}.sasl.jaas.config={_MODULES}.{login};\n"
    for kind, login in (
        ("plain", f'plain.PlainLoginModule required user_{USER}="{PASSWORD}"'),
        *((kind, "scram.ScramLoginModule required") for kind in _SCRAMS),
    )
)
_NODE = """\
process.roles=broker,controller
node.id={node}
controller.quorum.voters={voters}
listeners=PLAINTEXT://{host}:{port},SASL_PLAINTEXT://{host}:{sasl},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://{host}:{port},SASL_PLAINTEXT://{host}:{sasl}
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
log.dirs={folder}/data
auto.create.topics.enable=false
offsets.topic.replication.factor=3
offsets.topic.num.partitions=1
transaction.state.log.num.partitions=1
broker.session.timeout.ms=2500
broker.heartbeat.interval.ms=500
controller.quorum.fetch.timeout.ms=1000
group.initial.rebalance.delay.ms=500
num.network.threads=2
num.io.threads=4
log.cleaner.threads=1
log.cleaner.dedupe.buffer.size=2000000
{logins}"""


def is_there() -> bool:
    """Say whether brokers can be started: Java and the jars."""
    return shutil.which("java") is not None and any(JARS.glob("kafka_*.jar"))


class Brokers:
    """Three brokers below a folder, each a controller too, at an address of this machine."""

    def __init__(self, folder: Path, host: str = "127.0.0.1", n: int = 3) -> None:
        self._host = host
        self.folder = folder
        ports = _free_ports(3 * n)
        self._ports, self._sasl_ports, controllers = ports[:n], ports[n : 2 * n], ports[2 * n :]
        voters = ",".join(f"{node}@127.0.0.1:{port}" for node, port in enumerate(controllers, start=1))
        self._processes: list[subprocess.Popen[bytes] | None] = [None] * n
        both = zip(self._ports, self._sasl_ports, strict=True)
        for node, ((port, sasl), controller) in enumerate(zip(both, controllers, strict=True), start=1):
            home = folder / f"broker-{node}"
            home.mkdir(parents=True)
            (home / "node.properties").write_text(
                _NODE.format(
                    host=host,
                    node=node,
                    voters=voters,
                    port=port,
                    sasl=sasl,
                    controller=controller,
                    folder=home,
                    logins=_LOGINS,
                )
            )

    @property
    def hosts(self) -> str:
        """Where they are reached."""
        return ",".join(f"{self._host}:{port}" for port in self._ports)

    @property
    def sasl_hosts(self) -> str:
        """Where they are reached by who says a name and a password."""
        return ",".join(f"{self._host}:{port}" for port in self._sasl_ports)

    def start(self) -> None:
        """Format, start all, wait until they answer."""
        known = [f"--add-scram={kind}=[name={USER},password={PASSWORD}]" for kind in _SCRAMS]
        made = [*_java(), "kafka.tools.StorageTool", "format", "-t", "linkscore-test-brokers", *known, "-c"]
        formats = [
            subprocess.Popen(
                [*made, home],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for home in sorted(self.folder.glob("broker-*/node.properties"))
        ]
        for process in formats:
            assert process.wait(_START_S) == 0
        for number in range(len(self._ports)):
            self.start_one(number)
        self.wait_for(len(self._ports))

    def start_one(self, number: int) -> None:
        """Start a broker, which is reached some seconds later."""
        home = self.folder / f"broker-{number + 1}"
        with (home / "out.txt").open("ab") as out:
            self._processes[number] = subprocess.Popen(
                [*_java(), "kafka.Kafka", str(home / "node.properties")], stdout=out, stderr=out
            )

    def wait_for(self, n: int) -> None:
        """Wait until so many brokers are in the cluster."""
        admin = AdminClient({"bootstrap.servers": self.hosts, "log_level": 0})
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline:
            with suppress(KafkaException):
                if len(admin.list_topics(timeout=2).brokers) >= n:
                    return
            time.sleep(0.5)
        raise TimeoutError(f"no {n} brokers within {_START_S:g} s, see {self.folder}")

    def signal(self, number: int, sent: int) -> None:
        """Send a signal to a broker."""
        process = self._processes[number]
        assert process is not None
        process.send_signal(sent)

    def kill(self, number: int) -> None:
        """Kill a broker at once."""
        process = self._processes[number]
        assert process is not None
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait()

    def close(self) -> None:
        """Kill all."""
        for number, process in enumerate(self._processes):
            if process is not None:
                self.kill(number)


def _java() -> list[str]:
    jars = ":".join(map(str, sorted(JARS.glob("*.jar"))))
    return ["java", _HEAP, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", jars]


def _free_ports(n: int) -> list[int]:
    sockets = [socket.socket() for _ in range(n)]
    try:
        for found in sockets:
            found.bind(("127.0.0.1", 0))
        return [found.getsockname()[1] for found in sockets]
    finally:
        for found in sockets:
            found.close()
