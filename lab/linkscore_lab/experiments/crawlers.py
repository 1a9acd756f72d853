"""Real crawlers, plain beside linkscore: ``python -m linkscore_lab.experiments.crawlers colly``.

A crawler here is a command that crawls a site through a proxy, in its own order or in that of a server, and
prints a line ``STATUS<tab>URL`` for each page it fetched: the examples of the clients do. It crawls the
demonstration site, or a stored one, once each way, with the same budget; with `--away 10` once more, and
its server is killed when half of the budget is spent, and back ten seconds later. `make crawl-NAME` builds
what a crawler needs, and runs this.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urldefrag

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from linkscore_lab.datasets.site import identity_or_none
from linkscore_lab.experiments.scrapy.servers import OwnServer, frontier_command
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
        Programs that must be there, or files below `folder`; `~` and variables stand for what they do in a
        shell.
    frontier
        Whether its URLs wait in `linkscore frontier`; `--frontier` is added then.
    """

    folder: str
    command: tuple[str, ...]
    tools: tuple[str, ...]
    dash: str = "--"
    frontier: bool = False


_PYTHON = ".venv-crawlers/bin/python"
# The class path is what Maven wrote; the shell is replaced, so that the virtual machine is what is measured.
_JAVA = ("sh", "-c", 'exec java -cp "target/classes:$(cat target/classpath)" "$0" "$@"')
_NUTCH = (
    "sh",
    "-c",
    'exec java -Dlog4j2.configurationFile=log4j2.xml -cp "$NUTCH_HOME/conf:$NUTCH_HOME/lib/*" "$0" "$@"',
    "CrawlWithNutch.java",
)
CRAWLERS = {
    "colly": Crawler("clients/go/colly", ("go", "run", "./example"), ("go",), "-"),
    "crawlee": Crawler("clients/node", ("npx", "tsx", "example/crawl.ts"), ("npx", "node_modules/.bin/tsx")),
    "crawlee-python": Crawler(".", (_PYTHON, "clients/python/examples/crawl_with_crawlee.py"), (_PYTHON,)),
    "crawl4ai": Crawler(".", (_PYTHON, "clients/python/examples/crawl_with_crawl4ai.py"), (_PYTHON,)),
    "nutch": Crawler(
        "clients/java/nutch/example",
        (*_NUTCH, "--plugins", "../target"),
        ("java", "mvn", "$NUTCH_HOME/plugins"),
    ),
    "stormcrawler": Crawler(
        "clients/java/stormcrawler/example",
        (*_JAVA, "CrawlWithStormCrawler"),
        ("java", "mvn", "~/.m2/repository/org/apache/stormcrawler/stormcrawler-urlfrontier"),
        frontier=True,
    ),
    "heritrix": Crawler("clients/java/heritrix/example", (*_JAVA, "CrawlWithHeritrix"), ("java", "mvn")),
}


@dataclass(frozen=True, slots=True)
class CrawlFigures:
    """What a crawl came to.

    Attributes
    ----------
    fetched, wanted, missing
        Pages fetched, those of them that were wanted, and those that are not there.
    twice
        Fetches of a page that had been fetched.
    seconds, cpu_s
        Time of the crawl, and processor time of the crawler, its start included.
    said
        The last line of its error output: counters.
    """

    fetched: int
    wanted: int
    missing: int
    twice: int
    seconds: float
    cpu_s: float
    said: str


def figures(
    output: str, errors: str, wanted: frozenset[str], seconds: float = 0.0, cpu_s: float = 0.0
) -> CrawlFigures:
    """Count what a crawler printed; a page fetched twice is wanted once.

    >>> output = "200\\thttp://a/1\\n200\\thttp://a/1#top\\n404\\thttp://a/2"
    >>> figures(output, "", frozenset({"http://a/1"}))
    CrawlFigures(fetched=3, wanted=1, missing=1, twice=1, seconds=0.0, cpu_s=0.0, said='')
    """
    rows = [line.split("\t", 1) for line in output.splitlines() if "\t" in line]
    found = {identity_or_none(urldefrag(url).url) for _, url in rows}
    missing = sum(status != "200" for status, _ in rows)
    last = errors.strip().rpartition("\n")[2]
    return CrawlFigures(len(rows), len(found & wanted), missing, len(rows) - len(found), seconds, cpu_s, last)


def lacks(crawler: Crawler) -> list[str]:
    """Return what a crawler needs that is not there."""
    folder = ROOT / crawler.folder
    found = {tool: os.path.expandvars(Path(tool).expanduser()) for tool in crawler.tools}
    return [tool for tool, path in found.items() if not shutil.which(path) and not (folder / path).exists()]


