"""Interceptor, plugins and command line."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
from dataclasses import fields
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import grpc
import pytest
from click.testing import CliRunner, Result

from linkscore_cli.main import main
from linkscore_scoring.policies.base import Policy
from linkscore_scoring.policies.baselines.breadth_first import BreadthFirst
from linkscore_server import plugins
from linkscore_server.grpc.interceptors import CallInterceptor
from linkscore_server.observability.metrics import Metrics
from linkscore_server.settings import Settings

# Interceptor


class Details:
    def __init__(self, method: str, **metadata: str) -> None:
        self.method = method
        self.invocation_metadata = tuple(metadata.items())


class Context:
    code = details = None

    def set_code(self, code: grpc.StatusCode) -> None:
        self.code = code

    def set_details(self, details: str) -> None:
        self.details = details

    def set_trailing_metadata(self, metadata: Any) -> None:
        self.trailers = metadata


async def intercepted(guard: CallInterceptor, call: Any, **metadata: str) -> Any:
    handler = grpc.unary_unary_rpc_method_handler(call)

    async def found(_: Any) -> Any:
        return handler

    return await guard.intercept_service(found, Details("/linkscore.v1.CrawlService/GetCrawl", **metadata))


def calls(metrics: Metrics, code: str) -> float | None:
    labels = {"method": "CrawlService/GetCrawl", "code": code}
    return metrics.registry.get_sample_value("linkscore_rpc_duration_seconds_count", labels)


async def test_an_answer_passes_and_is_measured() -> None:
    async def call(request: str, context: Context) -> str:
        return request.upper()

    metrics = Metrics()
    handler = await intercepted(CallInterceptor(metrics), call)
    assert await handler.unary_unary("x", Context()) == "X"
    assert calls(metrics, "OK") == 1


async def test_a_failure_becomes_a_status_and_is_measured_by_its_code() -> None:
    async def call(request: str, context: Context) -> str:
        raise ZeroDivisionError("inside")

    metrics, context = Metrics(), Context()
    handler = await intercepted(CallInterceptor(metrics), call)
    assert await handler.unary_unary("x", context) is None
    assert context.code == grpc.StatusCode.INTERNAL
    assert "inside" not in str(context.details)
    assert calls(metrics, "INTERNAL") == 1


async def test_a_call_that_is_given_up_is_measured_as_cancelled() -> None:
    async def call(request: str, context: Context) -> None:
        await asyncio.Event().wait()

    metrics = Metrics()
    guard = CallInterceptor(metrics)
    handler = await intercepted(guard, call)
    running = asyncio.create_task(handler.unary_unary("x", Context()))
    await asyncio.sleep(0)
    idle = asyncio.create_task(guard.idle())
    await asyncio.sleep(0)
    assert not idle.done()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await asyncio.wait_for(idle, 10)
    assert calls(metrics, "CANCELLED") == 1


async def test_while_state_loads_calls_are_unavailable() -> None:
    async def call(request: str, context: Context) -> str:
        return request

    context = Context()
    handler = await intercepted(CallInterceptor(Metrics(), is_ready=lambda: False), call)
    await handler.unary_unary("x", context)
    assert context.code == grpc.StatusCode.UNAVAILABLE


@pytest.mark.parametrize(
    ("given", "allowed"), [("Bearer t", True), ("Bearer T", False), ("t", False), ("", False)]
)
async def test_only_the_token_lets_a_call_in(given: str, allowed: bool) -> None:
    async def call(request: str, context: Context) -> str:
        return request

    context = Context()
    handler = await intercepted(CallInterceptor(Metrics(), token="t"), call, authorization=given)
    assert (await handler.unary_unary("x", context) == "x") == allowed
    assert (context.code is None) == allowed


# Plugins


class Outside(BreadthFirst):
    name = "outside"


class Abstract(Policy):
    name = "abstract"


def entry_point(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, plugins.GROUP)


def test_policies_of_entry_points_are_found_and_unusable_ones_are_left_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    entries = [
        entry_point("outside", f"{__name__}:Outside"),
        entry_point("abstract", f"{__name__}:Abstract"),
        entry_point("no_class", f"{__name__}:entry_point"),
        entry_point("broken", "no_such_module_anywhere:X"),
    ]
    monkeypatch.setattr(plugins, "entry_points", lambda group: entries)
    with caplog.at_level(logging.ERROR):
        assert plugins.external_policies() == [Outside]
    said = " ".join(record.getMessage() for record in caplog.records)
    assert all(name in said for name in ("abstract", "no_class", "broken"))


# Command line


def run(*arguments: str, **environment: str) -> Result:
    clean = {name: None for name in os.environ if name.startswith("LINKSCORE_")}
    return CliRunner(env=clean | environment).invoke(main, arguments)


def test_serve_help_documents_every_setting_with_flag_variable_and_default() -> None:
    text = " ".join(run("serve", "--help").output.split())
    for setting in fields(Settings):
        assert f"--{setting.name.replace('_', '-')}" in text
        assert f"LINKSCORE_{setting.name.upper()}" in text.replace(" ", "")


def test_check_config_prints_the_settings_in_force(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('max_links = 1\nmax_depth = 2\ndata_dir = "x"\n')
    got = run(
        "check-config",
        "--config",
        str(file),
        "--max-links",
        "3",
        LINKSCORE_MAX_LINKS="2",
        LINKSCORE_MAX_DEPTH="5",
    )
    assert got.exit_code == 0
    assert "max_links = 3" in got.output
    assert "max_depth = 5" in got.output
    assert "data_dir = 'x'" in got.output


def test_check_config_names_all_problems_at_once(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("colour = 1\nmax_links = 0\n")
    got = run(
        "check-config",
        "--config",
        str(file),
        "--log-level",
        "loud",
        LINKSCORE_NO_SUCH="1",
        LINKSCORE_DRAIN_S="x",
    )
    assert got.exit_code == 1
    for name in ("colour", "max_links", "log_level", "no_such", "drain_s"):
        assert f"{name}: " in got.output


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("listen", "nowhere"),
        ("listen", ""),
        ("listen", "a:70000"),
        ("listen", "unix:"),
        ("metrics-listen", "unix:/x"),
        ("drain-s", "inf"),
        ("max-crawls", "-1"),
        ("tls-key", "/dev/null"),
        ("tls-client-ca", "/dev/null"),
        ("token-file", "/no/such"),
        ("config", "/no/such"),
    ],
)
def test_a_setting_that_cannot_work_is_refused_by_name(flag: str, value: str) -> None:
    got = run("check-config", f"--{flag}", value)
    assert got.exit_code == 1
    assert got.output.startswith(("config" if flag == "config" else flag.replace("-", "_"), "tls_cert"))


def test_variables_that_kubernetes_sets_are_no_settings() -> None:
    got = run("check-config", LINKSCORE_PORT="tcp://10.0.0.1:7411", LINKSCORE_SERVICE_HOST="10.0.0.1")
    assert got.exit_code == 0


def test_the_module_is_the_command() -> None:
    command = [sys.executable, "-m", "linkscore_cli", "--help"]
    got = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "serve" in got.stdout
