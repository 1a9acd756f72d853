"""What went wrong, in the words of the command line: an option where a library or server names a field."""

from __future__ import annotations

import errno
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import IO, Any

import click

from linkscore._channel import tls_problem
from linkscore.errors import LinkscoreError, Unavailable
from linkscore_cli.extras import missing_extra

# Fields of requests, and of the library, whose option has another name.
_OPTIONS = {
    "archives": ("archives", "sites", "archive"),
    "links": ("url",),
    "max_results": ("most",),
    "name": ("site", "crawl"),
    "relevant": ("relevant", "relevant_url"),
    "warc": ("archives", "sites", "warc"),
}
# Of a path of fields only what a reader of the command line knows: the rest is how a request is made up.
_INNER = {"external", "params", "name"}
# As like as a name must be to be meant, of 1; chosen: `crawl` means `crawls`, `demo` does not mean `data`.
_NEAR = 0.6
# What a server calls by the name of a call has a command here.
_COMMANDS = {"CreateCrawl": "crawls create", "UpdateCrawl": "crawls update", "GetSite": "advise"}
_NO_COMMAND = re.compile(r"No such command '([^']*)'")


class Number(click.FloatRange):
    """A number within its bounds, which "nan" is not, though it is above and below none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the number of an option."""
        number = super().convert(value, param, ctx)
        return number if number == number else self.fail(f"{value} is no number.", param, ctx)


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """Turn an import that fails into the message that names the extra."""
    try:
        yield
    except ImportError as exc:
        raise click.ClickException(missing_extra(extra, exc)) from exc


# What click raises, from 8.2 on, where a group is named without a command: it prints the help.
_HELP = tuple(filter(None, [getattr(click.exceptions, "NoArgsIsHelpError", None)]))


# What moves a cursor or changes a terminal or the direction of a text: C0, C1, marks of direction, line ends.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def safe(text: str) -> str:
    """Return a text that strangers may have written as a terminal may have it."""
    return _UNSAFE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class PlainUsageError(click.UsageError):
    """A wrong command line, told in one line with the remedy, without the usage of the command."""

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the line."""
        path = self.ctx.command_path if self.ctx else "linkscore"
        said = self.format_message()
        stop = "" if said.endswith((".", "?")) else "."
        click.echo(f"Error: {said}{stop} See {path} --help.", file=file or sys.stderr)


@contextmanager
def plainly() -> Iterator[None]:
    """Turn what is to be expected to go wrong into one line: no command ends in a traceback for it."""
    try:
        yield
    except click.UsageError as exc:
        if isinstance(exc, (PlainUsageError, *_HELP)):
            raise
        raise PlainUsageError(_with_remedy(exc), exc.ctx) from exc
    except LinkscoreError as exc:
        raise click.ClickException(f"{exc.code.name}: {exc}") from exc
    except OSError as exc:
        if exc.errno == errno.EPIPE:  # who read the output has enough: click ends quietly
            raise
        raise click.ClickException(str(exc)) from exc


def _with_remedy(exc: click.UsageError) -> str:
    """Return the message; of an unknown command or option with what may be meant, under any click."""
    said = exc.format_message()
    if exc.ctx is None:
        return said
    if isinstance(exc, click.NoSuchOption):
        params = exc.ctx.command.get_params(exc.ctx)
        typed = exc.option_name.lstrip("-").replace("-", "_")
        for param in params:
            if isinstance(param, click.Argument) and param.name == typed:
                return f"No such option '{exc.option_name}': write {param.make_metavar(exc.ctx)} without it."
        return _meant("option", exc.option_name, [opt for param in params for opt in param.opts])
    found = _NO_COMMAND.match(said)
    if found and isinstance(exc.ctx.command, click.Group):
        # What click suggests leaves out the commands of other packages.
        return _meant("command", found[1], exc.ctx.command.list_commands(exc.ctx))
    return said


def _meant(what: str, wrong: str, known: Sequence[str]) -> str:
    near = get_close_matches(wrong, known, n=1, cutoff=_NEAR)
    return f"No such {what} '{wrong}'." + (f" Did you mean '{near[0]}'?" if near else "")


@contextmanager
def calling(target: str = "", *, tls: bool = False) -> Iterator[None]:
    """Turn the error of a call into a message of the command line, with exit code 1."""
    try:
        yield
    except LinkscoreError as exc:
        fields = [(v.field, v.description) for v in exc.field_violations]
        message = in_options(fields) if fields else str(exc)
        for call, command in _COMMANDS.items():
            message = message.replace(call, f"linkscore {command}")
        if isinstance(exc, Unavailable) and target:
            remedy = "start one (linkscore serve) or name another by --target"
            if problem := tls_problem(exc, target, tls):
                remedy = f"give the right --tls-ca: {problem}"
            message = f"no server answers at {target}: {remedy} ({message})"
        raise click.ClickException(safe(f"{exc.code.name}: {message}")) from exc


def in_options(fields: Iterable[tuple[str, str]]) -> str:
    """Say which options of the running command break which rules."""
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
