"""How fast views of the console are on a big crawl, and what an open console costs a crawl.

`python -m benchmarks.console_load views` fills a site with what 100,000 pages of 2,000 templates leave: every
bounded table of the model at its bound. `python -m benchmarks.console_load ingest` takes in pages in turns,
with and without three tabs open. Run it alone on the machine; CPU says what it would take there.
"""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from starlette.testclient import TestClient

from linkscore import Client, page
from linkscore_console import ConsoleSettings, console_app
from linkscore_scoring.clustering.templates import ClusterStats
from linkscore_scoring.site.learning import SampledPage
from linkscore_scoring.site.model import SiteModel
from linkscore_server import app as server_app

HOST, CRAWL = "big.test", "big"
PAGES, TEMPLATES = 100_000, 2_000
LINKS, SAMPLE, PATHS = 200_000, 2_000, 2_000
"""Links remembered and pages sampled, both at their bounds; tag paths, a tenth of theirs."""
LOOKS = 20
SITE = f"/crawls/{CRAWL}/sites/{HOST}"
VIEWS = {
    "crawls": "/",
    "map": f"{SITE}/map",
    "template": f"{SITE}/map/c7",
    "frontier": f"{SITE}/frontier",
    "harvest": f"{SITE}/harvest",
    "teach": f"{SITE}/teach",
    "rules": f"{SITE}/rules",
}


def body_of(n: int) -> bytes:
    """Return a page of one of a few templates, with twenty links."""
    links = "".join(
        f'<li><a class="k{n % 7}" href="/t{i % 9}/{(n * 31 + i * 17) % 40_000}">go {i}</a>' for i in range(20)
    )
    text = f"This is the text of page {n}, found on no other page of the site, number {n * 7}. "
    return f"<html><body><ul>{links}</ul><div class='b{n % 7}'><p>{text * 5}</p></div>".encode()


