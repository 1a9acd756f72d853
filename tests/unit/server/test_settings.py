"""Settings: where they come from, and one bad configuration for each way to be wrong."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from linkscore_scoring.errors import InvalidInput
from linkscore_server.settings import Settings, load

BAD_FILES: dict[str, tuple[str, str, str]] = {
    "not TOML": ("listen = ", "config", "cannot read"),
    "unknown key": ("lissten = 'x:1'", "lissten", "unknown setting"),
    "table for a value": ("[listen]\nport = 1", "listen", "must be a str"),
    "number for a text": ("data_dir = 5", "data_dir", "must be a str"),
    "text for a number": ("max_links = 'many'", "max_links", "must be a int"),
    "part of a link": ("max_links = 1.5", "max_links", "must be a int"),
    "true for a number": ("max_links = true", "max_links", "must be a int"),
    "infinite links": ("max_links = inf", "max_links", "must be a int"),
    "zero": ("max_crawls = 0", "max_crawls", "must be > 0"),
    "negative": ("drain_s = -1.0", "drain_s", "must be > 0"),
    "not a number": ("drain_s = nan", "drain_s", "must be > 0"),
    "infinite": ("drain_s = inf", "drain_s", "must be > 0"),
    "less than none": ("learning_processes = -1", "learning_processes", "must be >= 0"),
    "no port": ("listen = 'localhost'", "listen", "host:port or unix:PATH"),
    "port too large": ("listen = 'localhost:70000'", "listen", "host:port or unix:PATH"),
    "no socket path": ("listen = 'unix:'", "listen", "host:port or unix:PATH"),
    "metrics on a socket": ("metrics_listen = 'unix:/x'", "metrics_listen", "must be host:port"),
    "certificate without key": ("tls_cert = '/dev/null'", "tls_cert", "must be set together"),
    "client CA without certificate": ("tls_client_ca = '/x'", "tls_client_ca", "needs tls_cert"),
    "missing key file": ("tls_key = '/no/such'", "tls_key", "no such file: /no/such"),
    "missing token file": ("token_file = '/no/such'", "token_file", "no such file: /no/such"),
    "no scheme": ("otlp_endpoint = 'collector:4317'", "otlp_endpoint", "must be http://host:port"),
    "log level": ("log_level = 'loud'", "log_level", "debug, info, warning or error"),
}


def refused(flags: Mapping[str, Any], environment: Mapping[str, str], file: Path | None) -> dict[str, str]:
    """Return the rules broken by each field."""
    with pytest.raises(InvalidInput) as caught:
        load(flags, environment, file)
    found: dict[str, str] = {}
    for problem in caught.value.problems:
        found[problem.field] = f"{found.get(problem.field, '')}{problem.rule}"
    return found


@pytest.mark.parametrize(("text", "field", "rule"), BAD_FILES.values(), ids=BAD_FILES.keys())
def test_a_bad_file_is_refused_naming_field_and_rule(
    tmp_path: Path, text: str, field: str, rule: str
) -> None:
    file = tmp_path / "linkscore.toml"
    file.write_text(text)
    assert rule in refused({}, {}, file)[field]


def test_no_process_that_learns_is_a_choice(tmp_path: Path) -> None:
    file = tmp_path / "linkscore.toml"
    file.write_text("learning_processes = 0")
    assert load({}, {}, file).learning_processes == 0


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    assert "cannot read" in refused({}, {}, tmp_path / "none.toml")["config"]


def test_an_empty_token_file_is_refused(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("\nsecond line")
    assert "line 2: must be" in refused({"token_file": str(token)}, {}, None)["token_file"]


def test_all_problems_are_reported_at_once(tmp_path: Path) -> None:
    file = tmp_path / "linkscore.toml"
    file.write_text("max_links = 0\nnonsense = 1")
    found = refused({"log_level": "loud"}, {"LINKSCORE_MAX_CRAWLS": "x"}, file)
    assert set(found) == {"max_links", "nonsense", "log_level", "max_crawls"}


def test_traces_without_their_extra_are_refused_naming_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    rule = refused({"otlp_endpoint": "http://collector:4317"}, {}, None)["otlp_endpoint"]
    assert rule == "needs the tracing extra: pip install 'linkscore[tracing]'"


def test_an_unknown_variable_of_ours_is_refused() -> None:
    assert refused({}, {"LINKSCORE_LISSTEN": "x:1"}, None) == {"lissten": "unknown setting"}


def test_nothing_given_means_the_defaults() -> None:
    assert load({}, {"PATH": "/bin"}, None) == Settings()


def test_a_flag_beats_the_environment_beats_the_file_beats_the_default(tmp_path: Path) -> None:
    file = tmp_path / "linkscore.toml"
    file.write_text("max_links = 1\nmax_crawls = 1\nmax_depth = 1")
    environment = {"LINKSCORE_MAX_LINKS": "2", "LINKSCORE_MAX_CRAWLS": "2"}
    settings = load({"max_links": 3, "max_crawls": None}, environment, file)
    assert (settings.max_links, settings.max_crawls, settings.max_depth) == (3, 2, 1)
    assert settings.max_elements == Settings().max_elements


def test_whole_numbers_may_be_written_as_decimals(tmp_path: Path) -> None:
    file = tmp_path / "linkscore.toml"
    file.write_text("max_links = 10.0\ndrain_s = 2")
    settings = load({}, {}, file)
    assert (settings.max_links, settings.drain_s) == (10, 2.0)


@pytest.mark.parametrize("service", ["LINKSCORE", "LINKSCORE_METRICS", "LINKSCORE_HEADLESS"])
def test_variables_that_kubernetes_sets_for_services_are_no_settings(service: str) -> None:
    names = [
        "SERVICE_HOST",
        "SERVICE_PORT",
        "SERVICE_PORT_GRPC",
        "PORT",
        "PORT_7411_TCP",
        "PORT_7411_TCP_ADDR",
    ]
    assert load({}, {f"{service}_{name}": "tcp://10.0.0.1:7411" for name in names}, None) == Settings()


def test_an_empty_metrics_address_switches_metrics_off() -> None:
    assert load({"metrics_listen": ""}, {}, None).metrics_listen == ""


ON_BROKERS = {"log": "kafka://one:9092,two:9092"}


@pytest.mark.parametrize("log", ["kafka://", "kafka://host", "kafka://a:1,b", "brokers", "kafka:a:1"])
def test_a_log_that_is_nowhere_is_refused(log: str) -> None:
    assert refused({"log": log}, {}, None)["log"].startswith("must be file or kafka://HOST:PORT")


def test_what_goes_with_files_only_is_refused_with_brokers() -> None:
    pytest.importorskip("confluent_kafka")
    flags = {**ON_BROKERS, "workers": 2, "keep_log": "snapshots", "data_dir": "memory", "kafka_prefix": "a/b"}
    assert {"workers", "keep_log", "data_dir", "kafka_prefix"} <= refused(flags, {}, None).keys()


def test_properties_of_the_client_are_passed_on(tmp_path: Path) -> None:
    pytest.importorskip("confluent_kafka")
    file = tmp_path / "client.properties"
    lines = [
        "# to ours",
        "security.protocol = SASL_SSL",
        "sasl.mechanisms=PLAIN",
        "sasl.username = u",
        "sasl.password = p",
    ]
    file.write_text("\n".join(lines))
    settings = load({**ON_BROKERS, "kafka_properties": str(file)}, {}, None)
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
    pytest.importorskip("confluent_kafka")
    file = tmp_path / "client.properties"
    file.write_text(line if "ssl" not in line else f"{line}\nsecurity.protocol = ssl")
    assert rule in refused({**ON_BROKERS, "kafka_properties": str(file)}, {}, None)["kafka_properties"]


def test_a_missing_file_of_properties_is_refused() -> None:
    pytest.importorskip("confluent_kafka")
    flags = {**ON_BROKERS, "kafka_properties": "/no/such"}
    assert "/no/such" in refused(flags, {}, None)["kafka_properties"]


def test_a_cluster_is_over_brokers_and_at_addresses() -> None:
    assert refused({"peers_listen": "0.0.0.0:7511"}, {}, None) == {"peers_listen": "needs log = kafka://"}
    pytest.importorskip("confluent_kafka")
    found = refused({**ON_BROKERS, "peers_listen": "unix:/x", "advertise": "server-1"}, {}, None)
    assert found.keys() == {"peers_listen", "advertise"}
    good = {**ON_BROKERS, "peers_listen": "0.0.0.0:7511", "advertise": "server-1:7511"}
    assert load(good, {}, None).advertise == "server-1:7511"


@pytest.mark.parametrize(
    ("flags", "field", "rule"),
    [
        ({"role": "back"}, "role", "must be all, front or owner"),
        ({"role": "front"}, "role", "front needs log = kafka://"),
        ({"role": "owner", **ON_BROKERS}, "peers_listen", "must be set with role = owner"),
        (
            {"role": "front", **ON_BROKERS, "peers_listen": "0.0.0.0:7511"},
            "peers_listen",
            "must be empty with role = front",
        ),
    ],
)
def test_a_role_that_cannot_be_is_refused(flags: dict[str, str], field: str, rule: str) -> None:
    if "log" in flags:
        pytest.importorskip("confluent_kafka")
    assert rule in refused(flags, {}, None)[field]


def test_a_front_is_in_a_cluster_without_an_address_for_the_others() -> None:
    pytest.importorskip("confluent_kafka")
    assert load({**ON_BROKERS, "role": "front"}, {}, None).is_clustered
    assert load({**ON_BROKERS, "role": "owner", "peers_listen": "0.0.0.0:7511"}, {}, None).is_clustered
    assert not load(ON_BROKERS, {}, None).is_clustered
