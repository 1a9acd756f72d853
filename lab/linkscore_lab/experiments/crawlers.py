"""Real crawlers, plain beside linkscore: ``python -m linkscore_lab.experiments.crawlers colly``.

A crawler here is a command that crawls a site through a proxy, in its own order or in that of a server, and
prints a line ``STATUS<tab>URL`` for each page it fetched: the examples of the clients do. It crawls the
demonstration site, or a stored one, once each way, with the same budget.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urldefrag

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from linkscore_lab.datasets.site import identity_or_none
from linkscore_lab.experiments.scrapy.servers import own
from linkscore_lab.experiments.scrapy.testbed import DEMO_WANTED, Testbed, demo_testbed, warc_testbed

ROOT = Path(__file__).parents[3]

# A crawl that takes longer has come to a stop.
_PATIENCE_S = 1_800.0


@dataclass(frozen=True, slots=True)
class Crawler:
    """How a crawler is run.

    Attributes
    ----------
    folder
        Where, from the root of the repository.
    command
        What; `--start`, `--proxy`, `--fetches` and `--target` are added, with as many dashes as `dash` has.
    tools
        Programs that must be there, or files below `folder`.
    """

    folder: str
    command: tuple[str, ...]
    tools: tuple[str, ...]
    dash: str = "--"


_PYTHON = ".venv-crawlers/bin/python"
CRAWLERS = {
    "colly": Crawler("clients/go/colly", ("go", "run", "./example"), ("go",), "-"),
    "crawlee": Crawler("clients/node", ("npx", "tsx", "example/crawl.ts"), ("npx", "node_modules/.bin/tsx")),
    "crawlee-python": Crawler(".", (_PYTHON, "clients/python/examples/crawl_with_crawlee.py"), (_PYTHON,)),
    "crawl4ai": Crawler(".", (_PYTHON, "clients/python/examples/crawl_with_crawl4ai.py"), (_PYTHON,)),
}


@dataclass(frozen=True, slots=True)
class CrawlFigures:
    """What a crawl came to.

    Attributes
    ----------
    fetched, wanted, missing
        Pages fetched, those of them that were wanted, and those that are not there.
    seconds
        Time of the crawl, start of the crawler included.
    said
        The last line of its error output: counters.
    """

    fetched: int
    wanted: int
    missing: int
    seconds: float
    said: str


def figures(output: str, errors: str, wanted: frozenset[str], seconds: float) -> CrawlFigures:
    """Count what a crawler printed; a page fetched twice is wanted once.

    >>> output = "200\\thttp://a/1\\n200\\thttp://a/1#top\\n404\\thttp://a/2"
    >>> figures(output, "", frozenset({"http://a/1"}), 1.0)
    CrawlFigures(fetched=3, wanted=1, missing=1, seconds=1.0, said='')
    """
    rows = [line.split("\t", 1) for line in output.splitlines() if "\t" in line]
    found = {identity_or_none(urldefrag(url).url) for _, url in rows}
    missing = sum(status != "200" for status, _ in rows)
    last = errors.strip().rpartition("\n")[2]
    return CrawlFigures(len(rows), len(found & wanted), missing, seconds, last)


def lacks(crawler: Crawler) -> list[str]:
    """Return what a crawler needs that is not there."""
    folder = ROOT / crawler.folder
    return [tool for tool in crawler.tools if not shutil.which(tool) and not (folder / tool).exists()]


def crawl(
    crawler: Crawler, bed: Testbed, proxy: str, budget: int, wanted: frozenset[str], target: str
) -> CrawlFigures:
    """Crawl a site once, in the crawler's own order if `target` is empty.

    Raises
    ------
    click.ClickException
        The crawler ended with an error or not at all.
    """
    options = {"start": bed.target.entry, "proxy": proxy, "fetches": str(budget), "target": target}
    flags = [text for name, value in options.items() for text in (crawler.dash + name, value)]
    started = time.monotonic()
    try:
        ran = subprocess.run(  # noqa: S603 - commands of the table above
            [*crawler.command, *flags],
            cwd=ROOT / crawler.folder,
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=False,
        )
    except subprocess.TimeoutExpired as exc:
        raise click.ClickException(f"{crawler.command[0]}: no end after {exc.timeout:.0f} s") from exc
    if ran.returncode:
        raise click.ClickException(f"{' '.join(crawler.command)}: {ran.stderr[-2000:]}")
    return figures(ran.stdout, ran.stderr, wanted, time.monotonic() - started)


def table(title: str, rows: dict[str, CrawlFigures]) -> Table:
    """Return the figures, a row a crawl."""
    made = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    for heading in ("order", "fetched", "wanted", "share", "not there", "seconds", "counters"):
        made.add_column(heading, justify="left" if heading in ("order", "counters") else "right")
    for name, row in rows.items():
        share = f"{row.wanted / row.fetched:.3f}" if row.fetched else ""
        made.add_row(
            name,
            f"{row.fetched:,}",
            f"{row.wanted:,}",
            share,
            str(row.missing),
            f"{row.seconds:.0f}",
            row.said,
        )
    return made


@click.command()
@click.argument("names", nargs=-1, required=True, type=click.Choice(list(CRAWLERS)))
@click.option("--warc", type=click.Path(exists=True, path_type=Path), help="A stored site.")
@click.option("--labels", type=click.Path(exists=True, path_type=Path), help="Labels of its pages.")
@click.option("--relevant", default="", help="Wanted page types, separated by commas.")
@click.option("--budget", default="25%", help="Pages, or share of the reachable pages.")
def main(names: Sequence[str], warc: Path | None, labels: Path | None, relevant: str, budget: str) -> None:
    """Crawl a site with real crawlers, plain and in linkscore's order, and print a table."""
    if (warc is None) != (labels is None):
        raise click.UsageError("--warc and --labels go together")
    with ExitStack() as stack:
        testbed = demo_testbed(1) if warc is None or labels is None else warc_testbed(warc, labels)
        bed = stack.enter_context(testbed)
        wanted = bed.wanted(relevant.split(",") if relevant else DEMO_WANTED)
        proxy = bed.target.via or bed.target.entry.rstrip("/")
        log = ROOT / "out" / "crawlers.log"
        log.parent.mkdir(exist_ok=True)
        for name in names:
            crawler = CRAWLERS[name]
            if missing := lacks(crawler):
                click.echo(f"{name}: skipped, there is no {' and no '.join(missing)}")
                continue
            rows = {"plain": crawl(crawler, bed, proxy, bed.budget(budget), wanted, "")}
            with own(log)() as target:  # nothing learned before
                rows["linkscore"] = crawl(crawler, bed, proxy, bed.budget(budget), wanted, target)
            Console().print(table(f"{name}, {bed.name}", rows))


if __name__ == "__main__":
    sys.exit(main())
