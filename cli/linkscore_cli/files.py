"""Files that people name on a command line: read up to a bound, and refused by name."""

from __future__ import annotations

import csv
import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import IO

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


SMALL_FILE_BYTES = 1 << 20
"""A bound of files for tokens, settings and certificates: a thousand times what they need."""

LINE_CHARS = 1 << 20
"""A bound of one line of a table: a URL has at most 2,083 characters."""


def text_of(path: Path, *, max_bytes: int = SMALL_FILE_BYTES) -> str:
    """Return the text of a file; of one that is too long no more is read than tells it."""
    try:
        return bytes_of(path, max_bytes=max_bytes).decode("utf-8")
    except UnicodeDecodeError as exc:
        raise ValueError("must be text in UTF-8") from exc


def bytes_of(path: Path, *, max_bytes: int) -> bytes:
    """Return what a file holds; of one that is too long no more is read than tells it."""
    with path.open("rb") as file:
        raw = file.read(max_bytes + 1)
    if len(raw) > max_bytes:
        raise ValueError(f"must have at most {max_bytes:,} bytes")
    return raw


def lines_of(file: IO[str]) -> Iterator[str]:
    """Yield the lines of a table, for `csv`, none longer than `LINE_CHARS`."""
    number = 0
    while line := file.readline(LINE_CHARS + 1):
        number += 1
        if len(line) > LINE_CHARS:
            raise csv.Error(f"line {number} is longer than {LINE_CHARS:,} characters")
        yield line


@contextmanager
def reading(option: str, path: Path) -> Iterator[None]:
    """Turn what is wrong with a file into a message that names option and file."""
    try:
        yield
    except (OSError, ValueError) as exc:
        why = exc.strerror if isinstance(exc, OSError) and exc.strerror else exc
        raise click.BadParameter(f"cannot read {path}: {why}", param_hint=option) from exc
