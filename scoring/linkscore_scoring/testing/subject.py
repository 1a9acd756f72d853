"""A policy under test, and crawls it has gone through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.engine.config import PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.links import batch_of
from linkscore_scoring.engine.shard import SiteShard
from linkscore_scoring.errors import InvalidParams
from linkscore_scoring.policies.base import Policy, any_part, make_params
from linkscore_scoring.policies.registry import register
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.state import packed, unpacked
from linkscore_scoring.testing.crawl import SimulatedCrawl, crawl_model
from linkscore_scoring.testing.site import GeneratedSite
from linkscore_scoring.types import LinkBatch


@dataclass(frozen=True)
class Asked:
    """A crawl that has gone some way, ready to be asked."""

    crawl: SimulatedCrawl

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
        urls = [url for url, _ in self.crawl.frontier()][: n // 2]
        urls += [f"{self.crawl.site.home}never/seen-{i}?page={i % 7}" for i in range(n - len(urls))]
        chosen = urls if rows is None else [urls[row] for row in rows]
        return batch_of(self.site, chosen, chosen)

    def scores(self, n: int) -> NDArray[np.float64]:
        """Return the scores of `links(n)`."""
        return self.policy.score(self.links(n), self.site).scores

    def _shard(self) -> SiteShard:
        model, site = self.crawl.model, self.crawl.model.site_of(self.crawl.site.home)
        return model.sites.get(site) or model.new_site(site)


class Subject:
    """A policy class with the parameters it is tested with."""

    def __init__(self, policy: type[Policy], params: Mapping[str, Any]) -> None:
        self.policy = policy
        self.params = dict(params)
        self.choice = PolicyChoice(policy.name, self.params)
        register(policy)

    @property
    def name(self) -> str:
        """What the subject is called in messages."""
        given = ", ".join(f"{name}={value}" for name, value in self.params.items())
        return f"{self.policy.name}({given})" if given else self.policy.name

    @property
    def reports(self) -> bool:
        """Whether its crawls report what pages were worth: the policy, or a part of it, learns from that."""
        try:
            params = make_params(self.policy, self.params)
        except InvalidParams:
            return self.policy.needs_feedback
        return any_part(self.policy, params, "needs_feedback")

    def crawl(self, seed: int = 0) -> SimulatedCrawl:
        """Return a crawl that has not begun."""
        return SimulatedCrawl(crawl_model(self.choice, seed=seed), GeneratedSite(seed), reports=self.reports)

    def new(self) -> Asked:
        """Return a crawl without pages."""
        return Asked(self.crawl())

    def after(self, pages: int) -> Asked:
        """Return a crawl of so many pages; the site is learned after 24."""
        return Asked(self.crawl().fetch(pages))

    def restored(self, model: CrawlModel) -> CrawlModel:
        """Return a crawl restored from the bytes of another's state."""
        other = crawl_model(self.choice)
        other.load_state(unpacked(packed(model.to_state())))
        return other
