"""What both clients share about the connection."""

from __future__ import annotations

import json
import os
import ssl
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.message_factory import GetMessageClass

from linkscore.errors import LinkscoreError
from linkscore.v1 import (
    browse_log_service_pb2,
    crawl_service_pb2,
    inspection_service_pb2,
    link_scoring_service_pb2,
    site_model_service_pb2,
)

DEFAULT_TARGET = "localhost:7411"
# A bound: calls take milliseconds; what may take longer (LearnSite, MineSite) is given a deadline of its own.
DEFAULT_TIMEOUT_S = 10.0
MAX_TIMEOUT_S = 86_400.0  # a day: a bound
# The server's default (setting `max_message_bytes`).
MAX_MESSAGE_BYTES = 64 * 1024 * 1024
USER_AGENT = "linkscore-python"

Tls = bool | str | os.PathLike[str] | grpc.ChannelCredentials
"""Whether and how to encrypt: the system's roots, the authority of a PEM file, or credentials."""

# Three more tries within 0.7 s, chosen and not measured: a proxy may need them, and a crawl hardly waits.
_SERVICE_CONFIG = {
    "methodConfig": [
        {
            "name": [{}],
            "retryPolicy": {
                "maxAttempts": 4,
                "initialBackoff": "0.1s",
                "maxBackoff": "2s",
                "backoffMultiplier": 2,
                "retryableStatusCodes": ["UNAVAILABLE"],
            },
        },
    ]
}


def options(extra: Sequence[tuple[str, Any]] = ()) -> list[tuple[str, Any]]:
    """Give the channel options; those of the caller win."""
    ours: dict[str, Any] = {
        "grpc.service_config": json.dumps(_SERVICE_CONFIG),
        "grpc.enable_retries": 1,
        "grpc.keepalive_time_ms": 10_000,
        "grpc.keepalive_timeout_ms": 5_000,
        # gRPC else gives a ping 60 s, however short the timeout of the keepalive.
        "grpc.http2.ping_timeout_ms": 5_000,
        # gRPC else waits up to two minutes between attempts to connect, and calls fail meanwhile untried.
        "grpc.initial_reconnect_backoff_ms": 1_000,
        "grpc.max_reconnect_backoff_ms": 5_000,
        "grpc.max_send_message_length": MAX_MESSAGE_BYTES,
        "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
        "grpc.primary_user_agent": USER_AGENT,
    }
    return list((ours | dict(extra)).items())


def calls(channel: Any) -> dict[type, Callable[..., Any]]:
    """Give the calls of the contract by the type of what each asks."""
    contract = (browse_log_service_pb2, crawl_service_pb2, inspection_service_pb2)
    return {
        GetMessageClass(method.input_type): channel.unary_unary(
            f"/{service.full_name}/{method.name}",
            request_serializer=GetMessageClass(method.input_type).SerializeToString,
            response_deserializer=GetMessageClass(method.output_type).FromString,
        )
        for module in (*contract, link_scoring_service_pb2, site_model_service_pb2)
        for service in module.DESCRIPTOR.services_by_name.values()
        for method in service.methods
    }


def number_problem(given: Any, least: float, most: float) -> str:
    """Say why an option is no number within its bounds; empty if it is one.

    >>> number_problem(float("nan"), 1, 60)
    'must be a number from 1 to 60, got nan'
    """
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if is_number and least <= given <= most:
        return ""
    return f"must be a number from {least:g} to {most:g}, got {given!r}"


def timeout_problem(given: Any) -> str:
    """Say why seconds are no deadline of a call; empty if they are one."""
    return number_problem(given, 0.001, MAX_TIMEOUT_S)


_NOT_A_HOST = frozenset("/?#@ \t")


