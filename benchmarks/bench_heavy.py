"""What a light call waits for while others send heavy pages, and pages a second of one process."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.bench_ingest import ingest
from benchmarks.pages import Corpus, Page, message
from benchmarks.servers import Server, create_crawl, linkscore
from benchmarks.table import Row
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore.v1 import link_scoring_service_pb2_grpc as pb_grpc
from linkscore_scoring.kernels import KERNELS, PURE

LIGHT, CALLS, TOGETHER = 300, 200, 20
HEAVY_KB = (100, 400, 1_500)
"""Pages of lists: the first is for the threads of the compiled reader; others are large, by their tags."""
HEAVY_SENDERS = 2


def run(corpus: Corpus) -> list[Row]:
    """Return latencies of calls with a light page, alone and beside heavy ones, and pages a second."""
    site = corpus.names[0]
    pages = corpus.pages(site, LIGHT + (len(HEAVY_KB) + 1) * CALLS + LIGHT)
    rows = []
    for native in (False, True) if KERNELS is not PURE else (False,):
        reader = ", compiled reader" if native else ""
        with linkscore(native=native) as server:
            rows += [*_latencies(server, site, pages[:-LIGHT], reader)]
            rows.append(_throughput(server, site, pages[-LIGHT:], reader))
    return rows


def _latencies(server: Server, site: str, pages: Sequence[Page], reader: str) -> Iterator[Row]:
    light, heavy = create_crawl(server, f"{site}-light"), create_crawl(server, f"{site}-heavy")
    ingest(server, light, pages[:LIGHT], TOGETHER)
    for part, kilobytes in enumerate((0, *HEAVY_KB)):
        calls = pages[LIGHT + part * CALLS :][:CALLS]
        seconds = _beside(server, light, calls, heavy, kilobytes)
        beside = f"beside pages of {kilobytes} kB" if kilobytes else "alone"
        for name, q in (("median", 0.5), ("p99", 0.99)):
            yield Row(
                f"Light call {beside}{reader}, {name}", site, 1e3 * float(np.quantile(seconds, q)), "ms"
            )


def _beside(server: Server, light: str, pages: Sequence[Page], heavy: str, kilobytes: int) -> list[float]:
    """Return seconds of each light call while `HEAVY_SENDERS` others send a heavy page after the other."""
    call = pb_grpc.LinkScoringServiceStub(server.channel).IngestPages
    stop = threading.Event()

    body = _heavy(kilobytes)  # made once: senders share the interpreter of the light caller

    def send(number: int) -> None:
        sent = 0
        while not stop.is_set():
            sent += 1
            page = Page(f"https://heavy.test/{kilobytes}/{number}/{sent}", "text/html", body)
            call(pb.IngestPagesRequest(crawl=heavy, pages=[message(page)]))

    senders = [threading.Thread(target=send, args=(n,)) for n in range(HEAVY_SENDERS if kilobytes else 0)]
    for sender in senders:
        sender.start()
    seconds = []
    for page in pages:
        request = pb.IngestPagesRequest(crawl=light, pages=[message(page)])
        started = time.perf_counter()
        call(request)
        seconds.append(time.perf_counter() - started)
    stop.set()
    for sender in senders:
        sender.join()
    return seconds


def _heavy(kilobytes: int) -> bytes:
    """Return a list page of so many kilobytes, a link and a line of text in each 200 bytes."""
    row = '<li class="row"><a class="title" href="/item/{n}">Item {n}</a><p class="text">{text}</p></li>\n'
    text = "some words about it, " * 5
    rows = "".join(row.format(n=n, text=text) for n in range(kilobytes * 5))
    return f"<html><body><ul>{rows}</ul></body></html>".encode()


def _throughput(server: Server, site: str, pages: Sequence[Page], reader: str) -> Row:
    """Return pages a second of one process, ten a call, four calls at a time; the client has another core."""
    crawl = create_crawl(server, f"{site}-many")
    call = pb_grpc.LinkScoringServiceStub(server.channel).IngestPages
    requests = [
        pb.IngestPagesRequest(crawl=crawl, pages=[message(page) for page in pages[at : at + 10]])
        for at in range(0, len(pages), 10)
    ]
    started = time.perf_counter()
    waiting = []
    for request in requests:
        waiting.append(call.future(request))
        if len(waiting) == 4:
            waiting.pop(0).result()
    for answer in waiting:
        answer.result()
    per_s = len(pages) / (time.perf_counter() - started)
    return Row(f"Pages a second of one process{reader}", site, per_s, "pages/s")
