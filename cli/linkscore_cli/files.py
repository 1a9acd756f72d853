"""Files and addresses that people name on a command line, refused by name."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path

import click

_REMEDIES = {
    errno.EADDRINUSE: ("another program listens there: stop it, or choose another address",),
    errno.EADDRNOTAVAIL: ("this machine has no such address: write 127.0.0.1, or 0.0.0.0 for all",),
    errno.EACCES: ("ports below 1024 are for root: choose another one",),
}


class CannotListen(OSError):
    """An address that a server cannot listen at; names the setting, the reason and the remedy."""

    def __init__(self, setting: str, address: str, why: str, remedy: str = "choose another address") -> None:
        super().__init__(f"{setting}: {address}: {why}; {remedy} (--{setting.replace('_', '-')})")
        self.rule = f"{why}; {remedy}"


_NOT_A_HOST = set("/?#@ ")


def is_address(text: str) -> bool:
    """Say whether a text has the form ``host:port``."""
    host, _, port = text.rpartition(":")
    return bool(host) and not _NOT_A_HOST & set(host) and port.isdecimal() and int(port) <= 65_535


def is_loopback(host: str) -> bool:
    """Say whether a host can only be this machine."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def bound(setting: str, address: str, *, is_shared: bool = False) -> socket.socket:
    """Return a socket that has an address ``host:port``; other processes may listen at a shared one."""
    host, _, port = address.rpartition(":")
    try:
        family, kind, proto, _, end = socket.getaddrinfo(
            host.strip("[]"), int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as exc:
        raise CannotListen(setting, address, str(exc.strerror)) from None
    made = socket.socket(family, kind, proto)
    try:
        option = socket.SO_REUSEPORT if is_shared else socket.SO_REUSEADDR
        made.setsockopt(socket.SOL_SOCKET, option, 1)
        made.bind(end)
        if not is_shared:
            made.listen()  # else one that listens there already goes unnoticed
    except OSError as exc:
        made.close()
        number = exc.errno or 0
        raise CannotListen(setting, address, os.strerror(number), *_REMEDIES.get(number, ())) from None
    return made


def check_free(setting: str, address: str) -> None:
    """See whether a server can listen at an address."""
    if address and not address.startswith("unix:"):
        bound(setting, address).close()


def text_of(path: Path) -> str:
    """Return the text of a file; ValueError if it is none."""
    try:
        return path.read_text("utf-8-sig")  # Windows editors begin a file with a mark
    except UnicodeDecodeError as exc:
        raise ValueError("must be text in UTF-8") from exc


@contextmanager
def reading(option: str, path: Path) -> Iterator[None]:
    """Turn what is wrong with a file into a message that names option and file."""
    try:
        yield
    except (OSError, ValueError) as exc:
        why = exc.strerror if isinstance(exc, OSError) and exc.strerror else exc
        raise click.BadParameter(f"cannot read {path}: {why}", param_hint=option) from exc
