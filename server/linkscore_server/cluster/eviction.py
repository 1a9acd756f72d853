"""A member of a consumer group is given up at once, in place of its session's end.

librdkafka lets a process leave only for itself, so the request goes over a connection of its own.
"""

from __future__ import annotations

import logging
import socket
import ssl
import struct
from collections.abc import Mapping
from functools import partial
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from linkscore_server.cluster.sasl import authenticate, is_known, mechanism_of
from linkscore_server.storage.base import LogAway

_WAIT_S = 5.0  # longest wait for a coordinator, which answers within milliseconds; a bound
_LEAVE_GROUP, _VERSION = 13, 3
"""Key and version of the request. Brokers since 2.4 know the version, 4.x still do."""
_UNKNOWN_MEMBER = 25  # it was given up before, or has left
_log = logging.getLogger(__name__)


def can_evict(properties: Mapping[str, Any]) -> bool:
    """Say whether `evict` reaches brokers as the properties of a client say: not with each kind of SASL."""
    return not _protocol(properties).startswith("sasl") or is_known(mechanism_of(properties))


def evict(properties: Mapping[str, Any], group: str, member: str) -> None:
    """Have the coordinator of a group give up a member, as if it had left; blocks.

    Parameters
    ----------
    properties
        Of a client of the brokers.
    group, member
        Names of the group, and of the member as the coordinator calls it. One that is none is fine.

    Raises
    ------
    LogAway
        If the coordinator does not answer, or refuses.
    """
    try:
        admin = AdminClient(dict(properties), logger=_log)  # no answer comes once it is not referred to
        described = admin.describe_consumer_groups([group], request_timeout=_WAIT_S)
        at = described[group].result(_WAIT_S).coordinator
        with _connected(properties, at.host, at.port) as connection:
            ask = partial(_ask, connection)
            if _protocol(properties).startswith("sasl"):
                authenticate(properties, ask)
            error = error_in(ask(_LEAVE_GROUP, _VERSION, body_of(group, member)))
    except (OSError, KafkaException, struct.error) as exc:
        raise LogAway(f"member {member} of {group} cannot be given up: {exc!r}") from exc
    if error not in (0, _UNKNOWN_MEMBER):
        raise LogAway(f"member {member} of {group} is not given up: error {error} of the coordinator")


def body_of(group: str, member: str) -> bytes:
    """Return what takes a member out of a group, see https://kafka.apache.org/protocol.

    Examples
    --------
    >>> body_of("g", "m").hex()
    '0001670000000100016dffff'
    """
    return _text(group) + struct.pack(">i", 1) + _text(member) + struct.pack(">h", -1)


def error_in(answer: bytes) -> int:
    """Return the error in an answer, 0 if there is none: of the group, else of the member."""
    of_group, members, size = struct.unpack_from(">8xhih", answer)
    if of_group or not members:
        return int(of_group)
    [instance] = struct.unpack_from(">h", answer, 16 + size)
    return int(struct.unpack_from(">h", answer, 18 + size + max(0, instance))[0])


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text.encode())) + text.encode()


def _protocol(properties: Mapping[str, Any]) -> str:
    return str(properties.get("security.protocol", "plaintext")).lower()


def _connected(properties: Mapping[str, Any], host: str, port: int) -> socket.socket:
    connection = socket.create_connection((host, port), _WAIT_S)
    if not _protocol(properties).endswith("ssl"):
        return connection
    context = ssl.create_default_context(cafile=properties.get("ssl.ca.location"))
    if certificate := properties.get("ssl.certificate.location"):
        context.load_cert_chain(
            certificate, properties.get("ssl.key.location"), properties.get("ssl.key.password")
        )
    context.check_hostname = properties.get("ssl.endpoint.identification.algorithm") != "none"
    return context.wrap_socket(connection, server_hostname=host)


def _ask(connection: socket.socket, key: int, version: int, body: bytes) -> bytes:
    """Send a request; returns the answer to it."""
    request = struct.pack(">hhi", key, version, 0) + _text("linkscore") + body
    connection.sendall(struct.pack(">i", len(request)) + request)
    [size] = struct.unpack(">i", _read(connection, 4))
    return _read(connection, size)


def _read(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        piece = connection.recv(size - len(found))
        if not piece:
            raise ConnectionError("the broker closed the connection")
        found += piece
    return found