def fill(site: SiteModel) -> None:
    """Give a site what a big crawl leaves: tables at their bounds, 2,000 templates."""
    draw = random.Random(1)
    assert site.templates is not None
    stats = [
        ClusterStats(at, 1 + draw.randrange(50), draw.random(), f"http://{HOST}/t{at}/{at}", ("html/body/p",))
        for at in range(TEMPLATES)
    ]
    site.templates.clusters = tuple(stats)
    site.crawled.clear()
    site.crawled.update(dict.fromkeys(range(TEMPLATES), PAGES // TEMPLATES))
    site.pages = PAGES
    paths = [site.link_paths.intern(f"html/body/div[c{at}]/ul/li/a[l{at}]") for at in range(PATHS)]
    patterns = [site.patterns.levels(f"http://{HOST}/t{at}/{at}")[-1] for at in range(300)]
    links = site.memory._links
    for key in range(LINKS):
        fetched = key < PAGES
        links[key] = [
            3,
            key % TEMPLATES if fetched else -3,
            patterns[key % 300],
            key % PAGES,
            paths[key % PATHS].id,
        ]
    for at in range(20_000):
        event = _Fetched(at)
        site.history._known[at] = event  # type: ignore[assignment]
    empty = site.sample[0].paths
    site.sample.clear()
    site.sample.extend(SampledPage.of(at, f"http://{HOST}/t{at}/{at}", at, empty, []) for at in range(SAMPLE))
    for at in range(TEMPLATES):
        for path in draw.sample(paths, 6):
            site.navigation.observe_links(at, [path.id], [draw.randrange(1, 90)])
            site.navigation.observe_destination(at, path.id, path.classless, draw.randrange(TEMPLATES))


class _Fetched:
    """A fetch as the history remembers it."""

    is_page, reward, pattern, link_path = True, -1.0, 1, 1

    def __init__(self, at: int) -> None:
        self.at, self.text = at, (at % 10) / 10


def timed(look: Callable[[], object]) -> str:
    """Return median and 95th percentile of some calls: milliseconds that passed, and CPU of all."""
    passed, used = [], []
    for _ in range(LOOKS):
        started, cpu = time.perf_counter(), time.process_time()
        look()
        passed.append(1_000 * (time.perf_counter() - started))
        used.append(1_000 * (time.process_time() - cpu))
    figures = [(statistics.median(one), statistics.quantiles(one, n=20)[-1]) for one in (passed, used)]
    return "median {:7.1f} p95 {:7.1f} ms   CPU median {:7.1f} p95 {:7.1f} ms".format(
        *figures[0], *figures[1]
    )


@click.group()
def main() -> None:
    """Measure the console."""


@main.command()
def views() -> None:
    """Time each view on a big crawl, nothing remembered, beside the calls it makes."""
    with TemporaryDirectory() as folder, server_app.private_server(Path(folder)) as target:
        with Client(target, timeout_s=60) as client:
            client.create_crawl(crawl=CRAWL)
            client.ingest_pages(
                crawl=CRAWL,
                pages=[page(url=f"http://{HOST}/t{n % 9}/{n}", body=body_of(n)) for n in range(60)],
            )
            client.learn_site(crawl=CRAWL, site=HOST, timeout_s=60)
            fill(_MODELS[0])
            raw = {
                "GetActivity": lambda: client.get_activity(crawl=CRAWL),
                "ListTemplates": lambda: client.list_templates(
                    crawl=CRAWL, site=HOST, page_size=60, max_exits=8
                ),
                "ListTemplatePages": lambda: client.list_template_pages(
                    crawl=CRAWL, site=HOST, template="c7"
                ),
                "ListBuckets": lambda: client.list_buckets(crawl=CRAWL, site=HOST, page_size=50),
                "GetHarvest": lambda: client.get_harvest(crawl=CRAWL, site=HOST),
                "GetSite": lambda: client.get_site_advice(crawl=CRAWL, site=HOST),
            }
            for name, call in raw.items():
                print(f"rpc   {name:<18} {timed(call)}", flush=True)
        app = console_app(ConsoleSettings(target, timeout_s=60))
        with TestClient(app, base_url="http://127.0.0.1") as browser:
            source = app._app.state.console.source  # type: ignore[attr-defined]
            for name, path in VIEWS.items():

                def look(path: str = path) -> None:
                    source._answers.clear()
                    assert browser.get(path).status_code == 200, path

                print(f"view  {name:<18} {timed(look)}", flush=True)


_MODELS: list[SiteModel] = []
_init = SiteModel.__init__


def _noted(self: SiteModel, name: str, *rest: object) -> None:
    """Note the model of the site, so that it can be filled."""
    _init(self, name, *rest)  # type: ignore[arg-type]
    if name == HOST:
        _MODELS.append(self)


SiteModel.__init__ = _noted  # type: ignore[method-assign]


@main.command()
@click.option(
    "--pages", default=6_000, help="Pages of a turn: it should last well over the 5 s between two looks."
)
@click.option("--turns", default=6, help="Turns, every other one with the console open.")
def ingest(pages: int, turns: int) -> None:
    """Take in pages with and without an open console."""
    command = [sys.executable, "-m", "linkscore_cli"]
    with TemporaryDirectory() as folder:
        serve = subprocess.Popen(
            [*command, "serve", "--listen", "127.0.0.1:0", "--metrics-listen", "", "--data-dir", folder],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert serve.stdout is not None
        target = serve.stdout.readline().split()[-1]
        look = subprocess.Popen(
            [*command, "console", "--target", target, "--listen", "127.0.0.1:0"],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert look.stderr is not None
        address = look.stderr.readline().split()[-1].rstrip("/")
        try:
            _turns(target, address, pages, turns)
            status = Path(f"/proc/{look.pid}/status").read_text()
            print("console", next(line for line in status.splitlines() if line.startswith("VmHWM")))
        finally:
            look.terminate()
            serve.terminate()
            look.wait()
            serve.wait()


def _turns(target: str, address: str, pages: int, turns: int) -> None:
    rates: dict[bool, list[float]] = {False: [], True: []}
    with Client(target, timeout_s=60) as client:
        client.create_crawl(crawl=CRAWL)
        _take_in(client, 0, 300)
        for turn in range(turns):
            is_open = turn % 2 == 1
            stop = threading.Event()
            with ThreadPoolExecutor() as tabs:
                for view in ("map", "frontier", "harvest") if is_open else ():
                    tabs.submit(_tab, f"{address}{SITE}/{view}", stop)
                rates[is_open].append(_take_in(client, 300 + turn * pages, pages))
                stop.set()
            print(
                f"console {'open  ' if is_open else 'closed'} {rates[is_open][-1]:7.1f} pages/s", flush=True
            )
    closed, open_ = statistics.median(rates[False]), statistics.median(rates[True])
    print(f"slowed by {100 * (1 - open_ / closed):.1f} %")


def _take_in(client: Client, first: int, pages: int) -> float:
    started = time.perf_counter()
    for at in range(first, first + pages, 20):
        client.ingest_pages(
            crawl=CRAWL,
            pages=[page(url=f"http://{HOST}/t{n % 9}/{n}", body=body_of(n)) for n in range(at, at + 20)],
        )
    return pages / (time.perf_counter() - started)


def _tab(address: str, stop: threading.Event) -> None:
    """Ask for a page every five seconds, as its script does."""
    while not stop.is_set():
        urllib.request.urlopen(address).close()
        stop.wait(5.0)


if __name__ == "__main__":
    main()
