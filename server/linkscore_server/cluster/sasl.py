"""How a connection to a broker says who it is: SASL with a name and a password, see RFC 4616, 5802 and 7677.

librdkafka does so for its own connections only; `eviction` has one beside them.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import struct
from collections.abc import Callable, Generator, Mapping
from typing import Any

Ask = Callable[[int, int, bytes], bytes]
"""Sends a request (key, version, body) and returns the answer to it, see https://kafka.apache.org/protocol."""

_HANDSHAKE, _HANDSHAKE_VERSION = 17, 1
_AUTHENTICATE, _AUTHENTICATE_VERSION = 36, 0
"""Keys and versions of the requests. Brokers since 1.0 know them, 4.x still do."""
_NONCE_BYTES = 18
"""Chance in a message that must not be used twice. Chosen: more than the 128 bits that nobody guesses."""
_MOST_ROUNDS = 1_000_000
"""Rounds of the hash that a broker may ask for. A bound, half a second; brokers ask for 4,096 or 8,192."""


def mechanism_of(properties: Mapping[str, Any]) -> str:
    """Return the mechanism that the properties of a client name, by default as librdkafka."""
    return str(properties.get("sasl.mechanism") or properties.get("sasl.mechanisms") or "GSSAPI").upper()


def is_known(mechanism: str) -> bool:
    """Say whether `authenticate` knows a mechanism: those of a name and a password.

    Examples
    --------
    >>> [is_known(name) for name in ("PLAIN", "SCRAM-SHA-512", "GSSAPI", "OAUTHBEARER")]
    [True, True, False, False]
    """
    return mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


def authenticate(properties: Mapping[str, Any], ask: Ask) -> None:
    """Say who this is, before any other request of a connection.

    Raises
    ------
    ConnectionError
        If the broker does not believe it.
    """
    mechanism = mechanism_of(properties)
    name, password = (str(properties.get(f"sasl.{what}", "")) for what in ("username", "password"))
    [error] = struct.unpack_from(">4xh", ask(_HANDSHAKE, _HANDSHAKE_VERSION, _text(mechanism)))
    if error:
        raise ConnectionError(f"the broker does not take SASL {mechanism}: error {error}")
    said = _plain(name, password) if mechanism == "PLAIN" else scram(mechanism, name, password)
    message = next(said)
    while True:
        body = struct.pack(">i", len(message)) + message
        answer = ask(_AUTHENTICATE, _AUTHENTICATE_VERSION, body)
        error, size = struct.unpack_from(">4xhh", answer)
        if error:
            raise ConnectionError(f"the broker does not know {name} by SASL {mechanism}: error {error}")
        try:
            message = said.send(answer[8 + max(0, size) + 4 :])
        except StopIteration:
            return


def scram(mechanism: str, name: str, password: str, nonce: str = "") -> Generator[bytes, bytes, None]:
    """Yield what to say next; is sent what the broker answers.

    Raises
    ------
    ConnectionError
        If the broker does not prove that it knows the password too.
    """
    digest = mechanism.removeprefix("SCRAM-").replace("-", "").lower()
    nonce = nonce or secrets.token_urlsafe(_NONCE_BYTES)
    first = f"n={name.replace('=', '=3D').replace(',', '=2C')},r={nonce}"
    answer = yield f"n,,{first}".encode()
    try:
        challenge = answer.decode()
        given = dict(part.split("=", 1) for part in challenge.split(","))
        both, salt, rounds = given["r"], base64.b64decode(given["s"]), int(given["i"])
        if not 0 < rounds <= _MOST_ROUNDS:
            raise ValueError(f"{rounds} rounds")
    except (KeyError, ValueError) as exc:
        raise ConnectionError(f"the broker asks {answer[:80]!r}, which is no challenge") from exc
    if not both.startswith(nonce):
        raise ConnectionError("the broker answers somebody else")
    salted = hashlib.pbkdf2_hmac(digest, password.encode(), salt, rounds)
    final = f"c=biws,r={both}"
    signed = f"{first},{challenge},{final}".encode()
    key = hmac.digest(salted, b"Client Key", digest)
    signature = hmac.digest(hashlib.new(digest, key).digest(), signed, digest)
    proof = bytes(a ^ b for a, b in zip(key, signature, strict=True))
    verdict = yield f"{final},p={base64.b64encode(proof).decode()}".encode()
    expected = hmac.digest(hmac.digest(salted, b"Server Key", digest), signed, digest)
    if not hmac.compare_digest(verdict, b"v=" + base64.b64encode(expected)):
        raise ConnectionError("the broker does not know the password")


def _plain(name: str, password: str) -> Generator[bytes, bytes, None]:
    yield f"\0{name}\0{password}".encode()


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text.encode())) + text.encode()
