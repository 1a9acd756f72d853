"""CPU of the server for each event of ReportFeedback, durable, by what the events name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from statistics import median

from benchmarks.bench_ingest import await_learned
from benchmarks.pages import Corpus, message
from benchmarks.servers import Server, create_crawl, linkscore
from benchmarks.table import Row
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore.v1 import link_scoring_service_pb2_grpc as pb_grpc

TARGET_US = 100.0
"""10,000 events a second on one core."""
BATCH, BATCHES, ROUNDS = 1_000, 5, 5
_PAGES = 220


def run(corpus: Corpus) -> list[Row]:
    """Return microseconds of CPU an event: for pages ingested, for links never fetched, by ticket alone."""
    site = corpus.names[0]
    with linkscore() as server:
        crawl = create_crawl(server, site)
        pages, links, tickets = _crawled(server, crawl, corpus, site)
        await_learned(server, crawl)
        kinds = {
            "pages ingested": [pb.Feedback(url=url) for url in pages],
            "links never fetched": [pb.Feedback(url=url) for url in links],
            "by ticket alone": [pb.Feedback(ticket=ticket) for ticket in tickets],
        }
        return [
            Row(
                f"ReportFeedback, {name}",
                site,
                _us_per_event(server, crawl, named),
                "us CPU/event",
                target=TARGET_US,
            )
            for name, named in kinds.items()
        ]


def _crawled(
    server: Server, crawl: str, corpus: Corpus, site: str
) -> tuple[list[str], list[str], list[bytes]]:
    """Ingest pages; return their URLs, the URLs of links found and not fetched, and tickets."""
    call = pb_grpc.LinkScoringServiceStub(server.channel).IngestPages
    pages = [message(page) for page in corpus.pages(site, _PAGES)]
    links: dict[str, bytes] = {}
    for at in range(0, len(pages), 10):
        for result in call(pb.IngestPagesRequest(crawl=crawl, pages=pages[at : at + 10])).results:
            found = result.links
            links.update(
                (url, found.ticket_values[i]) for url, i in zip(found.urls, found.tickets, strict=True)
            )
    fetched = [page.url for page in pages]
    waiting = [url for url in links if url and url not in set(fetched)]
    return fetched, waiting, list(dict.fromkeys(links.values()))


def _us_per_event(server: Server, crawl: str, named: Sequence[pb.Feedback]) -> float:
    call = pb_grpc.LinkScoringServiceStub(server.channel).ReportFeedback
    events = _events(named)
    spent = []
    for _ in range(ROUNDS):
        requests = [
            pb.ReportFeedbackRequest(crawl=crawl, feedback=islice(events, BATCH)) for _ in range(BATCHES)
        ]
        before = server.cpu_s()
        for request in requests:
            call(request)
        spent.append((server.cpu_s() - before) / (BATCH * BATCHES) * 1e6)
    return median(spent)


def _events(named: Sequence[pb.Feedback]) -> Iterator[pb.Feedback]:
    """Yield events about the same things again and again, each under an id of its own."""
    for number, item in enumerate(cycle(named)):
        event = pb.Feedback(event_id=f"{id(named):x}-{number}", reward=(number % 5) / 4)
        event.MergeFrom(item)
        yield event