def crawl(
    crawler: Crawler,
    bed: Testbed,
    proxy: str,
    budget: int,
    wanted: frozenset[str],
    target: str,
    half_way: Callable[[], None] | None = None,
    *,
    frontier: str = "",
) -> CrawlFigures:
    """Crawl a site once, in the crawler's own order if `target` is empty.

    Parameters
    ----------
    frontier
        Where URLs wait, if it is not the crawler that keeps them.
    half_way
        Called beside the crawl when half of the budget is spent.

    Raises
    ------
    click.ClickException
        The crawler ended with an error or not at all.
    """
    options = {"start": bed.target.entry, "proxy": proxy, "fetches": str(budget), "target": target}
    if frontier:
        options["frontier"] = frontier
    flags = [text for name, value in options.items() for text in (crawler.dash + name, value)]
    started = time.monotonic()
    with TemporaryDirectory() as folder, Path(folder, "errors").open("w+", encoding="utf-8") as errors:
        ran = subprocess.Popen(  # noqa: S603 - commands of the table above
            [*crawler.command, *flags],
            cwd=ROOT / crawler.folder,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        stop = threading.Timer(_PATIENCE_S, ran.kill)
        stop.start()
        output = _read(ran, budget // 2, half_way)
        _, status, used = os.wait4(ran.pid, 0)  # what it waited for itself is counted with it
        ran.returncode = os.waitstatus_to_exitcode(status)
        stop.cancel()
        said = Path(folder, "errors").read_text(encoding="utf-8")
    seconds = time.monotonic() - started
    if seconds >= _PATIENCE_S:
        raise click.ClickException(f"{crawler.command[0]}: no end after {_PATIENCE_S:.0f} s")
    if ran.returncode:
        raise click.ClickException(f"{' '.join(crawler.command)}: {said[-2000:]}")
    return figures(output, said, wanted, seconds, used.ru_utime + used.ru_stime)


def _read(ran: subprocess.Popen[str], half: int, half_way: Callable[[], None] | None) -> str:
    """Read what a crawler prints to its end, and say when it is half way."""
    lines: list[str] = []
    beside = threading.Thread(target=half_way) if half_way is not None else None
    assert ran.stdout is not None
    with ran.stdout as printed:
        for line in printed:
            lines.append(line)
            if beside is not None and len(lines) == half:
                beside.start()
    if beside is not None and beside.ident is not None:
        beside.join()
    return "".join(lines)


def with_server(log: Path, away_s: float | None, run: Callable[..., CrawlFigures]) -> CrawlFigures:
    """Crawl with a server that learned nothing before; killed half way and back after `away_s`, if given."""
    with TemporaryDirectory(prefix="linkscore-") as data:
        server = OwnServer(Path(data), log)

        def leave_and_come_back() -> None:
            server.kill()
            time.sleep(away_s or 0.0)
            server.start()

        server.start()
        try:
            return run(server.address, leave_and_come_back if away_s is not None else None)
        finally:
            server.stop()


@contextmanager
def frontier_of(crawler: Crawler, target: str, log: Path) -> Iterator[str]:
    """Give the address of a frontier that orders by the server at `target`, or nothing if none is wanted."""
    if not crawler.frontier or not target:
        yield ""
        return
    with TemporaryDirectory(prefix="linkscore-") as data:
        frontier = OwnServer(Path(data), log, command=frontier_command(target, "stormcrawler"))
        frontier.start()
        try:
            yield frontier.address
        finally:
            frontier.stop()


def table(title: str, rows: dict[str, CrawlFigures]) -> Table:
    """Return the figures, a row a crawl; times are a page's."""
    made = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    made.add_column("order")
    for heading in ("fetched", "wanted", "share", "missing", "twice", "ms", "CPU ms"):
        made.add_column(heading, justify="right")
    for name, row in rows.items():
        share = f"{row.wanted / row.fetched:.3f}" if row.fetched else ""
        pages = max(1, row.fetched)
        made.add_row(
            name,
            f"{row.fetched:,}",
            f"{row.wanted:,}",
            share,
            str(row.missing),
            str(row.twice),
            f"{1_000 * row.seconds / pages:.0f}",
            f"{1_000 * row.cpu_s / pages:.1f}",
        )
    return made


@click.command()
@click.argument("names", nargs=-1, required=True, type=click.Choice(list(CRAWLERS)))
@click.option("--warc", type=click.Path(exists=True, path_type=Path), help="A stored site.")
@click.option("--labels", type=click.Path(exists=True, path_type=Path), help="Labels of its pages.")
@click.option("--relevant", default="", help="Wanted page types, separated by commas.")
@click.option("--budget", default="25%", help="Pages, or share of the reachable pages.")
@click.option("--plain/--no-plain", default=True, help="Whether to crawl in the crawler's own order too.")
@click.option("--linkscore/--no-linkscore", default=True, help="Whether to crawl in linkscore's order.")
@click.option("--away", type=click.FloatRange(min=0), help="Crawl with a server that is away so long.")
@click.option("--latency", default=0.0, help="Seconds the site takes to answer.")
def main(
    names: Sequence[str],
    warc: Path | None,
    labels: Path | None,
    relevant: str,
    budget: str,
    plain: bool,
    linkscore: bool,
    away: float | None,
    latency: float,
) -> None:
    """Crawl a site with real crawlers, plain and in linkscore's order, and print a table."""
    if (warc is None) != (labels is None):
        raise click.UsageError("--warc and --labels go together")
    if latency and warc is None:
        raise click.UsageError("--latency is of a stored site: --warc")
    with ExitStack() as stack:
        testbed = demo_testbed(1)
        if warc is not None and labels is not None:
            testbed = warc_testbed(warc, labels, latency_s=latency)
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

            def run(
                target: str, half_way: Callable[[], None] | None = None, crawler: Crawler = crawler
            ) -> CrawlFigures:
                with frontier_of(crawler, target, log) as frontier:
                    return crawl(
                        crawler, bed, proxy, bed.budget(budget), wanted, target, half_way, frontier=frontier
                    )

            rows = {"plain": run("")} if plain else {}
            if linkscore:
                rows["linkscore"] = with_server(log, None, run)
            if away is not None:
                rows[f"server away {away:.0f} s"] = with_server(log, away, run)
            Console().print(table(f"{name}, {bed.name}", rows))
            for order, row in rows.items():
                click.echo(f"{order}: {row.said}")


if __name__ == "__main__":
    sys.exit(main())
