"""Real crawlers, plain beside linkscore: ``python -m linkscore_research.crawlers.compare colly``.

A crawler here is a command that crawls a site through a proxy, in its own order or in that of a server, and
prints a line ``STATUS<tab>URL`` for each page it fetched: the examples of the clients do. It crawls the
demonstration site, or a stored one, once each way, with the same budget; with `--outage away:10` once more,
and its server is killed when half of the budget is spent, and back ten seconds later. Other outages:
`linkscore_research.crawlers.outages`. `make crawl-NAME` builds what a crawler needs, and runs this.
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
from itertools import accumulate
from math import isnan, nan
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urldefrag

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from linkscore_lab.crawls.demo import DEMO_WANTED, LOOPBACK, OwnServer, SiteServer, Testbed, demo_testbed
from linkscore_lab.datasets.site import identity_or_none
from linkscore_lab.replay.prepare import SiteSource, prepare_site
from linkscore_research.crawlers.outages import (
    Interrupted,
    Outage,
    data_disk,
    interrupted,
    make_crawls,
    pages_taken,
    size_of,
)

ROOT = Path(__file__).parents[3]

# A crawl that takes longer has come to a stop.
_PATIENCE_S = 1_800.0


@dataclass(frozen=True, slots=True)
class Crawler:
    """How a crawler is run."""

    folder: str  # Where, from the root of the repository
    # What; `--start`, `--proxy`, `--fetches` and `--target` are added, with as many dashes as `dash` has
    command: tuple[str, ...]
    # Programs that must be there, or files below `folder`; `~` and variables stand for what they do in a
    # shell
    tools: tuple[str, ...]
    dash: str = "--"
    # If its URLs wait in `linkscore frontier`: the crawl that it asks about; `--frontier` is added then
    frontier: str = ""


_HERE = "research/linkscore_research/crawlers"
_PYTHON = ".venv-crawlers/bin/python"
# The class path is what Maven wrote; the shell is replaced, so that the virtual machine is what is measured.
_JAVA = ("sh", "-c", 'exec java -cp "target/classes:$(cat target/classpath)" "$0" "$@"')
_NUTCH = (
    "sh",
    "-c",
    'exec java -Dlog4j2.configurationFile=log4j2.xml -cp "$NUTCH_HOME/conf:$NUTCH_HOME/lib/*" "$0" "$@"',
    "CrawlWithNutch.java",
)
# The example, as if it stood in the package that it imports.
_NODE = (
    "sh",
    "-c",
    "npm run --silent build && ln -sf ../../../examples/crawlee/crawl.mjs dist/"
    ' && exec node --preserve-symlinks-main dist/crawl.mjs "$@"',
    "crawlee",
)
CRAWLERS = {
    "scrapy": Crawler(".", (sys.executable, f"{_HERE}/crawl_with_scrapy.py"), ()),
    "colly": Crawler("examples/colly", ("go", "run", "."), ("go",), "-"),
    "crawlee": Crawler("clients/node", _NODE, ("npm", "node_modules")),
    "crawlee-python": Crawler(".", (_PYTHON, f"{_HERE}/crawl_with_crawlee.py"), (_PYTHON,)),
    "crawl4ai": Crawler(".", (_PYTHON, f"{_HERE}/crawl_with_crawl4ai.py"), (_PYTHON,)),
    "nutch": Crawler(
        f"{_HERE}/nutch",
        (*_NUTCH, "--plugins", "../../../../clients/java/nutch/target"),
        ("java", "mvn", "$NUTCH_HOME/plugins"),
    ),
    "stormcrawler": Crawler(
        f"{_HERE}/stormcrawler",
        (*_JAVA, "CrawlWithStormCrawler"),
        ("java", "mvn", "~/.m2/repository/org/apache/stormcrawler/stormcrawler-urlfrontier"),
        frontier="stormcrawler",
    ),
    "heritrix": Crawler(f"{_HERE}/heritrix", (*_JAVA, "CrawlWithHeritrix"), ("java", "mvn")),
}


@dataclass(frozen=True, slots=True)
class CrawlFigures:
    """What a crawl came to."""

    fetched: int  # Pages fetched, those of them that were wanted, and those that are not there
    wanted: int
    missing: int
    twice: int  # Fetches of a page that had been fetched
    seconds: float  # Time of the crawl, and processor time of the crawler, its start included
    cpu_s: float
    said: str  # The last line of its error output: counters
    hits: tuple[bool, ...] = ()  # Of each fetch, whether it brought a wanted page for the first time
    order: tuple[str, ...] = ()  # Of each fetch, its line: status and URL

    def share(self, first: int = 0, end: int | None = None) -> float:
        """Return the share of wanted pages among the fetches from `first` to `end`; nan of none.

        >>> CrawlFigures(4, 2, 0, 0, 0.0, 0.0, "", (True, False, False, True)).share(2)
        0.5
        """
        part = self.hits[first:end]
        return sum(part) / len(part) if part else nan

    def until(self, wanted: int) -> int | None:
        """Return after how many fetches so many wanted pages were found; None if they never were.

        >>> row = CrawlFigures(4, 2, 0, 0, 0.0, 0.0, "", (True, False, False, True))
        >>> tuple(row.until(n) for n in range(4))
        (0, 1, 4, None)
        """
        found = accumulate(self.hits, initial=0)
        return next((fetches for fetches, n in enumerate(found) if n == wanted), None)


def figures(
    output: str, errors: str, wanted: frozenset[str], seconds: float = 0.0, cpu_s: float = 0.0
) -> CrawlFigures:
    """Count what a crawler printed; a page fetched twice is wanted once.

    >>> output = "200\\thttp://a/1\\n200\\thttp://a/1#top\\n404\\thttp://a/2"
    >>> found = figures(output, "", frozenset({"http://a/1"}))
    >>> found.fetched, found.wanted, found.missing, found.twice, found.hits
    (3, 1, 1, 1, (True, False, False))
    """
    lines = [line for line in output.splitlines() if _is_fetch(line)]
    rows = [line.split("\t", 1) for line in lines]
    found: set[str | None] = set()
    hits = []
    for _, url in rows:
        page = identity_or_none(urldefrag(url).url)
        hits.append(page in wanted and page not in found)
        found.add(page)
    missing = sum(status != "200" for status, _ in rows)
    last = errors.strip().rpartition("\n")[2]
    twice = len(rows) - len(found)
    return CrawlFigures(len(rows), sum(hits), missing, twice, seconds, cpu_s, last, tuple(hits), tuple(lines))


def _is_fetch(line: str) -> bool:
    return "\t" in line


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
    *,
    frontier: str = "",
    outage: Interrupted | None = None,
    at: float = 0.5,
) -> CrawlFigures:
    """Crawl a site once, in the crawler's own order if `target` is empty."""
    options = {"start": bed.site.entry, "proxy": proxy, "fetches": str(budget), "target": target}
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
        output = _read(ran, max(1, int(budget * at)), outage)
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


