"""A TCP relay whose connections can fall silent unclosed, as behind a firewall that forgot them."""

from __future__ import annotations

import contextlib
import socket
import threading

_CHUNK_BYTES = 65_536


class Relay:
    """Passes bytes between whoever connects and a port of this machine.

    Parameters
    ----------
    port
        Where to pass them to.
    """

    def __init__(self, port: int) -> None:
        self._upstream = port
        self._silent: set[socket.socket] = set()
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Relay:
        return self

    def __exit__(self, *exc: object) -> None:
        for each in (self._listener, *self._open):
            # Closing a socket does not wake a thread that reads from it; shutting it down does.
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    @property
    def target(self) -> str:
        """`host:port` to connect to."""
        return f"localhost:{self.port}"

    @property
    def connections(self) -> int:
        """How many connections were made so far."""
        return len(self._open) // 2

    def silence(self) -> None:
        """Pass nothing more on the connections there are; later ones work."""
        self._silent |= set(self._open)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._upstream))
                self._open += (near, far)
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=self._pass, args=(source, sink), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while chunk := source.recv(_CHUNK_BYTES):
                if source not in self._silent:
                    sink.sendall(chunk)
            if source not in self._silent:
                sink.shutdown(socket.SHUT_WR)
