"""A small crawl for the tests of policies: pages by hand, answers by bucket."""

from __future__ import annotations

from dataclasses import replace

from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import FeedbackGiven
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.engine.results import LinkExplained, PageOutcome
from linkscore_scoring.engine.shard import SiteShard
from linkscore_scoring.site.learning import LearningConfig
from linkscore_scoring.testing.crawl import Link, page_of, trie_of, visit
from linkscore_scoring.types import ExamplePage

ROOT = "http://h"
POST = ["html/body/main[post]/text()", "html/body/nav/a"]


class Board:
    """A crawl of the site ``h`` under one policy."""

    def __init__(
        self,
        policy: str,
        *,
        sample_pages: int = 200,
        seed: int = 0,
        paper: bool = False,
        examples: tuple[ExamplePage, ...] = (),
        **params: object,
    ):
        learning = LearningConfig(sample_pages=sample_pages, paper=paper)
        config = CrawlConfig(
            "c", PolicyChoice(policy, params), learning=learning, seed=seed, examples=examples
        )
        self.model = CrawlModel(config, ticket_key=b"key")

    @property
    def shard(self) -> SiteShard:
        """The site."""
        return self.model.sites["h"]

    def page(
        self,
        path: str,
        links: list[Link] | None = None,
        *,
        texts: list[tuple[str, int]] | None = None,
        leaves: list[str] | None = None,
        ticket: bytes = b"",
        noindex: bool = False,
        thing: int = 0,
        canonical: str = "",
    ) -> PageOutcome:
        """Fetch a page; links are (path, link path)."""
        found = [(ROOT + target, link_path) for target, link_path in links or []]
        page = page_of(ROOT + path, leaves or [], links=found, texts=texts or [], canonical=canonical)
        return visit(self.model, ROOT + path, replace(page, noindex=noindex, thing=thing), ticket)

    def fail(self, path: str) -> PageOutcome:
        """Fail to fetch a page."""
        return visit(self.model, ROOT + path, None)

    def feedback(self, path: str, reward: float) -> bool:
        """Report what extraction found."""
        event = FeedbackGiven("", "h", ROOT + path, b"", reward, 0.0)
        new: bool = self.model.apply(self.model.seq + 1, event)
        return new

    def scores(self, *paths: str) -> list[float]:
        """Score URLs without tickets."""
        urls = [ROOT + path for path in paths]
        found = CrawlQueries(self.model).score_links(urls, urls, [b""] * len(urls), [""] * len(urls))
        scores: list[float] = found.scores.tolist()
        return scores

    def explain(self, *paths: str) -> list[LinkExplained]:
        """Explain the scores of URLs."""
        urls = [ROOT + path for path in paths]
        return CrawlQueries(self.model).explain(urls, urls, [b""] * len(urls), [""] * len(urls))


def example(path: str, host: str = "h") -> ExamplePage:
    """A post as example."""
    url = f"http://{host}{path}"
    return ExamplePage(url, url, "post", trie_of(POST))


def board_with(*examples: ExamplePage) -> Board:
    """A crawl under harvest that has them."""
    return Board("harvest", examples=examples)
