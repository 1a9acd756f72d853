"""What can be asked about sites: advice, rules, seeds, pages to fetch. Nothing here changes a crawl."""

from __future__ import annotations

from linkscore_scoring.engine.advice import DEFAULT_HORIZON, SiteAdvice, advise
from linkscore_scoring.engine.config import PolicyChoice
from linkscore_scoring.engine.link_queries import LinkQuestions
from linkscore_scoring.engine.site_rules import site_rules
from linkscore_scoring.exporters.base import SiteRules
from linkscore_scoring.policies import capabilities
from linkscore_scoring.types import ExampleWanted, SeedWanted, Suggestion, UrlRule


class CrawlQuestions(LinkQuestions):
    """Everything that can be asked of a crawl; `CrawlModel` adds what changes it."""

    def suggest_examples(
        self, n: int, site: str = "", choice: PolicyChoice | None = None
    ) -> list[tuple[str, ExampleWanted]]:
        """Return up to `n` fetched pages whose label would teach most, with their site, best first.

        Cost O(URL patterns) a site, 1 ms; `site` empty means all of them.

        Raises
        ------
        NotFound
            If the crawl has no such site.
        """
        asked = [site] if site else list(self.sites)
        found = [
            (name, wanted)
            for name in asked
            for shard in [self.shard(name)]
            for wanted in capabilities.suggest_examples(shard.policy(choice), n, shard.model)
        ]
        return sorted(found, key=lambda pair: -pair[1].value)[:n]

    def advice(self, site: str, horizon: int = DEFAULT_HORIZON) -> SiteAdvice:
        """Return what the next `horizon` fetches of a site should bring, what groups brought, and traps."""
        return advise(self.shard(site), horizon)

    def rules(self, site: str, choice: PolicyChoice | None = None) -> list[UrlRule]:
        """Return what a policy learned about the URLs of a site."""
        shard = self.shard(site)
        return capabilities.rules(shard.policy(choice), shard.model)

    def seeds(self, site: str, n: int, choice: PolicyChoice | None = None) -> list[SeedWanted]:
        """Return up to `n` pages to start a crawl of a site from, best first."""
        shard = self.shard(site)
        return capabilities.suggest_seeds(shard.policy(choice), n, shard.model)

    def site_rules(
        self, site: str, choice: PolicyChoice | None = None, *, min_confidence: float = 0.0
    ) -> SiteRules:
        """Return all that can be said about the URLs of a site without the service; see `exporters`."""
        shard = self.shard(site)
        policy = shard.policy(choice)
        return site_rules(self.config, shard.model, policy, self.seq, min_confidence)

    def policy_state(self, site: str, choice: PolicyChoice | None = None) -> str:
        """Say what a policy goes by on a site, and why it abstains if it does."""
        shard = self.shard(site)
        return capabilities.describe(shard.policy(choice), shard.model)

    def fetch_plan(self, site: str, n: int) -> list[Suggestion]:
        """Return up to `n` pages to fetch for learning: those the served policy asks for, then the sample."""
        shard = self.shard(site)
        wanted = capabilities.suggest_fetches(shard.served, n, shard.model)
        named = {suggestion.url for suggestion in wanted}
        return [*wanted, *(s for s in self.sample_plan(site, n) if s.url not in named)][:n]

    def sample_plan(self, site: str, n: int) -> list[Suggestion]:
        """Return up to `n` pages that would teach most about a site that is not learned yet."""
        model = self.shard(site).model
        words = {
            "one_per_apath": "one link of each tag path of a page",
            "unused_link": "a link of a tag path seen before",
        }
        return [
            Suggestion(model.plan_urls[p.url], words[p.reason], 1.0 / (1.0 + i))
            for i, p in enumerate(model.plan.plan(n))
        ]
