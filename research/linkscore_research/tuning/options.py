"""Options that the experiments on stored and synthetic sites share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

Option = Callable[[Callable[..., Any]], Callable[..., Any]]

CORPORA: Option = click.option(
    "--corpora", type=click.Path(path_type=Path), multiple=True, help="Folder of labelled sites; repeatable."
)
SITE: Option = click.option("--site", "names", multiple=True, help="Only this stored site; repeatable.")
JUDGE: Option = click.option(
    "--judge", is_flag=True, help="Those of the synthetic corpus that nothing is chosen on."
)
OUT: Option = click.option("--out", type=click.Path(path_type=Path), help="Write a JSON line for each row.")


def synthetic(default: int) -> Option:
    """Return the option for how many synthetic sites are crawled, the first ones."""
    return click.option(
        "--synthetic",
        type=click.IntRange(0, 200),
        default=default,
        show_default=True,
        help="Synthetic sites, the first ones.",
    )
