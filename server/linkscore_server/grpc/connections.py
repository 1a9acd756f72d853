"""Bytes of requests that came and are not whole yet, by connection.

gRPC gives a message when it is whole and says nothing before. What the kernel counts of a connection
(TCP_INFO, Linux) says how much came; what was given of it is known. Of other connections (Unix sockets, other
systems) nothing is known.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from urllib.parse import unquote

_BYTES_RECEIVED = slice(128, 136)
"""Where `struct tcp_info` of Linux, since 4.2, has `tcpi_bytes_received`."""

_OVERHEAD, _FRAME, _FRAME_HEADER = 512, 16_384, 9
"""Bytes beside those of a message: headers of its call, an estimate; frames, as RFC 9113 has them."""

_FDS = "/proc/self/fd"
_SCAN_SHARE = 20
"""Descriptors are searched at most every 20 times as long as that takes, 5 % of the time. Chosen."""


class Connection:
    """A connection that calls come over.

    Parameters
    ----------
    peer
        Its other end, as gRPC has it.

    Attributes
    ----------
    reads
        Messages that are being read.
    large
        Those of them that hold much room.
    waits
        Messages that wait until they may be read.
    answers
        When answers began that the other end has not taken yet, and their bytes, in their order.
    """

    __slots__ = ("_given", "_is_sought", "_seen", "_socket", "answers", "large", "peer", "reads", "waits")

    def __init__(self, peer: str) -> None:
        self.peer = peer
        self.reads = self.large = self.waits = 0
        self.answers: dict[object, tuple[float, int]] = {}
        self._given = self._seen = 0
        self._socket: socket.socket | None = None
        self._is_sought = hasattr(socket, "TCP_INFO") and peer.startswith(("ipv4:", "ipv6:"))

    @property
    def is_sought(self) -> bool:
        """Whether its descriptor is still to be found."""
        return self._is_sought

    @property
    def unsent(self) -> int:
        """Bytes of answers that the other end has not taken yet."""
        return sum(size for _, size in self.answers.values())

    def unread(self) -> int | None:
        """Return the bytes that came and were not given to anybody; None if that is not known."""
        came = self._came()
        if came is None:
            return None
        self._given = min(self._given, came)
        return came - self._given

    def grown(self, unread: int) -> int:
        """Return by how much `unread` has grown since it was asked the last time."""
        before, self._seen = self._seen, unread
        return max(0, unread - before)

    def gave(self, size: int, *, is_last: bool) -> None:
        """Say that a message was given, and whether its call has no other."""
        self._given += size + size // _FRAME * _FRAME_HEADER + _OVERHEAD
        if self.reads:
            return
        if is_last:
            self.gave_up()  # nothing else can be on its way: what is left are headers and pings
        else:
            self.unread()  # no more was given than came

    def gave_up(self) -> None:
        """Say that a message is not waited for any more; what came of it goes with its call."""
        came = self._came()
        if not self.reads and came is not None:  # else what was given counts until it is found
            self._given = came

    def found(self, fd: int) -> None:
        """Say which descriptor it has, None of any."""
        self._is_sought = False
        self._socket = socket.socket(fileno=fd)

    def not_found(self) -> None:
        """Say that it has no descriptor, or not any more."""
        self._is_sought = False
        self.forget()

    def forget(self) -> None:
        """Leave the descriptor to gRPC, whose it is."""
        if self._socket is not None:
            self._socket.detach()
            self._socket = None

    def hang_up(self) -> None:
        """Close the connection; the descriptor stays gRPC's."""
        if self._socket is not None:
            with suppress(OSError):  # it is closed already
                self._socket.shutdown(socket.SHUT_RDWR)

    def _came(self) -> int | None:
        if self._socket is None:
            return None
        try:
            info = self._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _BYTES_RECEIVED.stop)
        except OSError:
            self.forget()
            return None
        return int.from_bytes(info[_BYTES_RECEIVED], sys.byteorder)


