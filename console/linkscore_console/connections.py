"""Connections of the page that do not get on: a request must come whole in time, and so many there may be."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_S = 30.0
"""Seconds in which a request must come and its answer be taken: a form of 12 MB at 3 Mbit/s. A bound."""

MAX_CONNECTIONS = 256
"""Connections at a time: a browser has six. With one more the one that waits longest is closed. A bound."""


class BoundedProtocol(H11Protocol):
    """HTTP that closes a connection over which a request comes for too long, by whatever small steps.

    Attributes
    ----------
    request_s, max_connections
        As above.
    """

    request_s = REQUEST_S
    max_connections = MAX_CONNECTIONS
    _since = 0.0
    _seen: Any = None
    _look: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection; if there are too many, close the one that waits longest for its client."""
        super().connection_made(transport)
        self._since = self.loop.time()
        self._look_later()
        if len(self.connections) > self.max_connections:
            others = [cast("BoundedProtocol", one) for one in self.connections if one is not self]
            waiting = [one for one in others if one.is_waiting] or others
            min(waiting, key=lambda one: one._since).transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Look no more."""
        if self._look is not None:
            self._look.cancel()
        super().connection_lost(exc)

    @property
    def is_waiting(self) -> bool:
        """Whether it is the client's turn: to send a request, or to take the answer."""
        cycle = self.cycle
        return cycle is None or cycle.response_complete or cycle.more_body or self.flow.write_paused

    def _look_later(self) -> None:
        self._look = self.loop.call_later(self.request_s / 10, self._check)

    def _check(self) -> None:
        now = self.loop.time()
        if self.cycle is not self._seen or not self.is_waiting:  # it got on
            self._seen, self._since = self.cycle, now
        if now - self._since > self.request_s:
            self.transport.abort()
        else:
            self._look_later()
