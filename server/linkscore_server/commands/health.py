"""`linkscore health`: ask a server of these settings whether it serves."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
import grpc

from linkscore_cli.files import check_certificate
from linkscore_server.commands.serve import SettingsCommand, settings_of, settings_options
from linkscore_server.settings import Settings

_EVERYWHERE = ("0.0.0.0", "[::]")  # noqa: S104 - addresses to listen on, not to connect to


@click.command(cls=SettingsCommand)
@settings_options
@click.option("--target", default="", help="Ask the server at host:port instead.")
@click.option(
    "--tls-ca",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="With --target: PEM file of the authority that signed its certificate; switches TLS on.",
)
@click.option(
    "--server-name",
    default="",
    help="Name in the TLS certificate.  [default: localhost; with --target, its host]",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    default=3.0,
    show_default=True,
    help="Seconds to wait for the answer.",
)
def health(
    config: Path | None,
    target: str,
    tls_ca: Path | None,
    server_name: str,
    timeout: float,
    **flags: Any,
) -> None:
    """Ask whether a server serves; exit 0 if it does, 1 if not.

    The server is the one that `serve` would start with these settings, or the one at --target.
    """
    if tls_ca is not None:
        check_certificate("--tls-ca", tls_ca)
    if target:
        channel = _channel_at(target, tls_ca, server_name)
    else:
        channel = _channel_of(settings_of(config, flags), server_name or "localhost")
    serving, answer = _ask(channel, timeout)
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
    return _secure_channel(target, grpc.ssl_channel_credentials(chain, *pair), server_name)


def _channel_at(target: str, tls_ca: Path | None, server_name: str) -> grpc.Channel:
    if tls_ca is None:
        return grpc.insecure_channel(target)
    return _secure_channel(target, grpc.ssl_channel_credentials(tls_ca.read_bytes()), server_name)


def _secure_channel(target: str, credentials: grpc.ChannelCredentials, server_name: str) -> grpc.Channel:
    named = [("grpc.ssl_target_name_override", server_name)] if server_name else []
    return grpc.secure_channel(target, credentials, named)