class Connections:
    """All connections that calls came over of late."""

    def __init__(self) -> None:
        self._all: dict[str, Connection] = {}
        self._is_seeking = False
        self._next_scan = 0.0

    @property
    def is_seeking(self) -> bool:
        """Whether the descriptors of some are not found yet."""
        return self._is_seeking

    def of(self, peer: str) -> Connection:
        """Return the connection of a call."""
        connection = self._all.get(peer)
        if connection is None:
            connection = self._all[peer] = Connection(peer)
            self._is_seeking = self._is_seeking or connection.is_sought
        return connection

    def seek(self) -> None:
        """Find descriptors of new connections, if it is time again; those that are closed are forgotten."""
        began = time.monotonic()
        if not self._is_seeking or began < self._next_scan:
            return
        self._is_seeking = False
        there = _by_other_end()
        for peer, connection in list(self._all.items()):
            fd = there.get(_end_of(peer)) if peer.startswith("ip") else None
            if connection.is_sought and fd is not None:
                connection.found(fd)
            elif fd is None:
                connection.not_found()
                if not connection.reads:
                    del self._all[peer]
        ended = time.monotonic()
        self._next_scan = ended + _SCAN_SHARE * (ended - began)

    def close(self) -> None:
        """Leave all descriptors to gRPC."""
        for connection in self._all.values():
            connection.forget()
        self._all.clear()


def hang_up(address: str) -> None:
    """Listen at ``host:port`` or ``unix:PATH`` no more; the other ends of all connections see that at once.

    Descriptors stay gRPC's. Nothing happens where they cannot be found.
    """
    is_its = _sockets_of(address)
    # Whoever is cut off connects again within microseconds: nobody listens any more by then, and what was
    # accepted while the listeners were sought is seen by the second look.
    for is_listener in (True, False):
        for peeked in _sockets():
            with suppress(OSError):  # it is closed already
                listens = bool(peeked.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
                if listens == is_listener and is_its(peeked):
                    peeked.shutdown(socket.SHUT_RDWR)


def _sockets_of(address: str) -> Callable[[socket.socket], bool]:
    """Return what tells the sockets of an address from others: by its port alone if the host is a name."""
    if address.startswith("unix:"):
        path = address.removeprefix("unix:")
        return lambda one: bool(one.getsockname() == path)
    host, _, port = address.rpartition(":")
    try:
        own = _plain(host.strip("[]"))
    except ValueError:  # gRPC listens at all addresses of a name, and may know others than are found here
        own = "::"

    def is_its(one: socket.socket) -> bool:
        if one.family not in (socket.AF_INET, socket.AF_INET6):
            return False
        end = one.getsockname()
        return end[1] == int(port) and (ipaddress.ip_address(own).is_unspecified or _plain(end[0]) == own)

    return is_its


def _by_other_end() -> dict[tuple[str, int], int]:
    """Return the descriptors of this process that are sockets with another end, by that end."""
    found = {}
    for peeked in _sockets():
        with suppress(OSError):  # it listens
            end = peeked.getpeername()
            if isinstance(end, tuple):
                found[_plain(end[0]), end[1]] = peeked.fileno()
    return found


def _sockets() -> Iterator[socket.socket]:
    """Yield the sockets of this process; each is left to whoever has it when the next is asked for."""
    try:
        numbers = [int(name) for name in os.listdir(_FDS)]
    except OSError:
        return
    for fd in numbers:
        try:
            peeked = socket.socket(fileno=fd)
        except OSError:  # a file, or closed since
            continue
        try:
            yield peeked
        finally:
            peeked.detach()


def _end_of(peer: str) -> tuple[str, int]:
    """Return address and port of what gRPC calls ``ipv4:ADDRESS:PORT`` or ``ipv6:%5BADDRESS%5D:PORT``."""
    host, _, port = unquote(peer).partition(":")[2].rpartition(":")
    return _plain(host.strip("[]")), int(port)


def _plain(host: str) -> str:
    address = ipaddress.ip_address(host.partition("%")[0])
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)
