"""Crawls of generated sites, recorded as events."""

from __future__ import annotations

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import Event, FeedbackGiven, ModelActivated, PageFetched, decode, encode
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.site.learning import LearningConfig, SiteBounds, run
from linkscore_scoring.state import packed
from linkscore_scoring.testing.crawl import GeneratedSite, page_of


def config(**changes: object) -> CrawlConfig:
    """Return a configuration that learns after 24 pages."""
    return CrawlConfig("c", **{"learning": LearningConfig(sample_pages=24), **changes})


def model(**changes: object) -> CrawlModel:
    """Return a new crawl."""
    return CrawlModel(config(**changes), ticket_key=b"key")


def small(**bounds: int) -> SiteBounds:
    """Return bounds that are soon reached."""
    return SiteBounds(**{"links": 60, "contexts": 2, "blocks": 60, "apaths": 5, "arms": 20, **bounds})


def fetched(
    url: str,
    features: PageFeatures | None = None,
    *,
    site: str = "h",
    event_id: str = "",
    ticket: bytes = b"",
    requested: str = "",
) -> PageFetched:
    """Return the event of a fetch."""
    status = 200 if features else 500
    return PageFetched(event_id, site, url, requested or url, status, "", ticket, 0.0, features)


def page(url: str, *links: str, **more: object) -> PageFetched:
    """Return the event of a page with links of one link path."""
    return fetched(
        url, page_of(url, ["html/body/p/text()"], links=[(to, "html/body/a") for to in links]), **more
    )


def recorded(pages: int = 60, **changes: object) -> tuple[CrawlModel, list[bytes]]:
    """Crawl a generated site in its own order; return the crawl and its log, learnings included."""
    site, crawl, log = GeneratedSite(3), model(**changes), list[bytes]()

    def apply(event: Event) -> None:
        log.append(encode(event))
        crawl.apply(len(log), decode(log[-1]))

    queue, seen = [site.home], {site.home}
    for n in range(pages):
        url = queue.pop(0)
        features = site.page(url)
        apply(fetched(url, features, site="site.example", event_id=f"p{n}"))
        if n % 7 == 0:
            apply(FeedbackGiven(f"f{n}", "site.example", url, b"", 0.5, 0.0))
        for link in features.links.urls if features else []:
            if link not in seen:
                seen.add(link)
                queue.append(link)
        for job in crawl.take_jobs():
            learned = run(job)
            apply(ModelActivated(job.site, job.built_from_seq, learned.to_state()))
    return crawl, log


def replayed(log: list[bytes], crawl: CrawlModel | None = None, *, first: int = 1) -> CrawlModel:
    """Apply a log to a new crawl, or to one that knows its beginning."""
    crawl = crawl or model()
    for seq, raw in enumerate(log, start=first):
        crawl.apply(seq, decode(raw))
    return crawl


def state(crawl: CrawlModel) -> bytes:
    """Return all that a crawl knows as bytes."""
    return packed(crawl.to_state())
