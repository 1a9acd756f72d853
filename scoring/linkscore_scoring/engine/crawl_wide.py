"""What policies know across the sites of a crawl."""

from __future__ import annotations

from typing import Any

from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.policies import capabilities
from linkscore_scoring.policies.base import Policy
from linkscore_scoring.policies.capabilities import CrawlKnowledge
from linkscore_scoring.policies.registry import all_policies


class CrawlWide:
    """The crawl-wide knowledge of each policy of the crawl that has any, by policy choice; see ADR 7."""

    def __init__(self, config: CrawlConfig) -> None:
        self._known: dict[str, CrawlKnowledge] = {}
        self.configure(config)

    def configure(self, config: CrawlConfig) -> None:
        """Take over the crawl's policies; one that is kept keeps what it knows.

        A policy that is not registered is none of ours to report: the first site will ask for it.
        """
        kept, self._known, known_kinds = self._known, {}, all_policies()
        for choice in (config.policy, *config.extra_policies):
            if choice.name not in known_kinds:
                continue
            made = capabilities.crawl_wide(known_kinds[choice.name](choice.checked(), seed=config.seed))
            if made is not None:
                self._known[choice.key] = kept.get(choice.key, made)

    def join(self, choice: PolicyChoice, policy: Policy) -> Policy:
        """Let a policy of one site share what the crawl's policies of this choice know; return it."""
        if choice.key in self._known:
            capabilities.share(policy, self._known[choice.key])
        return policy

    def to_state(self) -> dict[str, Any]:
        """Return all knowledge as plain values."""
        return {key: known.to_state() for key, known in self._known.items()}

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the knowledge of `to_state`.

        Raises
        ------
        CorruptState
            If a policy refuses its part.
        """
        for key, known in self._known.items():
            # Crawls written before this choice kept anything here: it starts anew, as it did then.
            if key in state:
                known.load_state(state[key])
