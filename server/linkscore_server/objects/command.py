"""`linkscore data backup` and `restore`: what `export` writes and `import` reads, as one object."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from linkscore_server.commands.data import export, import_
from linkscore_server.objects.settings import url_problem

if TYPE_CHECKING:
    from linkscore_server.objects.store import Objects

_URL = click.argument("url", metavar="URL")


def _options(of: click.Command) -> list[click.Parameter]:
    """Return the options of a command: where a crawl is."""
    return [param for param in of.params if isinstance(param, click.Option)]


@click.command("backup")
@click.argument("crawl")
@_URL
def backup(crawl: str, url: str, **where: Any) -> None:
    """Write a crawl to an object, such as s3://BUCKET/books.linkscore: what `export` writes, with checksums.

    An object that is there is replaced once the new one is whole. The file is made in the folder for files of
    the moment (TMPDIR) first.
    """
    with _object(url) as (objects, name, folder):
        file = folder / "crawl"
        click.get_current_context().invoke(export, crawl=crawl, file=file, **where)
        objects.put_file(name, file)
    click.echo(f"{url}: crawl {crawl}")


@click.command("restore")
@_URL
def restore(url: str, **where: Any) -> None:
    """Add the crawl of an object that `linkscore data backup` wrote; a damaged one is refused."""
    with _object(url) as (objects, name, folder):
        file = folder / "crawl"
        objects.get_file(name, file)
        click.get_current_context().invoke(import_, file=file, **where)


backup.params += _options(export)
restore.params += _options(import_)


@contextmanager
def _object(url: str) -> Iterator[tuple[Objects, str, Path]]:
    """Give the objects beside a URL, the name of its own, and a folder; errors end the command."""
    place, _, name = url.rpartition("/")
    if (problem := url_problem(place)) or not name:
        raise click.BadParameter(problem or f"names no object, got {url!r}", param_hint="URL")
    from linkscore_scoring.errors import LinkscoreError
    from linkscore_server.objects.store import Objects

    try:
        objects = Objects(place)
        with TemporaryDirectory(prefix="linkscore-") as folder:
            yield objects, name, Path(folder)
        objects.close()
    except (LinkscoreError, OSError) as exc:
        raise click.ClickException(str(exc)) from exc