def target_problem(target: str) -> str:
    """Say what is wrong with the form of a server's address; empty if nothing is.

    >>> target_problem("localhost:7411"), target_problem("[::1]:7411"), target_problem("dns:///a.org:7411")
    ('', '', '')
    >>> target_problem("http://localhost:7411")
    "must be host:port without a scheme, such as localhost:7411, got 'http://localhost:7411'"
    >>> target_problem("localhost")
    "must be host:port, such as localhost:7411 or [::1]:7411, got 'localhost'"
    """
    scheme, colon, rest = target.partition(":")
    if colon and scheme in ("unix", "unix-abstract", "vsock", "ipv4", "ipv6"):
        return "" if rest else f"must name an address after {scheme}:, got {target!r}"
    if colon and rest.startswith("//") and scheme != "dns":
        return f"must be host:port without a scheme, such as {DEFAULT_TARGET}, got {target!r}"
    address = rest.rpartition("/")[2] if scheme == "dns" else target
    host, _, port = address.rpartition(":")
    host_ok = bool(host) and not _NOT_A_HOST & set(host) and (":" not in host or host[0] + host[-1] == "[]")
    if host_ok and port.isascii() and port.isdigit() and 0 < int(port) < 65_536:
        return ""
    return f"must be host:port, such as {DEFAULT_TARGET} or [::1]:7411, got {target!r}"


def credentials(tls: Tls) -> grpc.ChannelCredentials | None:
    """Give the channel credentials: none, the system's roots, those of a file, or the caller's."""
    if isinstance(tls, grpc.ChannelCredentials):
        return tls
    if not tls:
        return None
    return grpc.ssl_channel_credentials(None if tls is True else Path(tls).read_bytes())


def metadata(
    token: str | None, token_file: str | os.PathLike[str] | None = None
) -> Callable[[], tuple[tuple[str, str], ...]]:
    """Give what says the metadata of a call; a token in a file is read each time, as it may be rotated.

    While the file is missing or empty, the last token is sent.
    """
    if problem := token_problem(token):
        raise ValueError(f"token: {problem}")
    last = token

    def current() -> tuple[tuple[str, str], ...]:
        nonlocal last
        try:
            last = (Path(token_file).read_text(encoding="utf-8-sig").strip() if token_file else token) or last
        except OSError:
            if not last:
                raise
        return (("authorization", f"Bearer {last}"),) if last else ()

    return current


def token_problem(token: str | None) -> str:
    """Say why no call can carry a token, without the token; empty if calls can."""
    good = not token or (token.isascii() and token.isprintable())
    return "" if good else "must be printable ASCII, in one line"


def file_problem(name: str, path: str | os.PathLike[str], token: str | None = None) -> str:
    """Say what is wrong with the file of an option; the error of gRPC would not."""
    if token:
        return "a token and a file of one: only one of them may be set"
    try:
        if name == "tls":
            ssl.create_default_context(cafile=path)
        elif problem := token_problem(Path(path).read_text("utf-8-sig", "replace").strip() or "\0"):
            return f"{str(path)!r} has no token: it {problem}"
    except ssl.SSLError:
        return f"no certificate in {str(path)!r}, must be a PEM file"
    except OSError as error:
        return f"cannot read {str(path)!r} ({error.strerror})"
    return ""


_HANDSHAKE_S = 1.0  # for a handshake with a server that did not answer, to say why: a bound, chosen
_BAD_HANDSHAKE = (
    "handshake failed",
    "Hostname Verification",
    "CERTIFICATE_VERIFY_FAILED",
    "WRONG_VERSION_NUMBER",
)


def tls_problem(error: LinkscoreError, target: str, tls: Tls) -> str:
    """Say whether a server that cannot be reached wants TLS, or another; empty if that is not it."""
    if error.code != grpc.StatusCode.UNAVAILABLE:
        return ""
    if not tls:
        return f"the server at {target} wants TLS" if _speaks_tls(target) else ""
    why = f"TLS with {target} fails, by its authority, its host name, or as it has no TLS: {error}"
    return why if any(sign in why for sign in _BAD_HANDSHAKE) else ""


def _speaks_tls(target: str) -> bool:
    host, _, port = target.rpartition("/")[2].rpartition(":")
    try:  # nothing is sent, nor is the certificate verified: is it TLS at all?
        ssl.get_server_certificate((host.strip("[]"), int(port)), timeout=_HANDSHAKE_S)
    except (OSError, ValueError):
        return False
    return True
