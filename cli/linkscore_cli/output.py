"""What commands print: tables that keep what identifies a row, or JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import click
from google.protobuf import json_format
from google.protobuf.message import Message
from rich.console import Console
from rich.table import Table
from rich.text import Text

from linkscore_cli.errors import safe

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
"""For commands that ask a server; they hand what they were answered to `tell`."""


def tell(as_json: bool, answer: Any, parts: Iterable[str | Table], *, width: int = 0) -> None:
    """Print what a server answered, as JSON or in parts: lines, and tables at least `width` wide."""
    if as_json:
        print_json(answer)
        return
    console = Console()
    console.width = max(console.width, width)
    for part in parts:
        if isinstance(part, str):
            say(part)
        else:
            console.print(part)


def table(rows: Iterable[Sequence[Any]], *head: str, title: str = "") -> Table:
    """Return a table, without a head if none is given; whole numbers get thousands."""
    made = Table(*head, title=name_of(title) if title else None, title_justify="left", show_header=bool(head))
    for row in rows:
        made.add_row(*(f"{cell:,}" if isinstance(cell, int) else name_of(cell) for cell in row))
    return made


def word_of(enum: Any, number: int) -> str:
    """Return a value of an enum of the contract as a word; empty for the unset and for one unknown here."""
    names = enum.DESCRIPTOR.values_by_number
    if not number or number not in names:
        return ""
    shared = names[0].name.removesuffix("UNSPECIFIED")
    return str(names[number].name).removeprefix(shared).replace("_", " ").lower()


def print_json(value: Any) -> None:
    """Print a value as JSON: messages with the field names of the contract, numbers that are none as null."""
    click.echo(json.dumps(plain(value), indent=2))


def write_json(json_file: Path | None, value: Any) -> None:
    """Write a value as `print_json` prints it; nothing if no file is named."""
    if json_file is not None:
        json_file.write_text(json.dumps(plain(value), indent=2) + "\n", encoding="utf-8")


def plain(value: Any) -> Any:
    """Return a value as JSON has it."""
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
