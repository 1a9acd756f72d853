"""The port of JSON as an annex of the server: off unless the setting `json_listen` says where."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkscore_server import tasks
from linkscore_server.addresses import bound
from linkscore_server.json_port.settings import JsonPortSettings
from linkscore_server.services import Host, Services
from linkscore_server.tls_files import tls_problems

if TYPE_CHECKING:
    from linkscore_server.json_port.http import HttpPort

_LOOK_S = 10.0
"""Seconds between two looks at the files of the certificate. Chosen, not measured."""

OPENAPI = Path(__file__).with_name("openapi.json")
"""The description of the calls."""

_log = logging.getLogger(__name__)


class JsonPort(Services):
    """Answers the calls of the contract as JSON over HTTP.

    Attributes
    ----------
    port
        Where it listens, 0 while it does not.
    """

    def __init__(self, host: Host) -> None:
        self._settings = JsonPortSettings.of(host.settings)
        self._http: HttpPort | None = None
        self._beside: set[asyncio.Task[Any]] = set()
        self.port = 0

    async def listen(self, servicers: Mapping[str, Any], calls: Any, *, shares_port: bool) -> None:
        """Open the port, if there shall be one.

        Raises
        ------
        CannotListen
            If it cannot be had.
        """
        s = self._settings
        if not s.json_listen:
            return
        # A server without such a port does not load what it takes.
        from linkscore_server.app import unprotected
        from linkscore_server.json_port.calls import JsonCalls
        from linkscore_server.json_port.http import HttpPort

        for lack in unprotected(replace(s, listen=s.json_listen)):
            _log.warning("%s is reached from other machines without %s", s.json_listen, lack)
        answers = JsonCalls(servicers, calls, openapi=OPENAPI.read_bytes(), max_bytes=s.max_message_bytes)
        self._http = HttpPort(answers.answer)
        there = bound("json_listen", s.json_listen, is_shared=shares_port)
        self.port = there.getsockname()[1]
        await self._http.listen(there, self._tls())
        _log.info("JSON on %s:%d", s.json_listen.rpartition(":")[0], self.port)

    async def leave(self, within_s: float) -> None:
        """See `Services.leave`."""
        if self._http is not None:
            await self._http.leave(within_s)

    async def close(self) -> None:
        """Follow the certificate no more."""
        for task in self._beside:
            task.cancel()

    def _tls(self) -> ssl.SSLContext | None:
        s = self._settings
        if not s.tls_cert:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(s.tls_cert, s.tls_key, password="")
        if s.tls_client_ca:
            context.load_verify_locations(s.tls_client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
        tasks.for_ever(
            lambda: self._follow(context), "looking at certificates", self._beside, again_s=_LOOK_S
        )
        return context

    async def _follow(self, context: ssl.SSLContext) -> None:
        """Take the certificate of now for new connections; one that cannot be used changes nothing."""
        s = self._settings
        if not tls_problems(s.tls_cert, s.tls_key, s.tls_client_ca):
            context.load_cert_chain(s.tls_cert, s.tls_key, password="")
