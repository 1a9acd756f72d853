"""The web application: addresses, errors in words, and the connection that lives as long as it does."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from linkscore import AsyncClient
from linkscore.errors import LinkscoreError, NotFound
from linkscore_console import views
from linkscore_console.page import AWAY, Console, Guard, console_of, environment

_STATIC = Path(__file__).parent / "static"


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    """How the console reaches its server, and who may reach the console."""

    target: str  # `host:port` of the server
    token: str | None = None  # bearer token of the server; None for none
    tls_ca: os.PathLike[str] | None = None  # PEM file of the authority to trust; None for no TLS
    writable: bool = False  # whether crawls may be taught, and sites learned
    hosts: frozenset[str] = frozenset()  # host names the console answers to beside those of loopback
    timeout_s: float = 10.0  # deadline of each call, seconds


_SITE = "/crawls/{crawl}/sites/{site}"
_ROUTES = [
    Route("/", views.every, name="crawls"),
    Route("/crawls/{crawl}", views.one),
    Route(f"{_SITE}/map", views.site_map),
    Route(f"{_SITE}/map/{{template}}", views.template),
    Route(f"{_SITE}/learn", views.learn, methods=["POST"]),
    Route(f"{_SITE}/harvest", views.harvest),
    Route(f"{_SITE}/teach", views.teach),
    Route(f"{_SITE}/teach/answer", views.answer, methods=["POST"]),
    Route(f"{_SITE}/teach/example", views.example, methods=["POST"]),
    Route("/health", lambda request: PlainTextResponse("ok\n")),
    Mount("/static", StaticFiles(directory=_STATIC), name="static"),
]


def console_app(settings: ConsoleSettings) -> ASGIApp:
    """Return the console as an ASGI application; its connection opens and closes with it."""

    @asynccontextmanager
    async def connected(app: Starlette) -> AsyncIterator[None]:
        async with AsyncClient(
            settings.target,
            tls=settings.tls_ca or False,
            token=settings.token,
            timeout_s=settings.timeout_s,
        ) as client:
            made = Console(client, settings.target, settings.writable, environment())
            app.state.console = made
            yield

    app = Starlette(
        routes=_ROUTES,
        lifespan=connected,
        exception_handlers={LinkscoreError: _refused, HTTPException: _not_served},
    )
    return Guard(app, settings.hosts)


async def _refused(request: Request, error: Exception) -> Response:
    """Say in words that the server is away, or why it refused."""
    console = console_of(request)
    assert isinstance(error, LinkscoreError)
    if isinstance(error, AWAY):
        return console.render(request, "away.html", status=503, why=f"{error.code.name}: {error}")
    lines = [f"{v.field}: {v.description}" for v in error.field_violations] or [str(error)]
    status = 404 if isinstance(error, NotFound) else 400
    return console.render(request, "refused.html", status=status, code=error.code.name, lines=lines)


async def _not_served(request: Request, error: Exception) -> Response:
    """Say why the console itself does not answer."""
    assert isinstance(error, HTTPException)
    lines = [error.detail]
    return console_of(request).render(
        request, "refused.html", status=error.status_code, code=str(error.status_code), lines=lines
    )
