"""What commands print: tables that keep what identifies a row, or JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import fields, is_dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
from google.protobuf import json_format
from google.protobuf.message import Message
from rich.text import Text

from linkscore_cli.errors import safe

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
"""For commands that ask a server; they hand what they were answered to `print_json`."""

json_file_option = click.option(
    "--json",
    "json_file",
    type=click.Path(dir_okay=False, path_type=Path, allow_dash=True),
    help="Write the figures here; - prints them, and tables go to the error output.",
)
"""For commands that measure; they write into what `figures_to` gives them."""


def print_json(value: Any) -> None:
    """Print a value as JSON: messages with the field names of the contract, numbers that are none as null."""
    click.echo(json.dumps(plain(value), indent=2))


@contextmanager
def figures_to(json_file: Path | None) -> Iterator[Path | None]:
    """Give the file that figures are to be written to, None if nobody asks for them.

    For ``-`` it is a passing one, which is printed at the end; everything else that is printed meanwhile goes
    to the error output.
    """
    if json_file is None or str(json_file) != "-":
        yield json_file
        return
    with TemporaryDirectory(prefix="linkscore-") as folder:
        passing = Path(folder) / "figures.json"
        with redirect_stdout(sys.stderr):
            yield passing
        click.echo(passing.read_text(encoding="utf-8").rstrip("\n"))


def write_json(json_file: Path | None, value: Any) -> None:
    """Write a value as `print_json` prints it; nothing if no file is named."""
    if json_file is not None:
        json_file.write_text(json.dumps(plain(value), indent=2) + "\n", encoding="utf-8")


def plain(value: Any) -> Any:
    """Return a value as JSON has it.

    Examples
    --------
    >>> plain({"rows": (1, float("nan")), "file": Path("a")})
    {'rows': [1, None], 'file': 'a'}
    """
    if isinstance(value, Message):
        return json_format.MessageToDict(value, preserving_proto_field_name=True)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each) for each in value]
    if isinstance(value, Path):
        return str(value)
    return None if isinstance(value, float) and value != value else value


def say(text: str, *, err: bool = False, **style: Any) -> None:
    """Print a line as it is: nothing of it is markup or folded, and nothing reaches the terminal itself."""
    click.secho("\t".join(map(safe, text.split("\t"))), err=err, **style)


def name_of(*lines: str) -> Text:
    """Return lines of strangers in a table: folded where a terminal is too narrow, and never cut."""
    return Text("\n".join(map(safe, lines)), overflow="fold")
