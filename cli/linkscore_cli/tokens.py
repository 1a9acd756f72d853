"""`linkscore token`: makes the tokens that a server's token file names. Asks no server."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import sys
from pathlib import Path

import click

_TOKEN_BYTES = 32
"""256 random bits: nobody finds one by trying, which is why the file may keep a plain SHA-256 of it."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,62}")
_CRAWLS = re.compile(r"[a-z0-9_*-]{1,64}(,[a-z0-9_*-]{1,64})*")


@click.command()
@click.option("--name", required=True, help="Name of its holder, for the server's log.")
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
    help="Crawls it is valid for, separated by commas; * is any text, as in news-*.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="New file for the token alone, which only you may read: for token_file of a client.",
)
def token(name: str, role: str, crawls: str, out: Path | None) -> None:
    """Make a token: prints it, once, and the line for the token file of the server.

    The token goes to --out or to the error output, the line to the output:
    `linkscore token ... --out crawler.token >> tokens`.
    """
    if not _NAME.fullmatch(name):
        raise click.BadParameter("must be letters, digits and ._@-, at most 63", param_hint="--name")
    if not _CRAWLS.fullmatch(crawls):
        raise click.BadParameter("must be of a-z, 0-9, _, - and *, commas between", param_hint="--crawls")
    made = secrets.token_urlsafe(_TOKEN_BYTES)
    if out is not None:
        _write(out, made)
    elif sys.stderr.isatty():
        click.echo(f"token, not shown again: {made}", err=True)
    else:  # what goes to a file is the token, no sentence
        click.echo(made, err=True)
    click.echo(f"{name} {role} {crawls} sha256:{hashlib.sha256(made.encode()).hexdigest()}")


def _write(path: Path, made: str) -> None:
    """Write a new file that nobody else may read."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as exc:
        raise click.BadParameter(f"no new file {path}: {exc.strerror}", param_hint="--out") from None
    with open(descriptor, "w") as file:
        file.write(f"{made}\n")
