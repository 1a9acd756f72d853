"""How a view becomes a page: the template it fills, the way back after a form.

Whoever reaches the console can ask what its token may ask, so it listens on loopback unless told otherwise.
A page elsewhere can make a browser send it a form (CSRF) or, by a name that points here, read its answers
(DNS rebinding): the token of each form stops the first, the list of hosts the second.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast
from urllib.parse import parse_qs

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from linkscore import AsyncClient
from linkscore.errors import DeadlineExceeded, InternalError, ResourceExhausted, Unavailable
from linkscore_cli.files import is_loopback
from linkscore_console import words

AWAY = (Unavailable, DeadlineExceeded, InternalError, ResourceExhausted)
"""Errors that say something of the server, not of the question."""


MAX_FORM_BYTES = 200_000
"""A bound of forms: a URL and what it is."""
_MAX_FIELDS = 100
"""A bound: fields of a form; the biggest has 8."""

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
"""Nothing but the console's own files, nothing inline, nothing made of text."""

_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    # Others are told nothing; with `no-referrer` a browser would send our own forms with the origin "null".
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Guard:
    """Adds the headers to every answer, and refuses requests to a host that is not the console's."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str] = frozenset()) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        host = host_of(dict(scope["headers"]).get(b"host", b"").decode("latin-1"))
        if is_loopback(host) or host in self._hosts:
            await self._app(scope, receive, send_guarded)
            return
        refused = PlainTextResponse(
            "This console does not answer to that host name; see --allow-host.\n", 421
        )
        await refused(scope, receive, send_guarded)


def host_of(authority: str) -> str:
    """Return the host of a `Host` header or an address, without port and brackets."""
    if authority.startswith("["):
        return authority[1:].partition("]")[0].lower()
    return authority.partition(":")[0].lower()


VIEWS = (
    ("map", "Site map"),
    ("harvest", "Harvest"),
    ("teach", "Teach"),
)
"""Views of a site: last part of the address, and name."""


@dataclass(slots=True)
class Console:
    """What all views share."""

    client: AsyncClient  # of the server
    target: str  # where that is
    writable: bool  # whether forms that change something are shown and taken
    templates: Environment  # jinja templates; everything is escaped
    token: str = field(default_factory=partial(secrets.token_urlsafe, 32))  # of its forms: none else reads it

    def render(self, request: Request, template: str, /, *, status: int = 200, **context: Any) -> Response:
        text = self.templates.get_template(template).render(
            console=self,
            path=request.url.path,
            views=VIEWS,
            words=words,
            **context,
        )
        return HTMLResponse(text, status_code=status)

    async def form_of(self, request: Request) -> Mapping[str, str]:
        """Return the fields of a form that changes something and that one of our pages sent."""
        if not self.writable:
            raise HTTPException(403, "This console only reads; start it with --write to change something.")
        origin = request.headers.get("origin")
        if origin is not None and origin != f"{request.url.scheme}://{request.headers.get('host', '')}":
            raise HTTPException(403, "The form was sent by a page of another site.")
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_FORM_BYTES:
                raise HTTPException(413, f"The form is over {MAX_FORM_BYTES:,} bytes.")
        try:
            fields = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=_MAX_FIELDS)
        except ValueError as error:
            raise HTTPException(400, "The form cannot be read.") from error
        form = {name: values[-1] for name, values in fields.items()}
        if not hmac.compare_digest(form.get("token", "").encode(), self.token.encode()):
            raise HTTPException(403, "The form is not of this console, or it was restarted: reload the page.")
        return form


def environment() -> Environment:
    """Return the templates: everything escaped, an unknown name is an error."""
    made = Environment(
        loader=PackageLoader("linkscore_console"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(words.FILTERS)
    return made


def console_of(request: Request) -> Console:
    """Return what all views share."""
    return cast("Console", request.app.state.console)


Found = dict[str, Any]
_Find = Callable[..., Awaitable[Found]]


def view(template: str) -> Callable[[_Find], Callable[[Request], Awaitable[Response]]]:
    """Make a page of what gives its context, called with console, request, and crawl and site by name.

    A `status` among it is that of the answer.
    """

    def of(find: _Find) -> Callable[[Request], Awaitable[Response]]:
        async def shown(request: Request) -> Response:
            console, place = console_of(request), dict(request.path_params)
            return console.render(request, template, **(place | await find(console, request, **place)))

        return shown

    return of
