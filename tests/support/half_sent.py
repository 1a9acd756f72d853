"""Calls that are begun and not ended: HTTP/2 frames made by hand, over plain sockets."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator

_DATA, _HEADERS, _SETTINGS, _PING, _WINDOW_UPDATE = 0, 1, 4, 6, 8
_END_HEADERS = 4
_ACKED = 1
_WINDOW = 65_535  # of HTTP/2, as long as nobody says otherwise
_FRAME = 16_384


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def _field(name: str, value: str) -> bytes:
    """Return a header field as HPACK has it without tables: literal, never compressed."""
    text = b"\x00"
    for part in (name.encode(), value.encode()):
        assert len(part) < 127, "lengths of one byte only"
        text += bytes([len(part)]) + part
    return text


class HalfCaller:
    """A connection that begins gRPC calls and sends as much of their messages as it is told to.

    Parameters
    ----------
    target
        ``host:port`` of a server without TLS.
    """

    def __init__(self, target: str) -> None:
        host, _, port = target.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=60)
        self._socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _frame(_SETTINGS, 0, 0, b""))
        self._came = b""
        self._next = 1
        self._windows: dict[int, int] = {0: _WINDOW}

    def begin(self, method: str, token: str = "") -> int:
        """Begin a call with its headers; return the number of its stream.

        Parameters
        ----------
        method
            ``Service/Method`` of linkscore, or the whole path of another.
        token
            To call with.
        """
        path = method if method.startswith("/") else f"/linkscore.v1.{method}"
        stream, self._next = self._next, self._next + 2
        fields = {":method": "POST", ":scheme": "http", ":path": path}
        fields |= {":authority": "x", "content-type": "application/grpc", "te": "trailers"}
        fields |= {"authorization": f"Bearer {token}"} if token else {}
        block = b"".join(_field(name, value) for name, value in fields.items())
        self._windows[stream] = _WINDOW
        self._socket.sendall(_frame(_HEADERS, _END_HEADERS, stream, block))
        return stream

    def send(self, stream: int, announced: int, sent: int, byte: bytes = b"\n") -> int:
        """Announce a message of some bytes and send the first of them, as far as the server takes them.

        Returns how many were sent: fewer if it gave no more room within a second, or closed the connection.
        """
        return self._send(stream, struct.pack(">BI", 0, announced) + byte * sent)

    def call(self, method: str, message: bytes) -> None:
        """Make a whole call and take no more of its answer than comes while the message is sent.

        Raises
        ------
        OSError
            If the server closed the connection.
        """
        framed = struct.pack(">BI", 0, len(message)) + message
        if self._send(self.begin(method), framed) < len(framed):
            raise ConnectionError("the message is not taken")

    def _send(self, stream: int, left: bytes) -> int:
        """Send bytes as far as the server takes them; returns how many."""
        done = 0
        self._socket.settimeout(1.0)
        while left:
            size = min(len(left), self._windows[0], self._windows[stream], _FRAME)
            try:
                if size > 0:
                    self._socket.sendall(_frame(_DATA, 0, stream, left[:size]))
                    left, done = left[size:], done + size
                    self._windows[0] -= size
                    self._windows[stream] -= size
                else:
                    self._hear()
            except OSError:
                break
        return done

    def _hear(self) -> None:
        """Take what the server sent: room it gives, and pings, which are answered."""
        got = self._socket.recv(65_536)
        if not got:
            raise ConnectionError("closed")
        self._came += got
        while len(self._came) >= 9 and len(self._came) >= (end := 9 + int.from_bytes(self._came[:3], "big")):
            kind, flags, stream = struct.unpack(">BBI", self._came[3:9])
            payload, self._came = self._came[9:end], self._came[end:]
            if kind == _WINDOW_UPDATE and stream in self._windows:
                self._windows[stream] += struct.unpack(">I", payload)[0]
            elif kind in (_SETTINGS, _PING) and not flags & _ACKED:
                self._socket.sendall(_frame(kind, _ACKED, 0, payload if kind == _PING else b""))

    def close(self) -> None:
        """Close the connection without a word."""
        self._socket.close()


@contextlib.contextmanager
def half_sent(
    target: str, calls: int, method: str, *, announced: int = 60_000_000, sent: int = 0, token: str = ""
) -> Iterator[list[HalfCaller]]:
    """Hold calls that are begun over a connection each, for as long as the context lasts."""
    callers = [HalfCaller(target) for _ in range(calls)]
    try:
        for caller in callers:
            caller.send(caller.begin(method, token), announced, sent)
        yield callers
    finally:
        for caller in callers:
            caller.close()
