"""A connection says who it is as the standards have it, and believes no broker that does not know it."""

from __future__ import annotations

import struct

import pytest

from linkscore_server.cluster.sasl import authenticate, scram

NAME, PASSWORD = "user", "pencil"


def test_scram_says_what_the_example_of_the_standard_says() -> None:
    # RFC 7677, section 3
    said = scram("SCRAM-SHA-256", NAME, PASSWORD, "rOprNGfwEbeRWgbNEkqO")
    assert next(said) == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    nonce = b"rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    assert said.send(b"r=" + nonce + b",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096") == (
        b"c=biws,r=" + nonce + b",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    with pytest.raises(StopIteration):
        said.send(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


def test_a_broker_that_does_not_know_the_password_is_not_believed() -> None:
    said = scram("SCRAM-SHA-512", NAME, PASSWORD, "ours")
    next(said)
    said.send(b"r=ours-and-theirs,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")
    with pytest.raises(ConnectionError, match="does not know the password"):
        said.send(b"v=AAAA")
    said = scram("SCRAM-SHA-512", NAME, PASSWORD, "ours")
    next(said)
    with pytest.raises(ConnectionError, match="somebody else"):
        said.send(b"r=theirs,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")


class PlayedBroker:
    """Answers the two requests of SASL, each with an error or none."""

    def __init__(self, of_handshake: int = 0, of_authenticate: int = 0) -> None:
        self._errors = {17: of_handshake, 36: of_authenticate}
        self.heard: list[tuple[int, int, bytes]] = []

    def ask(self, key: int, version: int, body: bytes) -> bytes:
        self.heard.append((key, version, body))
        return struct.pack(">ihhi", 0, self._errors[key], -1, 0)


PROPERTIES = {"sasl.mechanism": "PLAIN", "sasl.username": NAME, "sasl.password": PASSWORD}


def test_plain_says_name_and_password_once() -> None:
    broker = PlayedBroker()
    authenticate(PROPERTIES, broker.ask)
    assert broker.heard == [(17, 1, b"\0\x05PLAIN"), (36, 0, b"\0\0\0\x0c\0user\0pencil")]


@pytest.mark.parametrize(
    ("errors", "said"), [((33, 0), "does not take SASL PLAIN"), ((0, 58), "does not know user")]
)
def test_who_is_refused_says_so_without_the_password(errors: tuple[int, int], said: str) -> None:
    with pytest.raises(ConnectionError, match=said) as refused:
        authenticate(PROPERTIES, PlayedBroker(*errors).ask)
    assert PASSWORD not in str(refused.value)


@pytest.mark.parametrize(
    "asked",
    [
        b"",
        b"r=ours",
        b"\xff",
        b"r=ours-,s=AAAA,i=many",
        b"r=ours-,s=AAAA,i=0",
        b"r=ours-,s=AAAA,i=2147483647",
        b"e=other-error",
    ],
)
def test_what_is_no_challenge_is_said_to_be_none(asked: bytes) -> None:
    said = scram("SCRAM-SHA-256", NAME, PASSWORD, "ours")
    next(said)
    with pytest.raises(ConnectionError, match="no challenge"):
        said.send(asked)
