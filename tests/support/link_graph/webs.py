"""Small link graphs for the tests of policies that value every URL by the links to it."""

from __future__ import annotations

from typing import Any

from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import PageFetched
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.engine.results import PageOutcome
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.hashing import hash64
from linkscore_scoring.site.learning import SiteBounds
from linkscore_scoring.state import packed, unpacked
from linkscore_scoring.testing.crawl import page_of

ROOT = "http://h/"


class Web:
    """A crawl of the site ``h``; pages are named by their paths without slash."""

    def __init__(self, policy: str, *, max_urls: int = 1_000, **params: object) -> None:
        bounds = SiteBounds(links=max_urls)
        config = CrawlConfig("c", PolicyChoice(policy, params), bounds=bounds)
        self.model = CrawlModel(config, ticket_key=b"key")

    @property
    def policy(self) -> Any:
        """The policy of the site."""
        return self.model.sites["h"].served

    def fetch(self, name: str, *links: str, asked: str = "") -> PageOutcome:
        """Fetch a page with links; `asked` redirected to it."""
        found = [(ROOT + target, "html/body/a") for target in links]
        return self._apply(name, page_of(ROOT + name, links=found), asked or name)

    def fail(self, name: str) -> PageOutcome:
        """Fail to fetch a page."""
        return self._apply(name, None, name)

    def value(self, name: str) -> float:
        """Return the value of a URL."""
        value: float = self.policy.value_of(hash64(ROOT + name))
        return value

    def values(self, names: str) -> list[float]:
        """Return the values of URLs named by one letter each."""
        return [self.value(name) for name in names]

    def scores(self, names: str) -> list[float]:
        """Return the scores of URLs named by one letter each."""
        urls = [ROOT + name for name in names]
        found = CrawlQueries(self.model).score_links(urls, urls, [b""] * len(urls), [""] * len(urls))
        scores: list[float] = found.scores.tolist()
        return scores

    def restart(self) -> None:
        """Go on with a crawl made from the bytes of this one's state."""
        state = unpacked(packed(self.model.to_state()))
        self.model = CrawlModel(self.model.config, ticket_key=b"key")
        self.model.load_state(state)

    def _apply(self, name: str, features: PageFeatures | None, asked: str) -> PageOutcome:
        status = 200 if features else 500
        event = PageFetched("", "h", ROOT + name, ROOT + asked, status, "", b"", 0.0, features)
        outcome: PageOutcome = self.model.apply(self.model.seq + 1, event)
        return outcome
