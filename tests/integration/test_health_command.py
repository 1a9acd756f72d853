"""`linkscore health` and the entry point, against a real server."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from linkscore_server.app import Application
from linkscore_server.commands import target_of
from linkscore_server.settings import Settings
from support.command_line import run
from support.self_signed import self_signed


@asynccontextmanager
async def running(**settings: Any) -> AsyncIterator[Settings]:
    """A server on a free port of loopback; gives the settings that reach it."""
    given = Settings(listen="127.0.0.1:0", metrics_listen="", data_dir="memory", drain_s=0.1, **settings)
    app = Application(given)
    await app.start()
    try:
        yield replace(given, listen=app.address)
    finally:
        await app.stop()


async def asked(settings: Settings, server_name: str = "localhost") -> tuple[bool, str]:
    """Ask by the command: whether it ends well, and what it says."""
    given = {"--listen": settings.listen, "--server-name": server_name, "--timeout": 5}
    given |= {
        f"--{name.replace('_', '-')}": value
        for name in ("tls_cert", "tls_key", "tls_client_ca")
        if (value := getattr(settings, name))
    }
    done = await asyncio.to_thread(run, "health", *(part for pair in given.items() for part in pair))
    return done.exit_code == 0, done.output.strip()


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A self-signed certificate of localhost and its key, as settings."""
    return self_signed(tmp_path_factory.mktemp("tls"))


async def test_a_running_server_serves() -> None:
    async with running() as settings:
        assert await asked(settings) == (True, "SERVING")


async def test_the_certificate_of_the_server_is_trusted(pair: dict[str, str]) -> None:
    async with running(**pair) as settings:
        assert await asked(settings) == (True, "SERVING")
        serving, _ = await asked(settings, server_name="elsewhere.example")
        assert not serving


async def test_the_certificate_of_the_server_is_shown_to_a_server_that_asks_for_one(
    pair: dict[str, str],
) -> None:
    async with running(**pair, tls_client_ca=pair["tls_cert"]) as settings:
        assert await asked(settings) == (True, "SERVING")
        serving, _ = await asked(replace(settings, tls_client_ca=""))
        assert not serving


@pytest.mark.parametrize(
    ("listen", "target"),
    [
        ("0.0.0.0:7411", "127.0.0.1:7411"),
        ("[::]:7411", "127.0.0.1:7411"),
        ("10.0.0.7:7411", "10.0.0.7:7411"),
        ("unix:/run/linkscore.sock", "unix:/run/linkscore.sock"),
    ],
)
def test_a_server_that_listens_everywhere_is_asked_on_loopback(listen: str, target: str) -> None:
    assert target_of(listen) == target


def test_the_command_exits_with_1_when_nobody_answers() -> None:
    command = [sys.executable, "-m", "linkscore_cli", "health", "--listen", "127.0.0.1:1"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "UNAVAILABLE" in done.stdout
