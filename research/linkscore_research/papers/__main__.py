"""``python -m linkscore_research.papers``: see the package."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import click

from linkscore_lab.commands import lab_errors
from linkscore_research.papers.catalog import CATALOG
from linkscore_research.papers.page import PAGE, stale_files, write_page
from linkscore_research.papers.results import PaperResult, write_result
from linkscore_research.papers.sites import PaperOptions

_PAGE = "page"


@click.command(help=__doc__)
@click.argument("name", type=click.Choice([*CATALOG, _PAGE]), required=False, metavar="NAME")
@click.option("--list", "listing", is_flag=True, help="Names of tables and figures.")
@click.option(
    "--corpora",
    type=click.Path(exists=True, path_type=Path),
    multiple=True,
    help="Folder of labelled sites; repeatable.",
)
@click.option(
    "--folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Browse logs, or paths of visitors, for tables that need them.",
)
@click.option("--site", "names", multiple=True, help="Only this stored site; repeatable. Writes nothing.")
@click.option("--check", is_flag=True, help="With page: write nothing, fail if it is stale.")
def main(
    name: str | None,
    listing: bool,
    corpora: Sequence[Path],
    folder: Path | None,
    names: Sequence[str],
    check: bool,
) -> None:
    if listing or name is None:
        for each, entry in CATALOG.items():
            click.echo(f"{each:28} {entry.paper.partition(' (')[0]}: {entry.title}")
    elif name == _PAGE:
        _page(check=check)
    else:
        with lab_errors():
            _measure(name, PaperOptions(corpora, folder, names))


def _page(*, check: bool) -> None:
    try:
        if not check:
            write_page()
        elif stale := stale_files():
            where = ", ".join(map(str, stale))
            raise click.ClickException(f"{where}: stale, run python -m linkscore_research.papers page")
    except ValueError as exc:
        raise click.ClickException(str(exc)) from exc


def _measure(name: str, options: PaperOptions) -> None:
    tables, charts = CATALOG[name].measure(options)
    for table in tables:
        click.echo("\n".join("\t".join(map(str, row)) for row in (table.columns, *table.rows)))
    if options.names:
        return
    words = ["python -m linkscore_research.papers", name]
    words += [f"--corpora {path.name}" for path in options.corpora]
    words += [f"--folder {options.folder.name}"] if options.folder else []
    result = PaperResult(
        name=name,
        command=" ".join(words),
        date=datetime.now(UTC).date().isoformat(),
        data=CATALOG[name].data,
        tables=tables,
        charts=charts,
    )
    click.echo(f"{write_result(result)}; python -m linkscore_research.papers page makes {PAGE} of it")


if __name__ == "__main__":
    sys.exit(main())
