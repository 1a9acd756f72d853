"""The exceptions of linkscore, one tree.

::

    LinkscoreError
    |-- InvalidInput            the caller sent something that cannot be used; names field, rule and value
    |   |-- InvalidPage         ... this page (the rest of a batch counts)
    |   |-- InvalidLink         ... this link
    |   `-- InvalidParams       ... policy parameters; one entry for each bad field
    |-- NotFound                no such crawl, site or policy
    |-- AlreadyExists           a crawl of this name with another configuration
    |-- NotLearned              a site is to be learned and has no page yet
    |-- NoRules                 nothing was learned yet that could be handed out
    |-- PolicyFailed            a policy from outside cannot be made; names policy and error
    |-- LimitExceeded           a bound that is a setting; try later or raise it
    `-- CorruptState            stored bytes cannot be trusted; names file and offset
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """A wrong field: its path in the request, the rule it breaks with the value got, and a stable reason."""

    field: str
    rule: str
    reason: str = "INVALID_VALUE"


def outside(field: str, value: float, low: float, high: float) -> Iterator[FieldProblem]:
    """Yield a problem if `value` is not in [low, high]."""
    if not low <= value <= high:
        yield FieldProblem(field, f"must be in [{low:g}, {high:g}], got {value!r}")


def one_of(field: str, value: str, known: Iterable[str]) -> Iterator[FieldProblem]:
    """Yield a problem if `value` is not among the known names."""
    if value not in (names := list(known)):
        yield FieldProblem(field, f"must be one of {', '.join(names)}, got {value!r:.100}")


class LinkscoreError(Exception):
    """Root of every error linkscore raises on purpose."""


class InvalidInput(LinkscoreError):
    """The caller sent something unusable; `problems` has one entry for each field."""

    def __init__(
        self, problems: Sequence[FieldProblem] | str, *, field: str = "", reason: str = "INVALID_VALUE"
    ) -> None:
        if isinstance(problems, str):
            problems = [FieldProblem(field, problems, reason)]
        self.problems: tuple[FieldProblem, ...] = tuple(problems)
        super().__init__("; ".join(f"{p.field}: {p.rule}" if p.field else p.rule for p in self.problems))

    @property
    def reason(self) -> str:
        """Reason of the first problem, for callers that report only one."""
        return self.problems[0].reason if self.problems else "INVALID_VALUE"

    def under(self, prefix: str) -> InvalidInput:
        """Return the same error with every field path put below `prefix`."""
        moved = [
            FieldProblem(f"{prefix}.{p.field}" if p.field else prefix, p.rule, p.reason)
            for p in self.problems
        ]
        return type(self)(moved)


class InvalidPage(InvalidInput):
    """A page of a batch cannot be used; the other pages count."""


class InvalidLink(InvalidInput):
    """A link of a batch cannot be used; the other links count."""


class InvalidParams(InvalidInput):
    """Policy parameters are out of range; one problem for each bad field."""


class NotFound(LinkscoreError):
    """No such crawl, site, cluster or policy."""


class AlreadyExists(LinkscoreError):
    """The name is taken by something else."""


class NotLearned(LinkscoreError):
    """The site is to be learned and has no page to learn from yet."""


class NoRules(LinkscoreError):
    """There are no rules to hand out, or none that the format can say; the message says why."""


class PolicyFailed(LinkscoreError):
    """A policy that was installed beside linkscore cannot be made; of later failures see `guard`."""


class LimitExceeded(LinkscoreError):
    """A bound (a setting) is reached; nothing of the request was applied."""


class CorruptState(LinkscoreError):
    """Stored bytes fail their checksum or format; the message names where."""


MALFORMED = (CorruptState, ValueError, LookupError, TypeError, AttributeError, RecursionError, MemoryError)
"""What goes wrong while a state is read."""


@contextmanager
def reading_state(name: str) -> Iterator[None]:
    """Turn what goes wrong while a state is read into `CorruptState` that says of what."""
    try:
        yield
    except MALFORMED as exc:
        raise CorruptState(f"{name}: {exc}") from exc
