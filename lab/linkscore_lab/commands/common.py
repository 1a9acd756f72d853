"""What the commands of the lab share: types of arguments, and errors in the words of the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from linkscore_cli.errors import in_options, needing

ARCHIVE = click.Path(exists=True, path_type=Path)
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
OUT = click.Path(dir_okay=False, path_type=Path)


@contextmanager
def lab_errors() -> Iterator[None]:
    """Turn errors of the lab into messages that name options, and a missing library into its extra."""
    with needing("lab"):
        from linkscore_scoring.errors import InvalidInput, LinkscoreError

        try:
            yield
        except InvalidInput as exc:
            raise click.ClickException(in_options([(p.field, p.rule) for p in exc.problems])) from exc
        except LinkscoreError as exc:
            raise click.ClickException(str(exc)) from exc


def split(text: str) -> tuple[str, ...]:
    """Return the names of a list with commas."""
    return tuple(part for part in (piece.strip() for piece in text.split(",")) if part)
