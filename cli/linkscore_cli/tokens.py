"""`linkscore token`: makes the tokens that a server's token file names. Asks no server."""

from __future__ import annotations

import hashlib
import re
import secrets

import click

_TOKEN_BYTES = 32
"""256 random bits: nobody finds one by trying, which is why the file may keep a plain SHA-256 of it."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,62}")
_CRAWLS = re.compile(r"[a-z0-9_*-]{1,64}(,[a-z0-9_*-]{1,64})*")


@click.group()
def token() -> None:
    """Tokens of a server: new."""


@token.command()
@click.option("--name", required=True, help="Who gets it; stands in the server's log.")
@click.option(
    "--role",
    type=click.Choice(["read", "write", "admin"]),
    required=True,
    help="read: ask; write: also send pages and feedback, make crawls; admin: also delete crawls.",
)
@click.option(
    "--crawls",
    default="*",
    show_default=True,
    metavar="PATTERNS",
    help="Crawls it is good for, with commas between; * stands for any text, as in news-*.",
)
def new(name: str, role: str, crawls: str) -> None:
    """Make a token: prints it, once, and the line for the token file.

    The token goes to the error output, the line to the output: `linkscore token new ... >> tokens`.
    """
    if not _NAME.fullmatch(name):
        raise click.BadParameter("must be letters, digits and ._@-, at most 63", param_hint="--name")
    if not _CRAWLS.fullmatch(crawls):
        raise click.BadParameter("must be of a-z, 0-9, _, - and *, commas between", param_hint="--crawls")
    made = secrets.token_urlsafe(_TOKEN_BYTES)
    click.echo(f"token, not shown again: {made}", err=True)
    click.echo(f"{name} {role} {crawls} sha256:{hashlib.sha256(made.encode()).hexdigest()}")
