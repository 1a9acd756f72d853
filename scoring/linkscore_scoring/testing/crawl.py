"""A crawl of a generated site as a crawler would do it: one queue per bucket, re-ordered as it goes."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import cast

from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import FeedbackGiven, ModelActivated, PageFetched
from linkscore_scoring.engine.links import batch_of
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.engine.results import PageOutcome
from linkscore_scoring.engine.shard import SiteShard
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.policies.base import Policy, Scores
from linkscore_scoring.site.learning import LearningConfig, SiteBounds, run
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.testing.pages import page_of
from linkscore_scoring.testing.site import GeneratedSite
from linkscore_scoring.types import LinkBatch

_KEY = b"conformance"


def crawl_model(
    choice: PolicyChoice, *, seed: int = 0, sample_pages: int = 24, bounds: SiteBounds | None = None
) -> CrawlModel:
    """Return a new crawl that learns its sites from small samples."""
    learning = LearningConfig(sample_pages=sample_pages)
    config = CrawlConfig("check", choice, learning=learning, bounds=bounds or SiteBounds(), seed=seed)
    return CrawlModel(config, ticket_key=_KEY)


class SimulatedCrawl:
    """Fetches pages of a site in the order a policy asks for, `fetched`; learning happens at once.

    With `reports` it tells after each fetch whether the page was wanted.
    """

    def __init__(
        self,
        model: CrawlModel,
        site: GeneratedSite,
        *,
        seeds: list[str] | None = None,
        reports: bool = False,
    ) -> None:
        self.model = model
        self.reports = reports
        self.generated = site
        self.fetched: list[str] = []
        self._queues: dict[str, deque[tuple[str, bytes]]] = {}
        self._known: set[str] = set()
        for url in seeds or [site.home, site.example]:
            self._put("", url, b"")

    def fetch(self, pages: int) -> SimulatedCrawl:
        """Fetch up to `pages` more pages."""
        for _ in range(pages):
            queue = self._best_queue()
            if queue is None:
                break
            self._take(*queue.popleft())
        return self

    @property
    def policy(self) -> Policy:
        """The policy that learned in this crawl."""
        return self._shard().served

    @property
    def site(self) -> SiteModel:
        """The model of its site."""
        return self._shard().model

    def links(self, n: int, rows: Sequence[int] | None = None) -> LinkBatch:
        """Return up to `n` URLs of the site, found or never seen, or only some rows of these."""
        urls = [url for queue in self._queues.values() for url, _ in queue][: n // 2]
        urls += [f"{self.generated.home}never/seen-{i}?page={i % 7}" for i in range(n - len(urls))]
        chosen = urls if rows is None else [urls[row] for row in rows]
        return batch_of(self.site, chosen, chosen)

    def scores(self, n: int) -> Scores:
        """Return the scores of `links(n)`."""
        return self.policy.score(self.links(n), self.site).scores

    def _shard(self) -> SiteShard:
        site = self.model.site_of(self.generated.home)
        return self.model.sites.get(site) or self.model.new_site(site)

    def wanted_share(self) -> float:
        """Return the share of wanted pages among those fetched."""
        return sum(map(self.generated.is_wanted, self.fetched)) / max(1, len(self.fetched))

    def _take(self, url: str, ticket: bytes) -> None:
        self.fetched.append(url)
        outcome = visit(self.model, url, self.generated.page(url), ticket)
        page = self.generated.page(url)  # asked for again: sites with sessions write other links each time
        if self.reports:
            report(self.model, url, float(self.generated.is_wanted(url)))
        names, tickets = outcome.links.bucket_names, outcome.links.ticket_values
        links = (
            zip(page.links.urls, page.links.link_paths, outcome.links.buckets, strict=True) if page else ()
        )
        for found, link_path, bucket in links:
            self._put(names[bucket], found, tickets[link_path])

    def _put(self, bucket: str, url: str, ticket: bytes) -> None:
        if url not in self._known:
            self._known.add(url)
            self._queues.setdefault(bucket, deque()).append((url, ticket))

    def _best_queue(self) -> deque[tuple[str, bytes]] | None:
        names = [name for name, queue in self._queues.items() if queue]
        if not names or "" in names:
            return self._queues[""] if names else None
        order = CrawlQueries(self.model).plan_fetches(names, 0).order()
        return self._queues[names[order[0]]]


def visit(
    model: CrawlModel, url: str, features: PageFeatures | None, ticket: bytes = b"", *, event_id: str = ""
) -> PageOutcome:
    """Let a crawl take in a fetch, and learn whatever is due."""
    status, error = (200, "") if features is not None else (0, "timeout")
    event = PageFetched(event_id, model.site_of(url), url, url, status, error, ticket, 0.0, features)
    outcome = cast(PageOutcome, model.apply(model.seq + 1, event))
    for job in model.take_jobs():
        learned = run(job)
        model.apply(model.seq + 1, ModelActivated(job.site, job.built_from_seq, learned.to_state()))
    return outcome


def scores_after(policy: str, pages: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Crawl pages of one host, path -> paths it links to; return the score of each link of the last one.

    >>> scores_after("breadth_first", {"/": ["/x"], "/x": ["/y"]})
    {'/y': 0.333}
    """
    model, host = crawl_model(PolicyChoice(policy)), "http://site.example"
    for path, targets in pages.items():
        page = page_of(host + path, links=[(host + target, "html/a[]") for target in targets])
        scored = visit(model, page.url, page).links.scores
    return dict(zip(targets, map(float, scored.round(3)), strict=True))


def report(model: CrawlModel, url: str, reward: float, *, ticket: bytes = b"") -> bool:
    """Tell a crawl what a page was worth; say whether that was new."""
    event = FeedbackGiven("", model.site_of(url), url, ticket, reward, 0.0)
    return bool(model.apply(model.seq + 1, event))
