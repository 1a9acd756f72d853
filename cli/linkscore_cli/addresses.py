"""Addresses to listen at, tried before a server is made: one that cannot be had is said in a plain line."""

from __future__ import annotations

import errno
import os
import socket

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
