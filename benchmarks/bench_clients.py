"""Pages a second through each client, and what a page costs: ``python -m benchmarks.bench_clients go java``.

Each client is driven as in `linkscore conformance`, by its driver, which must be built (`make test-clients`
does). It sends pages one a call, then as many in one stream, to one scripted server on loopback, which
answers every link of a page at once, so that the client is what is measured; to another server with
``--target``. A page has 20 kB and 50 links. The driver reads it as JSON and writes its links as JSON, which
counts with the client. One process each, one after the other.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
from tools.test_clients import LANGUAGES, ROOT

from linkscore_lab.conformance.driver import Driver
from linkscore_lab.conformance.fake import FakeServer

CRAWL = "bench"
WARM_UP = 100  # calls: a virtual machine compiles what runs often
STREAMED = 50  # pages of one stream: a command to the driver holds all of them
TICKS_S = 1 / os.sysconf("SC_CLK_TCK")
TEXT = "Words about something that somebody wrote on a page that has fifty links. " * 5
PAGE = "".join(f'<p>{TEXT}<a href="/good/{n}">link {n}</a></p>' for n in range(50))


def drivers(names: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Give name and command of each client's driver; of Python's both."""
    for language in LANGUAGES:
        for command in language.drivers if not names or language.name in names else ():
            name = language.name + ("".join(command[3:]) if language.name == "python" else "")
            words = " ".join(f"'{word}'" for word in command)
            yield name, ["sh", "-c", f"cd {ROOT / language.folder} && exec {words}"]


def spent_s(pid: int) -> float:
    """Return the processor time of a process, all threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICKS_S  # utime and stime, proc(5)


@contextmanager
def server_at(target: str) -> Iterator[str]:
    """Give the address of a server: one of our own if none is named."""
    if target:
        yield target
    else:
        with FakeServer() as server:
            yield server.target


def measured(driver: Driver, call: str, pages: int, each: int) -> tuple[float, float]:
    """Send pages, so many a command; return pages a second, and milliseconds of processor time a page."""
    began, before = time.monotonic(), spent_s(driver.pid)
    for n in range(0, pages, each):
        sent = [{"url": f"http://a.test/{call}/{n + i}", "body": PAGE} for i in range(each)]
        driver.call(call, crawl=CRAWL, pages=sent)
    took, spent = time.monotonic() - began, spent_s(driver.pid) - before
    return pages / took, 1_000 * spent / pages


@click.command()
@click.argument("names", nargs=-1)
@click.option("--pages", default=1_000, help="Pages each way.")
@click.option("--target", default="", help="A server that runs.")
def main(names: Sequence[str], pages: int, target: str) -> None:
    """Print a line a client and a way to send."""
    for name, command in drivers(names):
        with server_at(target) as address, Driver(command) as driver:
            driver.call("connect", target=address, timeout_ms=60_000)
            driver.call("ensure", crawl=CRAWL)
            measured(driver, "ingest", WARM_UP, 1)
            for call, each in (("ingest", 1), ("stream", STREAMED)):
                rate, cost_ms = measured(driver, call, pages, each)
                print(f"{name:14} {call:7} {rate:6,.0f} pages/s {cost_ms:6.2f} ms CPU a page", flush=True)


if __name__ == "__main__":
    main()
