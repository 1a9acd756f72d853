"""CPU of IngestPages in crawls that learn when to fetch again, against a crawl that does not.

One server has the three crawls. Each takes ten pages, call by call, then the next one the same; after all
pages of a site they come again, a day later.
"""

from __future__ import annotations

from collections import deque
from itertools import product
from statistics import median

from benchmarks.pages import Corpus, Page, message
from benchmarks.servers import Server, linkscore
from benchmarks.table import Row
from linkscore import Client
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore.v1 import link_scoring_service_pb2_grpc as pb_grpc
from linkscore_scoring.kernels import KERNELS, PURE

TARGET = 1.05
PAGES = 200
VISITS = 3
PART = 10
START_S, DAY_S = 1_700_000_000, 86_400
SETTINGS = {"revisits": {}, "revisits, fetches_per_day": {"fetches_per_day": 100.0}}


def run(corpus: Corpus) -> list[Row]:
    """Return a row for each site and setting."""
    rows = []
    with linkscore(native=KERNELS is not PURE) as server:
        for site in corpus.names:
            plain, spent = compare(server, site, corpus.pages(site, PAGES))
            for name, ratios in spent.items():
                mine = median(ratios) * plain
                rows.append(Row(f"IngestPages, {name}", site, mine, "ms CPU/page", plain, TARGET))
    return rows


def compare(server: Server, site: str, pages: list[Page]) -> tuple[float, dict[str, list[float]]]:
    """Return CPU milliseconds a page without revisits, a median, and ratios to it by setting."""
    plain: list[float] = []
    found: dict[str, list[float]] = {name: [] for name in SETTINGS}
    crawls = {name: f"{site}-{at}" for at, name in enumerate(["", *SETTINGS])}
    with Client(server.address) as client:
        client.create_crawl(crawl=crawls[""])
        for name, revisit in SETTINGS.items():
            client.create_crawl(crawl=crawls[name], revisit=revisit)
    names = deque(crawls)
    for visit, first in product(range(VISITS), range(0, len(pages), PART)):
        part, spent = pages[first : first + PART], dict.fromkeys(crawls, 0.0)
        names.rotate()
        for name in names:
            before = server.cpu_s()
            ingest(server, f"crawls/{crawls[name]}", part, visit)
            spent[name] = (server.cpu_s() - before) / len(part) * 1e3
        plain.append(spent[""])
        for name, ratios in found.items():
            ratios.append(spent[name] / spent[""])
    return median(plain), found


def ingest(server: Server, crawl: str, pages: list[Page], day: int) -> None:
    """Send pages as fetched on a day, one a call."""
    call = pb_grpc.LinkScoringServiceStub(server.channel).IngestPages
    for page in pages:
        sent = message(page)
        sent.event_id += f"-{day}"
        sent.fetch_time.seconds = START_S + day * DAY_S
        call(pb.IngestPagesRequest(crawl=crawl, pages=[sent]))
