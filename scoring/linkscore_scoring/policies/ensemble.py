"""Several policies that all learn, one of which is followed: what all are told, and whom to ask."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from linkscore_scoring.policies.answers import Scores
from linkscore_scoring.policies.base import Policy
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import (
    ExamplePage,
    ExampleWanted,
    PageObservation,
    SeedWanted,
    Suggestion,
    UrlRule,
)


class Ensemble(Policy):
    """Policies that learn side by side; what is known is what the leader knows, else the first that does."""

    candidates: list[Policy]

    @property
    @abstractmethod
    def active(self) -> Policy:
        """The policy that is followed."""

    def model_activated(self, site: SiteModel) -> None:
        """Tell every policy of the new model."""
        for candidate in self.candidates:
            candidate.model_activated(site)

    def mining_settings(self) -> dict[str, Any]:
        """Return what the policies want logs mined with, the first one's where they differ."""
        return {name: value for c in reversed(self.candidates) for name, value in c.mining_settings().items()}

    def logs_mined(self, site: SiteModel) -> None:
        """Tell every policy of new browse logs."""
        for candidate in self.candidates:
            candidate.logs_mined(site)

    def set_examples(self, examples: Sequence[ExamplePage], site: SiteModel) -> None:
        """Show the examples to all."""
        for candidate in self.candidates:
            candidate.set_examples(examples, site)

    def describe(self, site: SiteModel) -> str:
        """Say who leads, and what the policies that go by something on the site go by."""
        told = [f"{c.name}: {told}" for c in self.candidates if (told := c.describe(site))]
        return "; ".join([f"{self.active.name} leads", *told])

    def expected_rewards(self, groups: Sequence[tuple[int, int]], site: SiteModel) -> Scores | None:
        """Return the estimate of the leader, or else of the first policy that has one."""
        asked = (policy.expected_rewards(groups, site) for policy in self._asked())
        return next((rewards for rewards in asked if rewards is not None), None)

    def suggest_examples(self, n: int, site: SiteModel) -> list[ExampleWanted]:
        """Return what the leader asks, or else the first policy that asks anything."""
        return next(filter(None, (policy.suggest_examples(n, site) for policy in self._asked())), [])

    def rules(self, site: SiteModel) -> list[UrlRule]:
        """Return the rules of the leader, or else of the first policy that has any."""
        return next(filter(None, (policy.rules(site) for policy in self._asked())), [])

    def suggest_seeds(self, n: int, site: SiteModel) -> list[SeedWanted]:
        """Return the seeds of the leader, or else of the first policy that knows any."""
        return next(filter(None, (policy.suggest_seeds(n, site) for policy in self._asked())), [])

    def suggest_fetches(self, n: int, site: SiteModel) -> list[Suggestion]:
        """Return what the leader would like fetched."""
        return self.active.suggest_fetches(n, site)

    def thread_of(self, page: PageObservation, site: SiteModel) -> str:
        """Return the thread of a page, as the first policy that knows one tells it."""
        return next(filter(None, (policy.thread_of(page, site) for policy in self._asked())), "")

    def page_type_of(self, page: PageObservation, site: SiteModel) -> int:
        """Return the type of a page, as the first policy that knows it tells it."""
        return next(filter(None, (policy.page_type_of(page, site) for policy in self._asked())), 0)

    def _asked(self) -> Iterator[Policy]:
        """Yield the leader, then the others in their order."""
        yield self.active
        yield from (policy for policy in self.candidates if policy is not self.active)
