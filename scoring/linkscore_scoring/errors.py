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
from dataclasses import dataclass, field, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """A wrong field: its path in the request, the rule it breaks with the value got, and a stable reason."""

    field: str
    rule: str
    reason: str = "INVALID_VALUE"


def within(default: Any, least: float, most: float) -> Any:
    """Return a field of a dataclass that has a range, see `broken_fields`."""
    return field(default=default, metadata={"least": least, "most": most})


def among(default: str, names: Iterable[str]) -> Any:
    """Return a field of a dataclass that has one of some names, see `broken_fields`."""
    return field(default=default, metadata={"among": names})


def broken_fields(given: Any, prefix: str = "") -> Iterator[FieldProblem]:
    """Yield a problem for each field of a dataclass that is outside its range, or not among its names."""
    for each in fields(given):
        value, may = getattr(given, each.name), each.metadata
        if "among" in may and value not in may["among"]:
            rule = f"must be one of {', '.join(may['among'])}, got {value!r:.100}"
            yield FieldProblem(prefix + each.name, rule)
        elif "least" in may and not may["least"] <= value <= may["most"]:
            rule = f"must be in [{may['least']:g}, {may['most']:g}], got {value!r}"
            yield FieldProblem(prefix + each.name, rule)


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
