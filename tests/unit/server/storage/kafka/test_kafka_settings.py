"""Settings of logs on brokers: what cannot work is refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkscore_cli.extras import install_command
from linkscore_server.storage.kafka import properties
from linkscore_server.storage.kafka.settings import KafkaSettings
from support.refused_settings import refused

ON_BROKERS = {"log": "kafka://one:9092,two:9092"}


@pytest.mark.parametrize("log", ["kafka://", "kafka://host", "kafka://a:1,b", "kafka:a:1"])
def test_a_log_that_is_nowhere_is_refused(log: str) -> None:
    assert refused({"log": log}, {}, None)["log"].startswith("must be file or kafka://HOST:PORT")


def test_what_goes_with_files_only_is_refused_with_brokers() -> None:
    flags = {**ON_BROKERS, "keep_log": "snapshots", "data_dir": "memory", "kafka_prefix": "a/b"}
    assert {"keep_log", "data_dir", "kafka_prefix"} <= refused(flags, {}, None).keys()


def test_properties_of_the_client_are_passed_on(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    lines = [
        "# to ours",
        "security.protocol = SASL_SSL",
        "sasl.mechanisms=PLAIN",
        "sasl.username = u",
        "sasl.password = p",
    ]
    file.write_text("\n".join(lines))
    settings = KafkaSettings(**ON_BROKERS, kafka_properties=str(file))
    assert settings.problems() == []
    assert settings.kafka_hosts == "one:9092,two:9092"
    assert settings.client_properties() == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanisms": "PLAIN",
        "sasl.username": "u",
        "sasl.password": "p",
    }


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("security.protocol", "line 1: must be name = value"),
        ("acks = 1", "line 1: acks is set by linkscore"),
        ("no.such = 1", "no.such"),
        ("ssl.ca.location = /no/such", "ssl.ca.location failed"),
    ],
)
def test_properties_that_cannot_work_are_refused(tmp_path: Path, line: str, rule: str) -> None:
    file = tmp_path / "client.properties"
    file.write_text(line if "ssl" not in line else f"{line}\nsecurity.protocol = ssl")
    assert rule in refused({**ON_BROKERS, "kafka_properties": str(file)}, {}, None)["kafka_properties"]


def test_a_missing_file_of_properties_is_refused() -> None:
    flags = {**ON_BROKERS, "kafka_properties": "/no/such"}
    assert "/no/such" in refused(flags, {}, None)["kafka_properties"]


def test_without_the_client_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(properties, "is_installed", lambda: False)
    rule = refused(ON_BROKERS, {}, None)["log"]
    assert rule == f"needs the kafka extra: {install_command('kafka')}"


def test_a_file_of_properties_of_one_endless_line_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "endless.properties"
    with path.open("wb") as file:
        file.write(b"x")
        file.truncate(600 << 20)
    assert len(refused({**ON_BROKERS, "kafka_properties": str(path)}, {}, None)["kafka_properties"]) < 1_000
