"""What a crawl is set up with, as plain values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from linkscore_scoring.engine.limits import BUDGET, limit_problems
from linkscore_scoring.errors import FieldProblem, InvalidInput, LinkscoreError, PolicyFailed, broken_fields
from linkscore_scoring.policies.answers import CrawlKnowledge, Experience
from linkscore_scoring.policies.base import Params, Policy, make_params
from linkscore_scoring.policies.guard import failure_of
from linkscore_scoring.policies.registry import policy_class
from linkscore_scoring.revisits.pages import RevisitSettings
from linkscore_scoring.site.learning import LearningConfig, SiteBounds
from linkscore_scoring.state import from_state, plain
from linkscore_scoring.types import ExamplePage
from linkscore_scoring.wanted import Wanted

MAX_EXAMPLES = 100
"""A bound of the wire contract: example pages of a crawl."""
MAX_EXPERIENCES = 16
"""A bound of the wire contract: documents of experience that a crawl may be given."""
MAX_GROUPS = 256
"""A bound: groups of a crawl. Each open one takes three descriptors and a thread's attention; chosen."""
Scope = Literal["host", "domain", "any"]


@dataclass(frozen=True)
class PolicyChoice:
    """A policy by name, with the parameters that differ from their defaults."""

    name: str = "harvest"
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Name and parameters as one text: equal for equal choices."""
        return f"{self.name}{sorted(self.params.items())}"

    def made(self, seed: int = 0) -> Policy:
        """Return the policy, that knows nothing."""
        return policy_class(self.name)(self.checked(), seed=seed)

    @cached_property
    def _looked_at(self) -> Policy:
        return self.made()

    def has(self, what: str) -> bool:
        """Say whether the policy has a property such as `reads_templates`."""
        return bool(getattr(self._looked_at, what))

    def crawl_wide(self, seed: int) -> CrawlKnowledge | None:
        """Return what sites of a crawl share, new; None if they share nothing."""
        return None if self._looked_at.crawl_wide is None else self.made(seed).crawl_wide

    def checked(self) -> Params:
        """Return the complete parameters.

        Raises `NotFound` if no policy has this name. Raises `InvalidParams` if a parameter is unknown or out
        of range.
        """
        return make_params(policy_class(self.name), dict(self.params))


@dataclass(frozen=True)
class CrawlConfig:
    """Configuration of a crawl; see `Crawl` in the wire contract for meaning and limits.

    `revision` numbers the changes of a crawl of several groups, which hear of them one after the other.
    `limits` are settings that forbid links, by the name of their field, see `engine.limits`.
    `revisit` says how pages are fetched again, by the fields of `revisits.pages.RevisitSettings`; None: not.
    """

    name: str
    policy: PolicyChoice = field(default_factory=PolicyChoice)
    scope: Scope = "host"
    learning: LearningConfig = field(default_factory=LearningConfig)
    bounds: SiteBounds = field(default_factory=SiteBounds)
    examples: tuple[ExamplePage, ...] = ()
    observe_only: bool = False
    seed: int = 0
    create_time_s: float = 0.0
    wanted: Wanted | None = None
    groups: int = 1
    revision: int = 0
    experience: tuple[bytes, ...] = ()
    limits: Mapping[str, Any] = field(default_factory=dict)
    revisit: Mapping[str, Any] | None = None

    def check(self) -> None:
        """Refuse a configuration that cannot work.

        Raises `InvalidInput` with one problem per field: `policy.*`, `learning.*`,
        `examples`, `wanted.*`, `experience`, `groups`, `revisit.*` and those of `limits`. Raises `NotFound`
        if a policy is not registered. Raises `PolicyFailed` if one from outside cannot be made.
        """
        problems = [*_problems("policy", self.policy)]
        problems += broken_fields(self.learning, "learning.")
        if len(self.examples) > MAX_EXAMPLES:
            rule = f"must have at most {MAX_EXAMPLES} entries, got {len(self.examples)}"
            problems.append(FieldProblem("examples", rule, "TOO_MANY_ITEMS"))
        if self.wanted is not None:
            problems += self.wanted.problems("wanted")
            if not problems and not self.policy.has("takes_wanted"):
                rule = f"{self.policy.name} does not go by words: the policies topic and keyword do"
                problems.append(FieldProblem("wanted", rule))
        problems += self._experience_problems()
        problems += limit_problems(self.limits, groups=self.groups)
        if self.revisit is not None:
            problems += RevisitSettings(**self.revisit).problems("revisit")
        problems += [] if problems else self._group_problems()
        if problems:
            raise InvalidInput(problems)
        if why := failure_of(self.policy.made(self.seed)):
            raise PolicyFailed(f"{why}; choose another policy")

    def _experience_problems(self) -> Iterator[FieldProblem]:
        if len(self.experience) > MAX_EXPERIENCES:
            rule = f"must have at most {MAX_EXPERIENCES} entries, got {len(self.experience)}"
            yield FieldProblem("experience", rule, "TOO_MANY_ITEMS")
        for i, document in enumerate(self.experience[:MAX_EXPERIENCES]):
            try:
                Experience.from_bytes(document)
            except InvalidInput as exc:
                yield from exc.under(f"experience[{i}]").problems

    def _group_problems(self) -> Iterator[FieldProblem]:
        if not 1 <= self.groups <= MAX_GROUPS:
            yield FieldProblem("groups", f"must be in [1, {MAX_GROUPS}], got {self.groups}")
        if self.groups > 1 and self.policy.crawl_wide(self.seed) is not None:
            rule = f"must be 1: {self.policy.name} learns one model from all sites, got {self.groups}"
            yield FieldProblem("groups", rule)

    @cached_property
    def experiences(self) -> tuple[Experience, ...]:
        """What the crawl starts from."""
        return tuple(Experience.from_bytes(document) for document in self.experience)

    @cached_property
    def ticket_scope(self) -> str:
        """What tickets are good for: the crawl by name; of several groups this one, not a deleted one."""
        return self.name if self.groups == 1 else f"{self.name}@{self.create_time_s!r}"

    @cached_property
    def reads_layout(self) -> bool:
        """Whether the policy reads the layout of pages."""
        return self.policy.has("reads_layout")

    @cached_property
    def words(self) -> bool:
        """Whether the words of pages are read: if the policy reads them and `wanted` is given."""
        return self.wanted is not None and self.policy.has("reads_words")

    @cached_property
    def order(self) -> PolicyChoice:
        """What says in which order to fetch: the policy, breadth-first where it is to observe only."""
        return PolicyChoice("breadth_first") if self.observe_only else self.policy

    @cached_property
    def tells_other_sites(self) -> bool:
        """Whether a page may count at other sites: one that redirected here, or whose dates it lists."""
        return self.groups > 1 or self.revisit is not None or BUDGET in self.limits

    def examples_with(self, more: Sequence[ExamplePage]) -> tuple[ExamplePage, ...]:
        """Return its examples and more, each in place of its like, with its HTML; none without more."""
        read = {page.key: page for page in self.examples if page.key and page.paths.tags}
        new = [page if page.paths.tags else read.get(page.key, page) for page in more]
        keys = {page.key for page in new if page.key}
        kept = [page for page in self.examples if page.key not in keys and page not in new]
        return (*kept, *new) if new else ()

    def to_state(self) -> dict[str, Any]:
        """Return the configuration as plain values."""
        return plain(self)

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> CrawlConfig:
        """Rebuild a configuration, or raise `CorruptState`: a field is missing, unknown or malformed."""
        return from_state(cls, state)


def _problems(prefix: str, choice: PolicyChoice) -> list[Any]:
    try:
        choice.checked()
    except InvalidInput as exc:
        return list(exc.under(f"{prefix}.{choice.name}").problems)
    except LinkscoreError as exc:
        return list(InvalidInput(str(exc), field=prefix, reason="UNKNOWN_POLICY").problems)
    return []
