"""A broad crawl of very many small sites: ``python -m benchmarks.broad [--sites 100000]``.

Sites are drawn ones of the synthetic corpus under names of their own: of each ten, six have one page, three
have 3 and one has 30. A crawler has some thousand of them in work at a time and sends ten pages a call, of
ten sites. The server has its defaults, which are for 2 GB. A row says what has come so far: sites, pages, CPU
of the server a page since the row before, its resident memory, how many sites it has there, and what it says
that these take.
"""

from __future__ import annotations

import argparse
import re
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice

from benchmarks.servers import Server, create_crawl, linkscore
from linkscore.v1 import common_pb2, crawl_service_pb2, crawl_service_pb2_grpc
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore.v1 import link_scoring_service_pb2_grpc as pb_grpc
from linkscore_lab.datasets.demo_site import DemoSite

PAGES = (1, 1, 3, 1, 1, 30, 3, 1, 1, 3)
"""Pages of ten sites that follow each other."""

IN_WORK, A_CALL, DRAWN, ROWS = 2_000, 10, 40, 20
"""Sites in work at a time, pages of a call, sites drawn that give the pages, and rows of the table."""

COLUMNS = ("sites", "pages", "CPU a page, ms", "RSS, MB", "sites in memory", "estimated, MB")

_Pages = Sequence[tuple[str, bytes]]


def main() -> None:
    """Crawl, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sites", type=int, default=100_000)
    args = parser.parse_args()
    print(f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|", sep="\n")
    with linkscore(native=True) as server:
        crawl(server, args.sites)


def crawl(server: Server, count: int) -> None:
    """Send the pages of so many sites, and print rows on the way."""
    name = create_crawl(server, "broad")
    ingest = pb_grpc.LinkScoringServiceStub(server.channel).IngestPages
    pages, sent = pages_in_turn(count), 0
    each = sum(PAGES) * count // len(PAGES) // ROWS
    cpu_s = server.cpu_s()
    while some := list(islice(pages, A_CALL)):
        ingest(pb.IngestPagesRequest(crawl=name, pages=some))
        sent += len(some)
        if sent % each < A_CALL:
            before, cpu_s = cpu_s, server.cpu_s()
            print(row(server, sent, (cpu_s - before) / each * 1e3), flush=True)


def pages_in_turn(count: int) -> Iterator[common_pb2.Page]:
    """Yield the pages of sites, of those in work one each in turn."""
    drawn = [drawn_pages(seed) for seed in range(1_000, 1_000 + DRAWN)]
    new = (pages_of(n, drawn[n % DRAWN]) for n in range(count))
    at_work = deque(islice(new, IN_WORK))
    while at_work:
        site = at_work.popleft()
        if (page := next(site, None)) is not None:
            yield page
            at_work.append(site)
        elif (other := next(new, None)) is not None:
            at_work.append(other)


def drawn_pages(seed: int) -> _Pages:
    """Return path and body of the first pages of a drawn site."""
    site = DemoSite(seed, n_threads=60, n_members=30)
    urls = list(site.labels())[: max(PAGES)]
    host = _host_of(urls[0])
    return [
        (url.partition(host)[2], site.respond(url).body.replace(host.encode(), b"\0host\0")) for url in urls
    ]


def pages_of(number: int, drawn: _Pages) -> Iterator[common_pb2.Page]:
    """Yield the pages of one site, under its own name."""
    host = f"site-{number}.test"
    for path, body in drawn[: PAGES[number % len(PAGES)]]:
        yield common_pb2.Page(
            url=f"https://{host}{path}",
            status_code=200,
            content_type="text/html",
            body=body.replace(b"\0host\0", host.encode()),
        )


def row(server: Server, sent: int, cpu_ms: float) -> str:
    """Return a line of the table."""
    stub = crawl_service_pb2_grpc.CrawlServiceStub(server.channel)
    [shard] = stub.ListShards(crawl_service_pb2.ListShardsRequest()).shards
    cells = (
        f"{shard.site_count:,}",
        f"{sent:,}",
        f"{cpu_ms:.2f}",
        f"{server.rss_bytes() / 1e6:,.0f}",
        f"{shard.live_site_count:,}",
        f"{shard.memory_bytes / 1e6:,.0f}",
    )
    return f"| {' | '.join(cells)} |"


def _host_of(url: str) -> str:
    found = re.match(r"https?://([^/]+)", url)
    assert found is not None, "of a page"
    return found.group(1)


if __name__ == "__main__":
    main()
