"""How a command reaches a server, and which crawl it is about: the options all of them share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from linkscore import Client
from linkscore._channel import file_problem, target_problem, token_problem
from linkscore_cli.errors import calling
from linkscore_cli.files import reading, text_of

DEFAULT_TARGET = "127.0.0.1:7411"
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_Command = Callable[..., Any]
_TYPED = click.core.ParameterSource.COMMANDLINE


@dataclass(frozen=True, slots=True)
class Connection:
    """A server, `tls_ca` None for no TLS, and the crawl a command is about, empty if none is named."""

    target: str = DEFAULT_TARGET
    token: str | None = None
    tls_ca: Path | None = None
    crawl_option: str = ""

    @property
    def crawl(self) -> str:
        """Id of the crawl; UsageError if none is named."""
        if not self.crawl_option:
            raise click.UsageError("Missing option '--crawl' (or LINKSCORE_CRAWL).")
        return self.crawl_option

    @contextmanager
    def client(self, *, timeout_s: float = 10.0) -> Iterator[Client]:
        """Give a client with a deadline for calls; what they raise ends the command with a message."""
        made = Client(self.target, tls=self.tls_ca or False, token=self.token, timeout_s=timeout_s)
        with calling(self.target, tls=self.tls_ca is not None), made as client:
            yield client


def _connected(command: _Command, crawl: Any) -> _Command:
    @wraps(command)
    def connected(
        *,
        target: str,
        token: str | None,
        token_file: Path | None,
        tls_ca: Path | None,
        crawl: str,
        **rest: Any,
    ) -> Any:
        for option, problem in (
            ("--target", target_problem(target)),
            ("--token", token_problem(token)),
            ("--tls-ca", file_problem("tls", tls_ca) if tls_ca else ""),
        ):
            if problem:
                raise click.BadParameter(problem, param_hint=option)
        connection = Connection(target, _token(token, token_file), tls_ca, crawl)
        return command(connection=connection, **rest)

    made: _Command = connected
    for option in (*reversed(_OPTIONS), crawl):
        made = option(made)
    return made


def online(command: _Command) -> _Command:
    """Give a command the options of a server and its crawl; they arrive as one `connection`."""
    option = click.option(
        "--crawl", envvar="LINKSCORE_CRAWL", default="", show_envvar=True, help="Id of the crawl."
    )
    return _connected(command, option)


def of_crawl(command: _Command) -> _Command:
    """Give a command the options of a server, and the crawl it is about as NAME."""
    return _connected(command, click.argument("crawl", metavar="NAME", envvar="LINKSCORE_CRAWL"))


_OPTIONS = (
    click.option(
        "--target",
        envvar="LINKSCORE_TARGET",
        default=DEFAULT_TARGET,
        show_default=True,
        show_envvar=True,
        help="host:port of the server.",
    ),
    click.option("--token", envvar="LINKSCORE_TOKEN", show_envvar=True, help="Bearer token of the server."),
    click.option(
        "--token-file",
        type=_FILE,
        envvar="LINKSCORE_TOKEN_FILE",
        show_envvar=True,
        help="File whose first line is the token; other users do not see it.",
    ),
    click.option(
        "--tls-ca",
        type=_FILE,
        envvar="LINKSCORE_TLS_CA",
        show_envvar=True,
        help="PEM file of the authority that signed the server's certificate; switches TLS on.",
    ),
)


def _token(token: str | None, file: Path | None) -> str | None:
    """Return the token: one that is typed, else that of the file, else that of the variable."""
    source = click.get_current_context().get_parameter_source
    if source("token") is source("token_file") is _TYPED:
        raise click.UsageError("--token and --token-file cannot both be given.")
    if file is None or source("token") is _TYPED:
        return token
    with reading("--token-file", file):
        first = text_of(file).partition("\n")[0].strip()
        if len(first.split()) != 1:
            raise ValueError("must have the token, and nothing else, in its first line")
    return first
