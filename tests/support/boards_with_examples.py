"""A small crawl with example pages."""

from __future__ import annotations

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import FeedbackGiven
from linkscore_scoring.engine.shard import SiteShard
from linkscore_scoring.testing.crawl import visit
from linkscore_scoring.testing.pages import page_of, trie_of
from linkscore_scoring.types import ExamplePage

POST = ["html/body/main[post]/text()", "html/body/nav/a"]


def example(path: str, host: str = "h") -> ExamplePage:
    """A post as example."""
    url = f"http://{host}{path}"
    return ExamplePage(url, url, "post", trie_of(POST))


class Board:
    """A crawl of the site ``h`` under harvest."""

    def __init__(self, *examples: ExamplePage) -> None:
        self.model = CrawlModel(CrawlConfig("c", examples=examples), ticket_key=b"key")

    @property
    def shard(self) -> SiteShard:
        """The site."""
        return self.model.sites["h"]

    def page(
        self, path: str, *, leaves: list[str] | None = None, texts: list[tuple[str, int]] | None = None
    ) -> None:
        """Fetch a page."""
        url = f"http://h{path}"
        visit(self.model, url, page_of(url, leaves or [], texts=texts or []))

    def feedback(self, path: str, reward: float) -> None:
        """Report what extraction found."""
        event = FeedbackGiven("", "h", f"http://h{path}", b"", reward, 0.0)
        self.model.apply(self.model.seq + 1, event)
