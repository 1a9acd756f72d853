"""Settings: where they come from, and one bad configuration for each way to be wrong."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from linkscore_cli.extras import install_command
from linkscore_server.settings import Settings, load
from support.refused_settings import refused

BAD_FILES: dict[str, tuple[str, str, str]] = {
    "not TOML": ("listen = ", "config", "cannot read"),
    "unknown key": ("lissten = 'x:1'", "lissten", "unknown setting"),
    "table for a value": ("[listen]\nport = 1", "listen", "must be a str"),
    "text for a number": ("max_links = 'many'", "max_links", "must be a int"),
    "true for a number": ("max_links = true", "max_links", "must be a int"),
    "zero": ("max_crawls = 0", "max_crawls", "must be from "),
    "not a number": ("drain_s = nan", "drain_s", "must be from "),
    "no port": ("listen = 'localhost'", "listen", "host:port or unix:PATH"),
    "metrics on a socket": ("metrics_listen = 'unix:/x'", "metrics_listen", "must be host:port"),
    "certificate without key": ("tls_cert = '/dev/null'", "tls_cert", "must be set together"),
    "client CA without certificate": ("tls_client_ca = '/x'", "tls_client_ca", "needs tls_cert"),
    "missing token file": ("token_file = '/no/such'", "token_file", "no such file: /no/such"),
    "no scheme": ("otlp_endpoint = 'collector:4317'", "otlp_endpoint", "must be http://host:port"),
    "log level": ("log_level = 'loud'", "log_level", "debug, info, warning, error"),
}


@pytest.mark.parametrize(("text", "field", "rule"), BAD_FILES.values(), ids=BAD_FILES.keys())
def test_a_bad_file_is_refused_naming_field_and_rule(
    tmp_path: Path, text: str, field: str, rule: str
) -> None:
    file = tmp_path / "linkscore.toml"
    file.write_text(text)
    assert rule in refused({}, {}, file)[field]


def test_all_problems_are_reported_at_once(tmp_path: Path) -> None:
    file = tmp_path / "linkscore.toml"
    file.write_text("max_links = 0\nnonsense = 1")
    found = refused({"log_level": "loud"}, {"LINKSCORE_MAX_CRAWLS": "x"}, file)
    assert set(found) == {"max_links", "nonsense", "log_level", "max_crawls"}


def test_traces_without_their_extra_are_refused_naming_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    rule = refused({"otlp_endpoint": "http://collector:4317"}, {}, None)["otlp_endpoint"]
    assert rule == f"needs the tracing extra: {install_command('tracing')}"


def test_nothing_given_means_the_defaults() -> None:
    assert load({}, {"PATH": "/bin"}, None) == Settings()


def test_a_flag_beats_the_environment_beats_the_file_beats_the_default(tmp_path: Path) -> None:
    file = tmp_path / "linkscore.toml"
    file.write_text("max_links = 1\nmax_crawls = 1\nmax_depth = 1")
    environment = {"LINKSCORE_MAX_LINKS": "2", "LINKSCORE_MAX_CRAWLS": "2"}
    settings = load({"max_links": 3, "max_crawls": None}, environment, file)
    assert (settings.max_links, settings.max_crawls, settings.max_depth) == (3, 2, 1)
    assert settings.max_elements == Settings().max_elements


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


@pytest.mark.parametrize(
    ("given", "field", "rule"),
    [
        (
            {"data_dir": "/proc/x"},
            "data_dir",
            "must be a folder on a disk that this user may write",
        ),
        ({"data_dir": "/dev/null/x"}, "data_dir", "/dev/null is none"),
        ({"memory_mb": "10"}, "memory_mb", "must be from 128 to 16777216, got 10; 1800 is the default"),
        (
            {"memory_mb": "500", "site_memory_mb": "600"},
            "site_memory_mb",
            "must be below memory_mb, which is",
        ),
        (
            {"metrics_listen": "127.0.0.1:7411"},
            "metrics_listen",
            "must have a port of its own, listen has",
        ),
        ({"json_listen": "127.0.0.1:9411"}, "json_listen", "must have a port of its own, metrics_listen has"),
        ({"listen": "203.0.113.7:7411"}, "listen", "203.0.113.7 is no address of this machine"),
        ({"min_free_mb": "2147483647"}, "min_free_mb", "MiB of the disk of data_dir, got 2147483647"),
        ({"max_message_bytes": "1073741824"}, "max_message_bytes", "must be at most max_inflight_bytes"),
    ],
)
def test_what_cannot_work_together_or_on_this_machine_is_refused(
    given: dict[str, str], field: str, rule: str
) -> None:
    assert rule in refused(given, {}, None)[field]


def test_sites_have_three_quarters_of_the_memory_unless_they_are_given_some() -> None:
    assert load({"memory_mb": "1000"}, {}, None).site_memory_mb == 750
    assert load({"memory_mb": "1000", "site_memory_mb": "10"}, {}, None).site_memory_mb == 10
