"""`linkscore console`: serve the web page."""

from __future__ import annotations

import socket
import sys
from typing import Any

import click

from linkscore_cli.connection import Connection, online
from linkscore_cli.files import bound, is_address, is_loopback
from linkscore_console.page import host_of

_REQUESTS = 64
"""Requests and connections at a time, one more is refused: a browser has six. A bound."""


@click.command()
@online
@click.option(
    "--listen",
    default="127.0.0.1:7480",
    show_default=True,
    help="host:port of the page; port 0 takes any that is free.",
)
@click.option("--write", "writable", is_flag=True, help="Let the page teach crawls and learn sites.")
@click.option(
    "--allow-host",
    "hosts",
    multiple=True,
    help="Host name the page may be asked for by, beside those of this machine; repeatable.",
)
def console(connection: Connection, listen: str, writable: bool, hosts: tuple[str, ...]) -> None:
    """Show crawls in a web page: status, site map, harvest, teaching.

    The page asks for no password: whoever reaches it may do what its token may do. It listens on this
    machine only; put a proxy that knows its users before it to open it to others.
    """
    import uvicorn

    from linkscore_console.app import console_app

    there = listening(listen, writable=writable)
    click.echo(f"console of {connection.target}: {address_of(there)}", err=True)
    config = uvicorn.Config(
        console_app(
            connection.target,
            writable=writable,
            hosts=frozenset(host.lower() for host in hosts),
            tls=connection.tls_ca or False,
            token=connection.token,
        ),
        http="h11",
        limit_concurrency=_REQUESTS,
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
    )
    uvicorn.Server(config).run(sockets=[there])
    sys.stderr.flush()


def listening(listen: str, *, writable: bool) -> socket.socket:
    """Return a socket that is bound to an address."""
    if not is_address(listen):
        raise click.BadParameter(f"must be host:port, got {listen!r}", param_hint="--listen")
    if writable and not is_loopback(host_of(f"[{listen.rpartition(':')[0].strip('[]')}]")):
        raise click.UsageError(
            "--write listens on this machine only: whoever reaches the page could change crawls. "
            "Listen on 127.0.0.1 and put a proxy that knows its users before it."
        )
    return bound("listen", listen)  # who reads the address may ask at once


def address_of(there: socket.socket) -> str:
    name: Any = there.getsockname()
    host = f"[{name[0]}]" if ":" in name[0] else name[0]
    return f"http://{host}:{name[1]}/"
