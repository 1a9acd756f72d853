"""Options of `linkscore replay --history`: a site kept in git in place of an archive."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import reduce
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

_DAY = click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"])
_OPTIONS = (
    click.option(
        "--history",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="Git repository of built HTML: compare schedules of revisits on it, not policies.",
    ),
    click.option("--root", default="", help="Folder of the site in it.  [default: all]"),
    click.option("--base-url", default="", help="URL of that folder; needed with --history."),
    click.option("--branch", default="HEAD", help="Branch of it.  [default: HEAD]"),
    click.option("--from", "start", type=_DAY, help="Begin there, UTC.  [default: first commit]"),
    click.option("--to", "end", type=_DAY, help="End there, UTC.  [default: last commit]"),
    click.option(
        "--fetches",
        type=click.FloatRange(0.0, 10_000.0, min_open=True),
        multiple=True,
        default=(4.0,),
        help="Fetches again, a page and year; repeatable.  [default: 4]",
    ),
    click.option(
        "--rule",
        "rules",
        multiple=True,
        default=("greedy", "adaptive", "fixed"),
        help="Schedule; repeatable.  [default: greedy, adaptive, fixed]",
    ),
    click.option("--objective", default="both", help="both, freshness or discovery.  [default: both]"),
)
_NAMES = ("root", "base_url", "branch", "start", "end", "fetches", "rules", "objective")


def history_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options."""
    return reduce(lambda made, option: option(made), reversed(_OPTIONS), command)


def run_history(options: dict[str, Any], report: Path | None) -> dict[str, Any] | None:
    """Take the options away; if they ask for a history, replay it and return its figures.

    Raises
    ------
    click.UsageError
        No URL is named, or an option that says nothing in this command: one of a history without one, or one
        of an archive with a history.
    """
    history, given = options.pop("history"), {name: options.pop(name) for name in _NAMES}
    if history is None:
        _refuse(_NAMES, "says nothing without --history.")
        return None
    _refuse(options.keys() - {"report"}, "says nothing with --history.")
    if not given["base_url"]:
        raise click.UsageError("--history needs --base-url: links are followed by URL.")
    from linkscore_lab.revisits.history_command import replay_history

    return replay_history(history, per_year=given.pop("fetches"), report=report, **given)


def _refuse(names: Collection[str], rule: str) -> None:
    """Refuse what was given of some parameters of the running command."""
    context = click.get_current_context()
    for param in context.command.params:
        is_given = context.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
        if is_given and param.name in names:
            raise click.UsageError(f"{param.opts[-1]} {rule}")
