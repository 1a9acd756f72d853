"""`linkscore health`: ask a server of these settings whether it serves."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
import grpc

from linkscore_server.commands.serve import settings_of, settings_options
from linkscore_server.settings import Settings

_EVERYWHERE = ("0.0.0.0", "[::]")  # noqa: S104 - addresses to listen on, not to connect to


@click.command()
@settings_options
@click.option("--server-name", default="localhost", show_default=True, help="Name in the TLS certificate.")
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    default=3.0,
    show_default=True,
    help="Seconds to wait for the answer.",
)
def health(config: Path | None, server_name: str, timeout: float, **flags: Any) -> None:
    """Ask the server that `serve` would start with these settings; exit 0 if it serves, 1 if not."""
    serving, answer = check_health(settings_of(config, flags), server_name=server_name, timeout_s=timeout)
    click.echo(answer)
    sys.exit(0 if serving else 1)


def check_health(settings: Settings, *, server_name: str, timeout_s: float) -> tuple[bool, str]:
    """Return whether the server that these settings describe answers SERVING, and what it answered.

    With TLS the server's own certificate is trusted, and shown where a client certificate is asked for.
    """
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    try:
        with _channel(settings, server_name) as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            answer = stub.Check(health_pb2.HealthCheckRequest(), timeout=timeout_s)
    except grpc.RpcError as error:
        return False, f"{error.code().name}: {error.details()}"
    status = health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)
    return answer.status == health_pb2.HealthCheckResponse.SERVING, status


def target_of(listen: str) -> str:
    """Return the address to ask: loopback for a server that listens everywhere."""
    host, _, port = listen.rpartition(":")
    return f"127.0.0.1:{port}" if host in _EVERYWHERE else listen


def _channel(settings: Settings, server_name: str) -> grpc.Channel:
    target = target_of(settings.listen)
    if not settings.tls_cert:
        return grpc.insecure_channel(target)
    chain, key = Path(settings.tls_cert).read_bytes(), Path(settings.tls_key).read_bytes()
    pair = (key, chain) if settings.tls_client_ca else (None, None)
    credentials = grpc.ssl_channel_credentials(chain, *pair)
    return grpc.secure_channel(target, credentials, [("grpc.ssl_target_name_override", server_name)])
