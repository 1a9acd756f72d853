"""One site of a crawl: its model, the policies that learn on it, and the scale of their scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from linkscore_scoring.browse_logs.mined import MinedSite
from linkscore_scoring.encodings import PriorityScale
from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.crawl_wide import CrawlWide
from linkscore_scoring.engine.link_batches import link_of
from linkscore_scoring.engine.progressive_validation import PolicyTrial
from linkscore_scoring.policies import capabilities
from linkscore_scoring.policies.answers import PolicyTrust
from linkscore_scoring.policies.base import Policy
from linkscore_scoring.policies.registry import policy_class
from linkscore_scoring.site.fetch import Fetch
from linkscore_scoring.site.learning import LearnedSite
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import ExamplePage, FeedbackObservation, PageObservation


class SiteShard:
    """A site with the policies of the crawl: the served one first, then those kept learning beside it.

    `crawl_wide` is what they share with those of other sites, `examples` the example pages of this one.
    """

    def __init__(
        self,
        model: SiteModel,
        config: CrawlConfig,
        crawl_wide: CrawlWide,
        examples: Sequence[ExamplePage] = (),
    ) -> None:
        self.model = model
        self._crawl_wide = crawl_wide
        self._seed = config.seed
        self._policies: dict[str, Policy] = {}
        self._scales: dict[str, PriorityScale] = {}
        self.trial = PolicyTrial()
        self.configure(config, examples)

    def configure(self, config: CrawlConfig, examples: Sequence[ExamplePage] = ()) -> None:
        """Take over the crawl's policies; one that is kept keeps what it knows."""
        choices = (config.policy, *config.extra_policies)
        kept = self._policies
        self._examples = examples
        self._policies = {c.key: kept.get(c.key) or self._make(c) for c in choices}
        for policy in kept.values():
            capabilities.set_examples(policy, examples, self.model)
        self.served = self._policies[config.policy.key]
        self.trial.configure(list(self._policies))

    def policy(self, choice: PolicyChoice | None) -> Policy:
        """Return the policy that answers: the crawl's, one kept beside it, or one made for this question.

        A policy made for the question reads the site model but has learned nothing of its own.
        """
        if choice is None:
            return self.served
        exact = self._policies.get(choice.key)
        if exact is not None:
            return exact
        by_name = [p for p in self._policies.values() if p.name == choice.name]
        return by_name[0] if by_name and not choice.params else self._make(choice)

    def scale_of(self, policy: str) -> PriorityScale:
        """Return the scale of the scores of a policy, by name; an empty one if it never served here."""
        return self._scales.get(policy) or PriorityScale()

    def handed_out(self, scores: Iterable[float]) -> None:
        """Let the scale of the served policy take in scores that were answered."""
        self._scales.setdefault(self.served.name, PriorityScale()).update(scores)

    def observe(self, fetch: Fetch) -> PageObservation:
        """Let every policy say what it expects; then the model, then every policy, learn from the fetch."""
        link = link_of(self.model, fetch)
        if link is not None:
            self.trial.expect(link, self._policies.values(), self.model)
        observation = self.model.observe(fetch)
        self.trial.judge(observation)
        for policy in self._policies.values():
            policy.observe(observation, self.model)
        if observation.reported is not None:
            self._tell(_as_feedback(observation, observation.reported))
        return observation

    def activate(self, learned: LearnedSite) -> None:
        """Make a learned model active and tell every policy."""
        self.model.activate(learned)
        for policy in self._policies.values():
            capabilities.model_activated(policy, self.model)

    def mined(self, mined: MinedSite) -> None:
        """Take over what the browse logs of the site gave, and tell every policy."""
        self.model.browse = mined
        for policy in self._policies.values():
            capabilities.logs_mined(policy, self.model)

    def feedback(self, event: FeedbackObservation) -> None:
        """Let the model, then every policy, learn from feedback."""
        self.model.feedback(event)
        self._tell(event)

    def _tell(self, event: FeedbackObservation) -> None:
        self.trial.tell(event)
        for policy in self._policies.values():
            policy.feedback(event, self.model)

    def policy_trust(self) -> list[PolicyTrust]:
        """Return how each policy did here: the served one, those beside it, those it chooses from."""
        return self.trial.figures(list(self._policies.values())) + capabilities.policy_trust(self.served)

    def to_state(self) -> dict[str, Any]:
        """Return the site as plain values."""
        return {
            "model": self.model.to_state(),
            "policies": {key: policy.to_state() for key, policy in self._policies.items()},
            "trial": self.trial.to_state(),
            "scales": {name: scale.to_state() for name, scale in self._scales.items()},
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the site of `to_state`."""
        self.model.load_state(state["model"])
        for key, policy in self._policies.items():
            policy.load_state(state["policies"][key])
        self.trial.load_state(state["trial"])
        for name, scale in state["scales"].items():
            self._scales.setdefault(name, PriorityScale()).load_state(scale)

    def _make(self, choice: PolicyChoice) -> Policy:
        policy = self._crawl_wide.join(choice, policy_class(choice.name)(choice.checked(), seed=self._seed))
        if self.model.templates is not None:
            capabilities.model_activated(policy, self.model)
        if self.model.browse is not None:
            capabilities.logs_mined(policy, self.model)
        capabilities.set_examples(policy, self._examples, self.model)
        return policy


def _as_feedback(page: PageObservation, reward: float) -> FeedbackObservation:
    """Return what was reported before a page came, to be told again now that policies know the page."""
    return FeedbackObservation(page.seq, page.key, page.url, page.pattern, page.contexts, reward)
