"""CPU of the questions a crawler asks of its frontier: ScoreLinks against an echo, and RankBuckets."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import cycle, islice
from statistics import median

from benchmarks.bare_server import ECHO
from benchmarks.bench_ingest import await_learned
from benchmarks.pages import Corpus, message
from benchmarks.servers import Server, bare, create_crawl, linkscore
from benchmarks.table import Row
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore.v1 import link_scoring_service_pb2_grpc as pb_grpc
from linkscore.v1.policy_pb2 import AnthelionParams, PolicySpec

LINKS, BUCKETS = 1_000, 10_000
LINKS_TARGET, CLASSIFIER_TARGET = 10.0, 13.0
"""Times an echo."""
BUCKETS_TARGET_MS = 4.0
"""For buckets of which some 260 are distinct, as a crawl of a site has them."""
ROUNDS, CALLS = 7, 20
_PAGES = 220


def run(corpus: Corpus) -> list[Row]:
    """Return a row for each site and question: CPU milliseconds a call."""
    rows = []
    with linkscore() as ours, bare() as other:
        for site in corpus.names:
            crawl = create_crawl(ours, site)
            links, buckets = _frontier(ours, crawl, corpus, site)
            stub = pb_grpc.LinkScoringServiceStub(ours.channel)
            scoring = pb.ScoreLinksRequest(crawl=crawl, links=links)
            ranking = pb.RankBucketsRequest(crawl=crawl, buckets=buckets)
            echo = other.channel.unary_unary(ECHO, pb.ScoreLinksRequest.SerializeToString, scoring.FromString)
            first = _cpu_ms(ours, partial(stub.ScoreLinks, scoring), calls=1)
            mine, its = _compare(ours, partial(stub.ScoreLinks, scoring), other, partial(echo, scoring))
            named = f"ScoreLinks, {len(links)} links"
            rows.append(Row(f"{named} never asked about", site, first, "ms CPU/call", its, LINKS_TARGET))
            rows.append(Row(f"{named} asked about again", site, mine, "ms CPU/call", its, LINKS_TARGET))
            spent = median(_cpu_ms(ours, partial(stub.RankBuckets, ranking)) for _ in range(ROUNDS))
            given = f"RankBuckets, {len(buckets)} buckets, {len(set(buckets))} distinct"
            rows.append(Row(given, site, spent, "ms CPU/call", target=BUCKETS_TARGET_MS))
            rows.append(_classifier_row(ours, other, corpus, site))
    return rows


def _classifier_row(ours: Server, other: Server, corpus: Corpus, site: str) -> Row:
    """Return the row of ScoreLinks by a classifier that was taught by every second page."""
    crawl = create_crawl(ours, f"{site}-taught", policy=PolicySpec(anthelion=AnthelionParams()))
    links, _ = _frontier(ours, crawl, corpus, site, taught=True)
    scoring = pb.ScoreLinksRequest(crawl=crawl, links=links)
    ask = partial(pb_grpc.LinkScoringServiceStub(ours.channel).ScoreLinks, scoring)
    echo = other.channel.unary_unary(ECHO, pb.ScoreLinksRequest.SerializeToString, scoring.FromString)
    mine, its = _compare(ours, ask, other, partial(echo, scoring))
    named = f"ScoreLinks, {len(links)} links, anthelion"
    return Row(named, site, mine, "ms CPU/call", its, CLASSIFIER_TARGET)


def _frontier(
    server: Server, crawl: str, corpus: Corpus, site: str, *, taught: bool = False
) -> tuple[list[pb.CandidateLink], list[str]]:
    """Crawl a site until it is learned; return the latest links with tickets, and buckets, repeated."""
    stub = pb_grpc.LinkScoringServiceStub(server.channel)
    links: dict[str, bytes] = {}
    buckets: dict[str, None] = {}
    pages = [message(page) for page in corpus.pages(site, _PAGES)]
    for at in range(0, len(pages), 10):
        some = pages[at : at + 10]
        for result in stub.IngestPages(pb.IngestPagesRequest(crawl=crawl, pages=some)).results:
            found = result.links
            buckets.update(dict.fromkeys(found.bucket_names))
            links.update(
                (url, found.ticket_values[i]) for url, i in zip(found.urls, found.tickets, strict=True)
            )
        if taught:
            labels = [pb.Feedback(url=page.url, reward=i % 2) for i, page in enumerate(some)]
            stub.ReportFeedback(pb.ReportFeedbackRequest(crawl=crawl, feedback=labels))
    await_learned(server, crawl)
    newest = list(links.items())[-LINKS:]
    return [pb.CandidateLink(url=url, ticket=ticket) for url, ticket in newest], list(
        islice(cycle(buckets), BUCKETS)
    )


def _compare(
    ours: Server, ask: Callable[[], object], other: Server, echo: Callable[[], object]
) -> tuple[float, float]:
    ask()
    echo()
    spent = [(_cpu_ms(ours, ask), _cpu_ms(other, echo)) for _ in range(ROUNDS)]
    its = median(its for _, its in spent)
    return median(mine / its for mine, its in spent) * its, its


def _cpu_ms(server: Server, ask: Callable[[], object], calls: int = CALLS) -> float:
    before = server.cpu_s()
    for _ in range(calls):
        ask()
    return (server.cpu_s() - before) / calls * 1e3
