"""The web application: addresses, errors in words, and the connection that lives as long as it does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

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


def console_app(
    target: str, *, writable: bool = False, hosts: frozenset[str] = frozenset(), **options: Any
) -> ASGIApp:
    """Return the console as an ASGI application; its connection opens and closes with it.

    `writable`: whether crawls may be taught, and sites learned. `hosts` are names that the console answers to
    beside those of loopback, `options` those of `AsyncClient`.
    """

    @asynccontextmanager
    async def connected(app: Starlette) -> AsyncIterator[None]:
        async with AsyncClient(target, **options) as client:
            app.state.console = Console(client, target, writable, environment())
            yield

    app = Starlette(
        routes=_ROUTES,
        lifespan=connected,
        exception_handlers={LinkscoreError: _refused, HTTPException: _not_served},
    )
    return Guard(app, hosts)


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
