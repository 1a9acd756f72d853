"""What keeps the page from harm: headers, hosts it answers to, and forms that only its own pages can send.

Whoever reaches the console can ask what its token may ask, so it listens on loopback unless told otherwise.
A page elsewhere can make a browser send it a form (CSRF) or, by a name that points here, read its answers
(DNS rebinding): the token of each form stops the first, the list of hosts the second.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import parse_qs

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_FORM_BYTES = 200_000
"""A bound of most forms: some queries and settings."""
MAX_EXAMPLE_BYTES = 12_000_000
"""A bound of forms with an example page: one of 10 MB, the most the server takes, with what a form adds."""
_LARGE_AT_A_TIME = 2
"""Forms with an example page that are read at a time: each takes five times its bytes. A bound."""
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
        body = b"This console does not answer to that host name; see --allow-host.\n"
        head = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(body))]
        await send_guarded({"type": "http.response.start", "status": 421, "headers": head})
        await send_guarded({"type": "http.response.body", "body": body})


def host_of(authority: str) -> str:
    """Return the host of a `Host` header or an address, without port and brackets.

    Examples
    --------
    >>> host_of("[::1]:8000"), host_of("Console.Internal:80"), host_of("127.0.0.1")
    ('::1', 'console.internal', '127.0.0.1')
    """
    if authority.startswith("["):
        return authority[1:].partition("]")[0].lower()
    return authority.partition(":")[0].lower()


def is_loopback(host: str) -> bool:
    """Say whether a host can only be this machine."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class FormToken:
    """The token that the forms of one process carry; another origin cannot read it."""

    def __init__(self) -> None:
        self.value = secrets.token_urlsafe(32)
        self._large = asyncio.Semaphore(_LARGE_AT_A_TIME)

    async def form_of(self, request: Request, most: int = MAX_FORM_BYTES) -> Mapping[str, str]:
        """Return the fields of a form that one of our pages sent, the last of each name.

        Nothing is read of one that says it is larger than `most`.
        """
        origin = request.headers.get("origin")
        if origin is not None and origin != f"{request.url.scheme}://{request.headers.get('host', '')}":
            raise HTTPException(403, "The form was sent by a page of another site.")
        said = request.headers.get("content-length", "")
        if said.isdecimal() and int(said[:20]) > most:
            raise HTTPException(413, f"The form is over {most:,} bytes.")
        if most <= MAX_FORM_BYTES:
            return await self._read(request, most)
        async with self._large:
            return await self._read(request, most)

    async def _read(self, request: Request, most: int) -> Mapping[str, str]:
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > most:
                raise HTTPException(413, f"The form is over {most:,} bytes.")
        try:
            fields = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=_MAX_FIELDS)
        except ValueError as error:
            raise HTTPException(400, "The form cannot be read.") from error
        form = {name: values[-1] for name, values in fields.items()}
        if not hmac.compare_digest(form.get("token", "").encode(), self.value.encode()):
            raise HTTPException(403, "The form is not of this console, or it was restarted: reload the page.")
        return form
