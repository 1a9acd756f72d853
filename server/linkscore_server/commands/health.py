"""`linkscore health`: ask a server of these settings whether it serves."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
import grpc

from linkscore_cli.errors import Number
from linkscore_server.commands.serve import SettingsCommand, settings_of, settings_options
from linkscore_server.settings import Settings

_EVERYWHERE = ("0.0.0.0", "[::]")  # noqa: S104 - addresses to listen on, not to connect to


@click.command(cls=SettingsCommand)
@settings_options
@click.option(
    "--server-name", default="localhost", show_default=True, help="Name in the TLS certificate of the server."
)
@click.option(
    "--timeout",
    type=Number(0, 3_600, min_open=True),
    default=3.0,
    show_default=True,
    help="Seconds to wait for the answer.",
)
def health(config: Path | None, server_name: str, timeout: float, **flags: Any) -> None:
    """Ask whether the server that `serve` would start with these settings serves; exit 0 if so, 1 if not."""
    serving, answer = _ask(_channel_of(settings_of(config, flags), server_name), timeout)
    click.echo(answer)
    sys.exit(0 if serving else 1)


def target_of(listen: str) -> str:
    """Return the address to ask: loopback for a server that listens everywhere."""
    host, _, port = listen.rpartition(":")
    return f"127.0.0.1:{port}" if host in _EVERYWHERE else listen


def _ask(channel: grpc.Channel, timeout_s: float) -> tuple[bool, str]:
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    try:
        with channel:
            stub = health_pb2_grpc.HealthStub(channel)
            answer = stub.Check(health_pb2.HealthCheckRequest(), timeout=timeout_s)
    except grpc.RpcError as error:
        return False, f"{error.code().name}: {error.details()}"
    status = health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)
    return answer.status == health_pb2.HealthCheckResponse.SERVING, status


def _channel_of(settings: Settings, server_name: str) -> grpc.Channel:
    """Return a channel to the server that these settings describe.

    With TLS the server's own certificate is trusted, and shown where a client certificate is asked for.
    """
    target = target_of(settings.listen)
    if not settings.tls_cert:
        return grpc.insecure_channel(target)
    chain, key = Path(settings.tls_cert).read_bytes(), Path(settings.tls_key).read_bytes()
    pair = (key, chain) if settings.tls_client_ca else (None, None)
    named = [("grpc.ssl_target_name_override", server_name)]
    return grpc.secure_channel(target, grpc.ssl_channel_credentials(chain, *pair), named)