def _read(ran: subprocess.Popen[str], when: int, outage: Interrupted | None) -> str:
    """Read what a crawler prints to its end, and let the outage happen after so many fetches."""
    lines: list[str] = []
    fetched = 0
    beside = threading.Thread(target=lambda: outage.happen(lambda: fetched)) if outage is not None else None
    assert ran.stdout is not None
    with ran.stdout as printed:
        for line in printed:
            lines.append(line)
            fetched += _is_fetch(line)
            if beside is not None and fetched == when and beside.ident is None:
                beside.start()
    if outage is not None and beside is not None and beside.ident is not None:
        outage.crawled()
        beside.join()
    return "".join(lines)


def frontier_command(target: str, crawl: str) -> Callable[[int, Path], list[str]]:
    """Return what gives the command of a frontier that asks the server at `target` about `crawl`."""
    options = ["--target", target, "--crawl", crawl, "--metrics-listen", "", "--log-level", "warning"]
    frontier = [sys.executable, "-m", "linkscore_cli", "frontier", *options]
    return lambda port, folder: [*frontier, "--listen", f"{LOOPBACK}:{port}", "--data-dir", str(folder)]


@contextmanager
def frontier_of(crawler: Crawler, target: str, log: Path) -> Iterator[str]:
    """Give the address of a frontier that orders by the server at `target`, or nothing if none is wanted."""
    if not crawler.frontier or not target:
        yield ""
        return
    with TemporaryDirectory(prefix="linkscore-") as data:
        frontier = OwnServer(Path(data), log, command=frontier_command(target, crawler.frontier))
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


