"""What went wrong, in the words of the command line: an option where a library or server names a field."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import click

from linkscore.errors import LinkscoreError
from linkscore_cli.extras import missing_extra

# Fields of requests, and of the library, whose option has another name.
_OPTIONS = {
    "archives": ("archives", "sites", "archive"),
    "links": ("url",),
    "max_results": ("most",),
    "name": ("site", "name"),
    "news_labels": ("labels",),
    "news_threshold": ("threshold",),
    "warc": ("warc", "archives", "archive", "sites"),
    "window_days": ("window",),
}
# Of a path of fields only what a reader of the command line knows: the rest is how a request is made up.
_INNER = {"external", "params", "name"}


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """Turn an import that fails into the message that names the extra.

    Raises
    ------
    click.ClickException
        Something is not installed.
    """
    try:
        yield
    except ImportError as exc:
        raise click.ClickException(missing_extra(extra, exc)) from exc


@contextmanager
def calling() -> Iterator[None]:
    """Turn the error of a call into a message of the command line, with exit code 1.

    Raises
    ------
    click.ClickException
        The call failed; the message has the gRPC status, and the options for fields of the request.
    """
    try:
        yield
    except LinkscoreError as exc:
        fields = [(v.field, v.description) for v in exc.field_violations]
        message = in_options(fields) if fields else str(exc)
        raise click.ClickException(f"{exc.code.name}: {message}") from exc


def in_options(fields: Iterable[tuple[str, str]]) -> str:
    """Say which options of the running command break which rules.

    Parameters
    ----------
    fields
        Path of each field, for example `policy.harvest.curiosity`, and the rule it breaks.
    """
    return "; ".join(f"{_named(field)}: {rule}" if field else rule for field, rule in fields)


def _named(field: str) -> str:
    """Return a field as the option that sets it, with what is left of its path; itself if there is none."""
    context = click.get_current_context(silent=True)
    head, *rest = re.split(r"\.|\[\d*\]\.?", field.removeprefix("crawl.").replace("-", "_"))
    params = context.command.params if context else []
    for name in _OPTIONS.get(head, (head,)):
        for param in params:
            if _is_named(param, name):
                inner = [part for part in rest if part and part not in _INNER]
                return " ".join([_shown(param), ".".join(inner)]).rstrip()
    return field


def _is_named(param: click.Parameter, name: str) -> bool:
    names = {param.name or "", *(opt.lstrip("-").replace("-", "_") for opt in param.opts)}
    return bool(names & {name, name.removesuffix("s"), f"{name}s"})


def _shown(param: click.Parameter) -> str:
    if isinstance(param, click.Option):
        return max(param.opts, key=len)
    return param.make_metavar(click.get_current_context())
