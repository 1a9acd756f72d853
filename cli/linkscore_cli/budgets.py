"""Bounds of a budget as options give them: ``NAME=NUMBER``, fields of `Budget`."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

import click

from linkscore.v1 import crawl_service_pb2 as pb

_WHOLE = (pb.Budget.DESCRIPTOR.fields_by_name["max_fetches"].type,)  # uint64


def budget_of(bounds: Sequence[str], option: str) -> pb.Budget | None:
    """Return bounds as a message; None if there are none."""
    made, fields = pb.Budget(), pb.Budget.DESCRIPTOR.fields_by_name
    for text in bounds:
        name, _, number = text.partition("=")
        if name not in fields:
            meant = get_close_matches(name, list(fields), n=1)
            rule = f"did you mean {meant[0]!r}?" if meant else f"there are {', '.join(fields)}"
            raise click.BadParameter(f"no bound is named {name!r}: {rule}", param_hint=option)
        is_whole = fields[name].type in _WHOLE
        try:
            setattr(made, name, int(number) if is_whole else float(number))
        except ValueError:
            what = "a whole number" if is_whole else "a number"
            raise click.BadParameter(f"{name} must be {what}, got {number!r}", param_hint=option) from None
    return made if bounds else None