def table_of_outage(
    title: str, outage: Interrupted, rows: dict[str, CrawlFigures], taken: dict[str, int]
) -> Table:
    """Return shares of wanted pages before an outage, meanwhile and after it: the same fetches of each row.

    What is found sooner is not there later, so the share after an outage says little by itself: a crawl that
    found more while its server was away has fewer wanted pages left. The column *as many found* has the share
    over as many fetches of each crawl, from the one at which it had found as many wanted pages as the crawl
    with the outage had at its end.
    """
    began, back = outage.began or 0, outage.back
    parts: dict[str, tuple[int, int | None]] = {"before": (0, began), "while away": (began, back)}
    starts: dict[str, int] = {}
    length = 0
    if back is not None:
        parts["after"] = (back, None)
        starts, length = equal_starts(rows, back)
    made = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    made.add_column("order")
    for heading, (first, end) in parts.items():
        made.add_column(f"{heading}\n{first + 1}-{'' if end is None else end}", justify="right")
    made.add_column(f"as many found\nnext {length}" if starts else "", justify="right")
    made.add_column("overall", justify="right")
    made.add_column("pages\ntaken in", justify="right")
    for name, row in rows.items():
        shares = [row.share(first, end) for first, end in parts.values()]
        equal = row.share(starts[name], starts[name] + length) if name in starts else nan
        texts = ["" if isnan(share) else f"{share:.3f}" for share in (*shares, equal, row.share())]
        made.add_row(name, *texts, f"{taken[name]:,}" if name in taken else "")
    return made


def equal_starts(rows: dict[str, CrawlFigures], back: int) -> tuple[dict[str, int], int]:
    """Return where crawls had found as many wanted pages as the last one had after `back` fetches."""
    *others, name = rows
    found = sum(rows[name].hits[:back])
    starts = {each: rows[each].until(found) for each in others} | {name: back}
    left = {each: rows[each].fetched - start for each, start in starts.items() if start is not None}
    length = min((n for each, n in left.items() if each != "plain"), default=0)
    return {each: starts[each] or 0 for each, n in left.items() if n >= length}, length


@dataclass(frozen=True, slots=True)
class Course:
    """What crawlers are tried on."""

    bed: Testbed  # The site, how many of its pages are fetched, and which are looked for
    budget: int
    wanted: frozenset[str]
    at: float  # Share of the budget that is spent when an outage begins
    others: Path  # Data that each server begins with: a folder, empty but for other crawls
    log: Path  # Where the servers write
    # Where the order of each crawl is written, if anywhere: status and URL of each fetch, and whether it
    # brought a wanted page
    keep: Path | None = None

    def run(self, name: str, outages: Sequence[Outage], *, plain: bool, linkscore: bool) -> None:
        """Crawl with one crawler, without an outage and with each, and print tables."""
        rows: dict[str, CrawlFigures] = {}
        taken: dict[str, int] = {}
        happened: dict[str, Interrupted] = {}
        if plain:
            rows["plain"] = self._crawl(CRAWLERS[name], "")
        if linkscore:
            rows["linkscore"], taken["linkscore"], _ = self._with_server(CRAWLERS[name], None)
        for outage in outages:
            rows[outage.name], taken[outage.name], event = self._with_server(CRAWLERS[name], outage)
            if event is not None and event.began is not None:
                happened[outage.name] = event
        if self.keep is not None:
            for order, row in rows.items():
                lines = (f"{line}\t{int(hit)}\n" for line, hit in zip(row.order, row.hits, strict=True))
                (self.keep / f"{name}-{order}.tsv").write_text("".join(lines), encoding="utf-8")
        Console().print(table(f"{name}, {self.bed.site.name}", rows))
        for outage_name, event in happened.items():
            beside = {row: rows[row] for row in ("plain", "linkscore", outage_name) if row in rows}
            Console().print(
                table_of_outage(f"{name}, {self.bed.site.name}: {outage_name}", event, beside, taken)
            )
        for order, row in rows.items():
            click.echo(f"{order}: {row.said}")

    def _with_server(
        self, crawler: Crawler, outage: Outage | None
    ) -> tuple[CrawlFigures, int, Interrupted | None]:
        """Crawl with a server that learned nothing of this before; also count the pages it took in."""
        with (
            TemporaryDirectory(prefix="linkscore-") as folder,
            data_disk(Path(folder), outage, size_of(self.others)) as data,
        ):
            shutil.copytree(self.others, data, dirs_exist_ok=True)
            server = OwnServer(data, self.log)
            server.start()
            try:
                with interrupted(server, data, outage) as event:
                    row = self._crawl(crawler, event.address if event else server.address, event)
                return row, pages_taken(server), event
            finally:
                server.stop()

    def _crawl(self, crawler: Crawler, target: str, outage: Interrupted | None = None) -> CrawlFigures:
        with frontier_of(crawler, target, self.log) as frontier:
            return crawl(
                crawler,
                self.bed,
                self.bed.proxy or self.bed.site.entry.rstrip("/"),
                self.budget,
                self.wanted,
                target,
                frontier=frontier,
                outage=outage,
                at=self.at,
            )


