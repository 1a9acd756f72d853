"""``python -m linkscore_research.wanted FOLDER...``: see the package."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click
import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from linkscore_lab.replay.prepare import prepare_site, spread
from linkscore_research.wanted.measure import ORDERS, TIMES, Bench, Outcome
from linkscore_research.wanted.tasks import SITES, TagTask, sources, tag_tasks

_CRAWLERS_VENV = Path(".venv-crawlers/bin/python")


@click.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--half", type=click.Choice(["dev", "judged"]), default="dev", show_default=True)
@click.option("--site", "sites", multiple=True, type=click.Choice([site.name for site in SITES]))
@click.option("--order", "orders", multiple=True, type=click.Choice(list(ORDERS)))
@click.option("--crawl4ai", type=click.Path(path_type=Path), help="Python that has Crawl4AI.")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Processes.")
@click.option("--each", is_flag=True, help="A line for each crawl, as it ends.")
def main(
    folders: tuple[Path, ...],
    half: str,
    sites: tuple[str, ...],
    orders: tuple[str, ...],
    crawl4ai: Path | None,
    workers: int,
    each: bool,
) -> None:
    """Crawl for pages by the words of a tag, on stored sites that carry tags, and print recall."""
    console = Console()
    python = crawl4ai or (_CRAWLERS_VENV if _CRAWLERS_VENV.exists() else None)
    if not orders:
        orders = tuple(name for name in ORDERS if name != "crawl4ai" or python)
    for spec in SITES:
        found = sources(spec, list(folders))
        if found is None or (sites and spec.name not in sites):
            continue
        with prepare_site(found, workers=workers, words=True) as site:
            bench = Bench(site, python)
            tasks = [task for task in tag_tasks(spec, site) if task.is_judged == (half == "judged")]
            tasks.sort(key=lambda task: len(task.pages))  # what is interrupted has told of whole tasks
            todo = [(task, order) for task in tasks for order in orders]
            outcomes = []
            for outcome in spread(partial(_run, bench), todo, workers):
                outcomes.append(outcome)
                if each:
                    console.print(_line(outcome), soft_wrap=True)
        if outcomes:
            console.print(_table(f"{spec.name}, {half}: {len(tasks)} tasks", outcomes, orders))


def _run(bench: Bench, todo: tuple[TagTask, str]) -> Outcome:
    return bench.run(*todo)


def _line(outcome: Outcome) -> str:
    figures = " ".join(f"{value:.3f}" for value in (*outcome.recall, outcome.area))
    return f"{outcome.site}\t{outcome.tag}\t{outcome.pages}\t{outcome.order}\t{figures}"


def _table(title: str, outcomes: list[Outcome], orders: tuple[str, ...]) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    for heading in ("order", *(f"{times}x" for times in TIMES), "area"):
        table.add_column(heading, justify="left" if heading == "order" else "right")
    for order in orders:
        figures = [[*one.recall, one.area] for one in outcomes if one.order == order]
        table.add_row(order, *(f"{mean:.3f}" for mean in np.mean(figures, axis=0)))
    return table


if __name__ == "__main__":
    main()
