"""What a paper claims, what we found, and the figures that our words rest on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from linkscore_research.papers.figures import Facts

HOLDS, PARTLY, FAILS, UNTRIED = "holds", "holds partly", "does not hold", "cannot be tried"


@dataclass(frozen=True, slots=True)
class Claim:
    """A headline claim."""

    claim: str  # What the paper says, with its figure
    verdict: str  # Ours, one of the above
    why: str  # In words; figures are references in braces
    # What must be true of the results for the words to be: where they refute it, no page is made of them
    facts: Facts = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper."""

    title: str  # As in the catalog, and as a heading
    name: str
    about: str  # Which policies follow it, and where they differ
    claims: Sequence[Claim]  # The headline claims
    # What a table says, by the name of its result; figures are references in braces
    remarks: Mapping[str, str] = field(default_factory=dict)
    not_tried: Sequence[tuple[str, str]] = ()  # Rows without a result: what, and why