@contextmanager
def warc_testbed(warc: Path, labels: Path, latency_s: float) -> Iterator[Testbed]:
    """Serve a stored site on loopback, as a proxy, and give its testbed."""
    with (
        prepare_site([SiteSource([warc], labels)]) as site,
        SiteServer(site, latency_s=latency_s).running() as address,
    ):
        yield Testbed.of(site, site, address)


@click.command()
@click.argument("names", nargs=-1, required=True, type=click.Choice(list(CRAWLERS)))
@click.option("--warc", type=click.Path(exists=True, path_type=Path), help="A stored site.")
@click.option("--labels", type=click.Path(exists=True, path_type=Path), help="Labels of its pages.")
@click.option("--relevant", default="", help="Types of target pages, separated by commas.")
@click.option("--budget", default="25%", help="Pages, or share of the reachable pages.")
@click.option("--plain/--no-plain", default=True, help="Whether to crawl in the crawler's own order too.")
@click.option("--linkscore/--no-linkscore", default=True, help="Whether to crawl in linkscore's order.")
@click.option(
    "--outage", "outages", multiple=True, help="Crawl with a server that has it, away:10 for example."
)
@click.option("--at", default=0.5, help="Share of the budget that is spent when an outage begins.")
@click.option("--others", default=0, help="Other crawls, each of the whole site, the server has besides.")
@click.option("--latency", default=0.0, help="Seconds the site takes to answer.")
@click.option(
    "--keep",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder for the order of each crawl.",
)
def main(
    names: Sequence[str],
    warc: Path | None,
    labels: Path | None,
    relevant: str,
    budget: str,
    plain: bool,
    linkscore: bool,
    outages: Sequence[str],
    at: float,
    others: int,
    latency: float,
    keep: Path | None,
) -> None:
    """Crawl a site with real crawlers, plain and in linkscore's order, and print a table."""
    if (warc is None) != (labels is None):
        raise click.UsageError("--warc and --labels go together")
    if latency and warc is None:
        raise click.UsageError("--latency is of a stored site: --warc")
    try:
        wished = [Outage.parse(text) for text in outages]
    except ValueError as error:
        raise click.UsageError(f"--outage {error}") from error
    with ExitStack() as stack:
        testbed = demo_testbed(1)
        if warc is not None and labels is not None:
            testbed = warc_testbed(warc, labels, latency)
        bed = stack.enter_context(testbed)
        log = ROOT / "out" / "crawlers.log"
        log.parent.mkdir(exist_ok=True)
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="linkscore-others-")))
        if others:
            make_crawls(folder, log, others, bed.site, list(bed.pages))
        looked_for = bed.wanted(relevant.split(",") if relevant else DEMO_WANTED)
        course = Course(bed, bed.budget(budget), looked_for, at, folder, log, keep)
        for name in names:
            if missing := lacks(CRAWLERS[name]):
                click.echo(f"{name}: skipped, there is no {' and no '.join(missing)}")
                continue
            course.run(name, wished, plain=plain, linkscore=linkscore)


if __name__ == "__main__":
    sys.exit(main())
